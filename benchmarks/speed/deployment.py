"""What an exported network costs to run: the batched twin and Lava's fixed-point models."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.speed.parity import RedTest
from benchmarks.speed.timing import Timed, interleave
from benchmarks.speed.workloads import Workload
from export import read_netx, simulate, to_netx
from export.model.network import FixedNetwork

TARGET = 2_000
"""Least ratio to the samples per second of Lava's fixed-point models."""

LAVA_SAMPLES = (1, 3)
"""Two runs: their difference is the cost of a step, without Lava's start and stop."""


def _lava(
    path: Path, x: np.ndarray, expected: np.ndarray, report: Callable[[str], None]
) -> dict[str, Any] | str:
    try:
        from lava_procs import run
    except ImportError as error:
        return f"not run: {error}"
    seconds = []
    for count in LAVA_SAMPLES:
        report(f"Lava: {count} sample(s) of {x.shape[2]} steps")
        began = time.perf_counter()
        logits = run(path, x[:count], trace=False, runtime="lava").logits
        seconds.append(time.perf_counter() - began)
        if not np.array_equal(logits, expected[:count]):
            raise RedTest("Lava's logits differ from the twin's")
    (few, many), (short, long) = LAVA_SAMPLES, seconds
    if long <= short:
        return "not measured: too short a run to tell a step from the start"
    sample = (long - short) / (many - few)
    return {
        "samples": many,
        "seconds": long,
        "start_and_stop_seconds": short - few * sample,
        "seconds_per_step": sample / x.shape[2],
        "samples_per_second": 1 / sample,
    }


def measure(
    shape: Workload, repetitions: int, report: Callable[[str], None] = lambda line: None
) -> dict[str, Any]:
    """Samples a second of twin and Lava on the same file and samples; logits must be equal."""
    x, _ = shape.data()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "bench.net"
        to_netx(shape.network(), path, calibration=x)
        fixed: FixedNetwork = read_netx(path)
        samples = fixed.encode(x.numpy())
        case = Timed("twin", lambda: simulate(fixed, samples), repetitions)
        interleave([case], report)
        trace = simulate(fixed, samples, trace=True)
        result: dict[str, Any] = {
            "twin": {
                **case.to_dict(),
                "samples": len(samples),
                "samples_per_second": len(samples) / case.median,
                "firing_rates": [round(float(s.mean()), 4) for s in trace.spikes or ()],
            },
            "lava": _lava(path, samples, trace.logits, report),
        }
    result["passed"] = {"twin": None}
    if isinstance(result["lava"], dict):
        twin, lava = (result[name]["samples_per_second"] for name in ("twin", "lava"))
        result["times_as_fast_as_lava"] = twin / lava
        result["passed"] = {"twin": twin / lava >= TARGET}
    return result
