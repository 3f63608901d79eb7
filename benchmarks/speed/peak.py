"""Peak memory of a training step, each in a process of its own.

A process's high-water mark cannot tell one workload from another that ran before it.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

_STATUS, _CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def kilobytes(field: str) -> int:
    """A line of what the system knows of this process: VmRSS, memory now; VmHWM, the most."""
    for line in _STATUS.read_text().splitlines():
        if line.startswith(field):
            return int(line.split()[1])
    raise OSError(f"{_STATUS}: expected a line {field}, found none")


def _return_freed() -> None:
    """Let glibc give back what is free, or what ran before would hide what comes now."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL("libc.so.6").malloc_trim(0)


def above(run: Callable[[], object]) -> dict[str, float]:
    """Megabytes before ``run``, and the most there were during it."""
    _return_freed()
    before = kilobytes("VmRSS")
    _CLEAR.write_text("5")  # the high-water mark starts again
    run()
    return {"before_mb": before / 1024, "peak_mb": kilobytes("VmHWM") / 1024}


def _measure(workload: str, quick: bool) -> dict[str, Any]:
    """Memory of a few training steps."""
    from benchmarks.peers.peers import PEERS
    from benchmarks.speed.workloads import PAPER, QUICK, Step, Workload, training_step

    def build(shape: Workload) -> Step:
        net = PEERS[workload].build(shape) if workload in PEERS else shape.network()
        return training_step(net, shape)

    build(QUICK)()  # loads and compiles whatever stays
    shape = QUICK if quick else PAPER if workload == "celif-paper" else Workload()
    step = build(shape)

    def steps() -> None:
        for _ in range(1 if workload in PEERS else 3):
            step()

    return {"batch": shape.batch, **above(steps)}


def measure(workload: str, quick: bool) -> dict[str, Any] | str:
    """Memory of ``workload``'s training step in megabytes, or why it could not be told.

    Workloads are ``celif``, ``celif-paper`` (at the paper's batch) and the peers.
    """
    if not _STATUS.exists():
        return "not run: needs Linux's /proc"
    command = [
        sys.executable,
        "-m",
        "benchmarks.speed.peak",
        workload,
        *(["quick"] if quick else []),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    if done.returncode != 0:
        return f"not run: {(done.stderr.strip().splitlines() or ['no reason given'])[-1]}"
    return json.loads(done.stdout.splitlines()[-1])


if __name__ == "__main__":
    from training.kernels.pool import keep_freed_memory

    keep_freed_memory()
    sys.stdout.write("\n" + json.dumps(_measure(sys.argv[1], "quick" in sys.argv[2:])) + "\n")
