"""Peak memory of a training step, each in a process of its own.

A process's high-water mark cannot tell one workload from another that ran before it.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

_STATUS, _CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def _kilobytes(field: str) -> int:
    for line in _STATUS.read_text().splitlines():
        if line.startswith(field):
            return int(line.split()[1])
    raise OSError(f"{_STATUS}: expected a line {field}, found none")


def _measure(workload: str, quick: bool) -> dict[str, float]:
    """Megabytes before three steps, and the most there were during them."""
    from benchmarks.peers import PEERS
    from benchmarks.workloads import QUICK, Shape, Step, training_step

    def build(shape: Shape) -> Step:
        net = shape.network() if workload == "celif" else PEERS[workload].build(shape)
        return training_step(net, shape)

    build(QUICK)()  # loads and compiles whatever stays
    step = build(QUICK if quick else Shape())
    before = _kilobytes("VmRSS")
    _CLEAR.write_text("5")  # the high-water mark starts anew
    for _ in range(3 if workload == "celif" else 1):
        step()
    return {"before_mb": before / 1024, "peak_mb": _kilobytes("VmHWM") / 1024}


def measure(workload: str, quick: bool) -> dict[str, float] | str:
    """Memory of ``workload``'s training step in megabytes, or why it could not be told."""
    if not _STATUS.exists():
        return "not run: needs Linux's /proc"
    command = [sys.executable, "-m", "benchmarks.peak", workload, *(["quick"] if quick else [])]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    if done.returncode != 0:
        return f"not run: {(done.stderr.strip().splitlines() or ['no reason given'])[-1]}"
    return json.loads(done.stdout.splitlines()[-1])


if __name__ == "__main__":
    from training.memory import keep_freed_memory

    keep_freed_memory()
    sys.stdout.write("\n" + json.dumps(_measure(sys.argv[1], "quick" in sys.argv[2:])) + "\n")
