"""Many runs in a row, good and bad ones: the machine is as it was."""

import ctypes
import gc
import logging
import sys
import threading
import weakref

import numpy as np
import psutil
import pytest
from lava.magma.core.process.process import ProcessServer
from lava.magma.core.process.variable import VarServer

from export import write_netx
from hw_tests.networks.random_nets import random_network
from lava_procs import LavaRunError, Network, run
from lava_procs.processes.celif.models import PyCELIFModelFixed

pytestmark = pytest.mark.usefixtures("leaves_nothing")

LAVA_RUNS = 20
INLINE_RUNS = 200


def run_in_a_row(runs, net, x, runtime, monkeypatch, every):
    """Good runs with a bad one now and then."""
    expected = run(net, x, runtime="lava").logits
    assert expected.any()
    original = PyCELIFModelFixed.run_spk

    def raising(self):
        raise ZeroDivisionError("now and then")

    for i in range(runs):
        if i % every == every - 1:
            monkeypatch.setattr(PyCELIFModelFixed, "run_spk", raising)
            with pytest.raises(LavaRunError, match="now and then"):
                run(net, x, runtime=runtime)
            monkeypatch.setattr(PyCELIFModelFixed, "run_spk", original)
        else:
            found = run(net, x, trace=False, runtime=runtime)
            np.testing.assert_array_equal(found.logits, expected)


def test_many_runs_in_lavas_runtime_leave_the_machine_as_it_was(rng, monkeypatch):
    """The fixture looks for processes, open files, shared memory and temporary files."""
    net, x = random_network(rng, (3,), 2), np.full((1, 2, 2), 15)
    threads = threading.active_count()
    run_in_a_row(LAVA_RUNS, net, x, "lava", monkeypatch, every=10)
    assert threading.active_count() == threads


def memory():
    """Bytes in use, without those that the allocator only keeps."""
    gc.collect()
    if sys.platform == "linux":
        ctypes.CDLL(None).malloc_trim(0)
    return psutil.Process().memory_info().rss


def test_two_hundred_inline_runs_leave_memory_threads_and_files_as_they_were(
    rng, monkeypatch, tmp_path
):
    x, net = np.full((1, 2, 2), 15), tmp_path / "net.net"
    write_netx(random_network(rng, (300, 150), 2), net)
    made = []
    build = Network.__init__

    def counted(self, *args, **options):
        made.append(weakref.ref(self))
        build(self, *args, **options)

    monkeypatch.setattr(Network, "__init__", counted)
    run_in_a_row(10, net, x, "inline", monkeypatch, every=10)
    threads, before = threading.active_count(), memory()
    registered = len(ProcessServer().processes), len(VarServer().vars)
    handlers = len(logging.getLogger().handlers)
    run_in_a_row(INLINE_RUNS, net, x, "inline", monkeypatch, every=20)
    after = memory()
    assert len(made) == 10 + INLINE_RUNS
    assert [network for network in made if network() is not None] == []
    assert threading.active_count() == threads
    assert (len(ProcessServer().processes), len(VarServer().vars)) == registered
    assert len(logging.getLogger().handlers) == handlers
    # Alone this grows by less than 20 MB. In the process of a whole suite, whose heap is full of
    # holes, 21 MB were seen; networks that stay are more than 100 MB.
    assert after - before < 50e6
