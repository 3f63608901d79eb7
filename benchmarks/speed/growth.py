"""How the twin's time and memory grow with the steps, the width and the batch.

Run as ``python -m benchmarks.speed.growth``: a process of its own, for the memory to be its own.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from dataclasses import replace
from typing import Any

import numpy as np

from benchmarks.speed import peak
from benchmarks.speed.workloads import QUICK, Workload

MANY = 10_000
"""Samples of the last run: as many as MNIST has for testing."""


def _shapes(quick: bool) -> dict[str, list[Workload]]:
    """The axes, each through the same shape in the middle."""
    if quick:
        return {"steps": [replace(QUICK, steps=t) for t in (25, 50)]}
    middle = Workload()
    return {
        "steps": [replace(middle, steps=t) for t in (196, 784, 3136)],
        "width": [replace(middle, hidden=(64, n, n)) for n in (76, 152, 304, 608)],
        "batch": [replace(middle, batch=b) for b in (16, 64, 256, 1024)],
    }


def _point(shape: Workload, repetitions: int = 3) -> dict[str, float]:
    """Time and memory of ``shape`` through the twin, exported as it is."""
    from export import simulate
    from hw_tests.networks.random_nets import random_network

    rng = np.random.default_rng(0)
    net = random_network(rng, shape.hidden, shape.steps, channels=shape.in_features)
    x = rng.integers(0, 16, (shape.batch, shape.in_features, shape.steps))
    simulate(net, x[:1])  # compiles
    memory = peak.above(lambda: simulate(net, x))
    seconds = []
    for _ in range(repetitions):
        began = time.perf_counter()
        trace = simulate(net, x)
        seconds.append(time.perf_counter() - began)
    assert len(trace.logits) == shape.batch
    return {
        "steps": shape.steps,
        "width": shape.hidden[-1],
        "batch": shape.batch,
        "seconds": min(seconds),
        "memory_mb": memory["peak_mb"] - memory["before_mb"],
    }


def _measure(quick: bool) -> dict[str, Any]:
    found: dict[str, Any] = {
        axis: [_point(shape) for shape in shapes] for axis, shapes in _shapes(quick).items()
    }
    many = replace(QUICK if quick else Workload(), batch=MANY)
    return found | {"many": _point(many, repetitions=1)}


def measure(quick: bool) -> dict[str, Any] | str:
    """Every axis' points, and the run of many samples; or why there are none."""
    command = [sys.executable, "-m", "benchmarks.speed.growth", *(["quick"] if quick else [])]
    done = subprocess.run(command, capture_output=True, text=True, timeout=3600, check=False)
    if done.returncode != 0:
        return f"not run: {(done.stderr.strip().splitlines() or ['no reason given'])[-1]}"
    return json.loads(done.stdout.splitlines()[-1])


if __name__ == "__main__":
    sys.stdout.write("\n" + json.dumps(_measure("quick" in sys.argv[1:])) + "\n")
