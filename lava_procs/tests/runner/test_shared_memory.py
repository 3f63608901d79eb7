"""A full or read-only /dev/shm ends a run in Lava's own runtime with one line, before it starts."""

import os
import sys
from pathlib import Path

import pytest

from hw_tests.networks.random_nets import random_network
from lava_procs import LavaRunError, run
from lava_procs.runner import shared_memory
from lava_procs.runner.supervise import manner
from lava_procs.running import run_stream

if not Path("/dev/shm").is_dir():
    pytest.skip("this system has no /dev/shm", allow_module_level=True)


@pytest.fixture
def net(rng):
    return random_network(rng, (5, 4), 6)


@pytest.fixture
def x(rng):
    return rng.integers(0, 16, (2, 2, 6))


def _refused(net, x, error) -> str:
    with pytest.raises(LavaRunError) as caught:
        run(net, x, runtime="lava")
    text = str(caught.value)
    assert text.startswith(f"/dev/shm: {os.strerror(error)}")
    assert "runtime='inline'" in text
    assert "\n" not in text
    return text


def test_full_shared_memory_is_named_and_inline_runs_go_on(net, x, monkeypatch):
    import errno

    def full(*values):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "posix_fallocate", full)
    assert "--shm-size" in _refused(net, x, errno.ENOSPC)
    with pytest.raises(LavaRunError, match="/dev/shm"):
        next(run_stream(net, iter(x), runtime="lava"))
    assert run(net, x).spikes[0].any()


def _in_a_child_with(options: int, size: int, net, x, error: int) -> str:
    """Try it with a /dev/shm of another kind, which only a child sees."""
    from benchmarks.soak import faults

    def child() -> None:
        faults.own_mounts()
        faults.small_disk(shared_memory.FOLDER, size)
        if options:
            faults.small_disk(shared_memory.FOLDER, size, read_only=True)
        _refused(net, x, error)

    status, said = faults.forked(child)
    return said if status else ""


@pytest.mark.skipif(sys.platform != "linux", reason="mounts a tmpfs of Linux")
@pytest.mark.parametrize("kind", ["full", "read-only"])
def test_shared_memory_that_is_full_or_read_only_is_named(kind, net, x):
    import errno

    from benchmarks.soak import faults

    if reason := faults.can_mount():
        pytest.skip(f"no mounts here: {reason}")
    error = errno.ENOSPC if kind == "full" else errno.EROFS
    assert _in_a_child_with(kind == "read-only", 1 << 16, net, x, error) == ""


def test_enough_shared_memory_is_accepted_and_given_back(net):
    before = set(os.listdir("/dev/shm"))
    shared_memory.check_shared_memory(shared_memory.needed(net))
    assert {name for name in set(os.listdir("/dev/shm")) - before if "celif" in name} == set()


def test_bus_errors_point_to_shared_memory():
    assert "/dev/shm" in manner(-7)
