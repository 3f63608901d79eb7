"""Runs networks many times in a process of its own, and prints what it holds before and after.

    python -m lava_procs.tests.runner.many_runs FOLDER

In the process of a whole suite, whose heap is full of holes, memory would say little.
"""

from __future__ import annotations

import ctypes
import gc
import json
import logging
import os
import sys
import tempfile
import threading
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest
from lava.magma.compiler.compiler import Compiler
from lava.magma.core.process.process import ProcessServer
from lava.magma.core.process.variable import VarServer

from export import write_netx
from hw_tests.networks.random_nets import random_network
from lava_procs import LavaRunError, Network, run
from lava_procs.processes.celif.models import PyCELIFModelFixed
from lava_procs.tests.conftest import processes_named, segments, staying

RUNS = {"inline": 200, "lava": 50}
BAD_ONE_IN = 10
_X = np.full((1, 2, 2), 15)
_networks: weakref.WeakSet[Network] = weakref.WeakSet()
_made = {"networks": 0}
_name = f"celif-{os.getpid()}"


def held(shared: set[str]) -> dict[str, int]:
    """Count what this process holds, and what it has left on the machine."""
    gc.collect()
    if sys.platform == "linux":
        ctypes.CDLL(None).malloc_trim(0)  # memory that the allocator only keeps is not in use
    me = psutil.Process()
    return {
        "bytes": me.memory_info().rss,
        "objects": len(gc.get_objects()),
        "threads": threading.active_count(),
        "open files": me.num_fds(),
        "processes": len(processes_named(_name)),
        "temporary files": len(os.listdir(tempfile.gettempdir())),
        "shared memory": len(staying(segments() - shared)),
        "networks": len(_networks),
        "Processes in Lava's register": len(ProcessServer().processes),
        "Vars in Lava's register": len(VarServer().vars),
        "handlers of the root log": len(logging.getLogger().handlers),
        "handlers of the compiler's log": len(logging.getLogger(Compiler.__module__).handlers),
    }


def run_in_a_row(net: Path, runtime: str, runs: int, expected: np.ndarray) -> None:
    """Good runs with a bad one now and then."""
    original = PyCELIFModelFixed.run_spk

    def raising(self: Any) -> None:
        raise ZeroDivisionError("now and then")

    for i in range(runs):
        if i % BAD_ONE_IN == BAD_ONE_IN - 1:
            PyCELIFModelFixed.run_spk = raising
            with pytest.raises(LavaRunError, match="now and then"):
                run(net, _X, runtime=runtime)
            PyCELIFModelFixed.run_spk = original
        else:
            found = run(net, _X, trace=False, runtime=runtime)
            np.testing.assert_array_equal(found.logits, expected)


def main(folder: Path) -> None:
    """Run in both runtimes, one after the other."""
    Path("/proc/self/comm").write_text(_name)
    net, temporary = folder / "net.net", folder / "tmp"
    temporary.mkdir()
    tempfile.tempdir = str(temporary)
    write_netx(random_network(np.random.default_rng(0), (300, 150), 2), net)
    build = Network.__init__

    def counted(self: Any, *args: Any, **options: Any) -> None:
        _networks.add(self)
        _made["networks"] += 1
        build(self, *args, **options)

    setattr(Network, "__init__", counted)  # noqa: B010
    expected = run(net, _X, runtime="lava").logits
    assert expected.any()
    told = {}
    for runtime, runs in RUNS.items():
        run_in_a_row(net, runtime, BAD_ONE_IN, expected)  # which fills the caches
        shared = segments()
        before = held(shared)
        run_in_a_row(net, runtime, runs, expected)
        told[runtime] = {"before": before, "after": held(shared), "made": _made["networks"]}
    print(json.dumps(told))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
