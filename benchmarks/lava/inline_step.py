"""Lava in one process compared with Lava's own runtime: start-up, and a step of a trained network.

The network is ``models/seq-mnist-152.net``. Each runtime is timed in processes of its own, in turn.
Start-up is from a built network to the end of its first step: compiling, building the models and,
in Lava's own runtime, starting processes. The steps are those of one whole sample, whose logits
must be equal. The processors' time of all processes together is what a busy machine leaves
comparable.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.lava.lava_step import work
from benchmarks.speed.parity import RedTest
from benchmarks.speed.timing import Timed, interleave

STEP_TARGET, START_TARGET = 8.0, 3.0
"""Least speed-up over Lava's own runtime."""

MODEL = Path(__file__).resolve().parents[2] / "models" / "seq-mnist-152.net"
RUNTIMES = ("inline", "lava")
FIGURES = ("start", "step", "work")


def _samples(channels: int, steps: int) -> np.ndarray:
    """Two samples (channel, time) of grey values: one to warm up, one to time."""
    return np.random.default_rng(0).integers(0, 256, (channels, 2 * steps))


def _measure_one(runtime: str) -> dict[str, Any]:
    """Start-up, seconds a step and logits, measured in this process."""
    import contextlib
    import time

    from lava.magma.core.run_conditions import RunSteps
    from lava.magma.core.run_configs import Loihi2SimCfg
    from lava.proc.io.source import RingBuffer

    from export.twin import one_step
    from lava_procs import Network, inline

    # Compiled code is fetched before the clock starts, as the twin, which uses it too, has done.
    state = one_step.State(*(np.zeros(1, np.int64) for _ in range(3)))
    registers = one_step.IntParams(*(np.zeros(1, np.int64) for _ in range(6)))
    one_step.CelifStep(1, registers)(np.zeros(1), np.zeros(1, np.int64), state)
    network = Network(net_config=MODEL)
    assert network.fixed is not None
    fixed = network.fixed
    data = _samples(fixed.encoding.channels, fixed.steps) >> (8 - fixed.encoding.message_bits)
    source = RingBuffer(data=np.hstack([data, 0 * data]))
    source.s_out.connect(network.inp)
    readout = network.layers[-1].neuron
    config = Loihi2SimCfg(select_tag="fixed_pt")
    with inline() if runtime == "inline" else contextlib.nullcontext():
        began = time.perf_counter()
        source.run(condition=RunSteps(num_steps=1), run_cfg=config)
        started = time.perf_counter() - began
        try:
            # The first sample has left the readout before the second enters it.
            lag = network.clocks[-1].lag
            source.run(condition=RunSteps(num_steps=fixed.steps + lag - 1))
            first = readout.acc.get()
            began, worked = time.perf_counter(), work()
            source.run(condition=RunSteps(num_steps=fixed.steps))
            step = (time.perf_counter() - began) / fixed.steps
            worked = (work() - worked) / fixed.steps
            logits = [first.tolist(), readout.acc.get().tolist()]
        finally:
            source.stop()
    return {"start": started, "step": step, "work": worked, "logits": logits}


def measure(
    repetitions: int, report: Callable[[str], None] = lambda line: None
) -> dict[str, Any] | str:
    """Seconds of both runtimes, and how many times as fast ours is; or why there is none."""
    try:
        import lava_procs  # noqa: F401
    except ImportError as error:
        return f"not run: {error}"
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in RUNTIMES}

    def timed(name: str) -> Callable[[], None]:
        command = [sys.executable, "-m", "benchmarks.lava.inline_step", name]

        def run() -> None:
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            found[name].append(json.loads(done.stdout.splitlines()[-1]))

        return run

    cases = [Timed(f"a step in {name}'s runtime", timed(name), repetitions, 0) for name in RUNTIMES]
    interleave(cases, report)
    logits = [each["logits"] for runs in found.values() for each in runs]
    if any(each != logits[0] for each in logits) or not np.any(logits[0]):
        raise RedTest("the logits of Lava in one process and of Lava's own runtime differ")
    median = {
        (name, what): float(np.median([each[what] for each in found[name]]))
        for name in RUNTIMES
        for what in FIGURES
    }
    times = {what: median["lava", what] / median["inline", what] for what in FIGURES}
    return {
        "seconds": {f"{name} {what}": value for (name, what), value in median.items()},
        "times_as_fast": times,
        "runs": found,
        "passed": {
            "inline step": times["step"] >= STEP_TARGET,
            "inline start": times["start"] >= START_TARGET,
        },
    }


if __name__ == "__main__":
    sys.stdout.write("\n" + json.dumps(_measure_one(sys.argv[1])) + "\n")
