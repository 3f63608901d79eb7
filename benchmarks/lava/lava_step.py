"""What a CE-LIF neuron costs in Lava, compared with stock LIF in a netx network of the same shape.

Both have four dense layers, 64 → 152 → 152 → 10 neurons of one kind, run in fixed point and are
reset with every sample. Each is timed in processes of its own, in turn, without start and stop.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.speed.timing import Timed, interleave
from benchmarks.speed.workloads import Workload

TARGET = 1.15
"""Largest ratio to the time of a step of stock LIF."""

_WARM_UP = 30
"""Steps before the clock starts: the first ones build the models."""


def _inputs(shape: Workload) -> np.ndarray:
    """Spikes (channel, time) that both networks receive."""
    return np.random.default_rng(0).integers(0, 2, (shape.in_features, shape.steps))


def _write_ours(path: Path, shape: Workload) -> list[float]:
    """Write our network; return the firing rates of its layers."""
    from export import simulate, write_netx
    from export.model.network import CelifLayer
    from hw_tests.networks.random_nets import random_network

    widths = (*shape.hidden, shape.classes)
    net = random_network(np.random.default_rng(0), widths, shape.steps, channels=shape.in_features)
    # The time of Lava's Dense grows with its spikes: a threshold at which both fire alike.
    layers = tuple(
        replace(layer, theta0_int=int(2.8 * layer.theta0_int))
        for layer in net.layers
        if isinstance(layer, CelifLayer)
    )
    net = replace(net, layers=layers, readout=None)
    write_netx(net, path)
    spikes = simulate(net, _inputs(shape)[None], trace=True).spikes or []
    return [float(layer.mean()) for layer in spikes]


def _write_stock(path: Path, shape: Workload) -> list[float]:
    """Write SLAYER's network; return the firing rates of its layers."""
    import h5py
    import torch

    from benchmarks.peers.peers import SlayerCuba

    stack = SlayerCuba(
        Workload(shape.in_features, (*shape.hidden, shape.classes), 1, shape.steps, 1)
    )
    x, rates = torch.from_numpy(_inputs(shape)[None]).float(), []
    with torch.no_grad(), h5py.File(path, "w") as f:
        block: Any
        for i, block in enumerate(stack.layers):
            x = block(x)  # a block has its shape, which is in the file, from what it has seen
            block.export_hdf5(f.create_group(f"layer/{i}"))
            rates.append(float(x.mean()))
    return rates


def work() -> float:
    """Seconds that this process and those that it started have computed so far."""
    import psutil

    me = psutil.Process()
    times = [each.cpu_times() for each in (me, *me.children(recursive=True))]
    return sum(each.user + each.system for each in times)


def _seconds_a_step(kind: str, path: str, shape: Workload) -> tuple[float, float]:
    """Build the network of a file in Lava, and time a sample's steps of it: on the wall, and work.

    The work of all processes together is what a busy machine leaves comparable.
    """
    import time

    from lava.lib.dl.netx import hdf5
    from lava.magma.core.run_conditions import RunSteps
    from lava.magma.core.run_configs import Loihi2SimCfg
    from lava.proc.io.source import RingBuffer

    from lava_procs import Network

    steps, inputs = shape.steps, _inputs(shape)
    source = RingBuffer(data=np.hstack([inputs[:, :_WARM_UP], inputs]))
    if kind == "celif":
        network = Network(net_config=path)
    else:
        network = hdf5.Network(net_config=path, reset_interval=steps, reset_offset=1)
    source.s_out.connect(network.inp)
    config = Loihi2SimCfg(select_tag="fixed_pt")
    try:
        source.run(condition=RunSteps(num_steps=_WARM_UP), run_cfg=config)
        began, worked = time.perf_counter(), work()
        source.run(condition=RunSteps(num_steps=steps), run_cfg=config)
        return (time.perf_counter() - began) / steps, (work() - worked) / steps
    finally:
        source.stop()


def measure(
    shape: Workload, repetitions: int, report: Callable[[str], None] = lambda line: None
) -> dict[str, Any] | str:
    """Seconds a step of both, and their ratio; or why there is none."""
    with tempfile.TemporaryDirectory() as folder:
        paths = {name: Path(folder) / f"{name}.net" for name in ("celif", "lif")}
        try:
            import lava_procs  # noqa: F401  (which imports Lava whatever ran before)
        except ImportError as error:
            return f"not run: {error}"
        rates = {
            "celif": _write_ours(paths["celif"], shape),
            "lif": _write_stock(paths["lif"], shape),
        }
        found: dict[str, list[list[float]]] = {name: [] for name in paths}

        def timed(name: str) -> Callable[[], None]:
            given = (name, str(paths[name]), str(shape.in_features), str(shape.steps))
            command = [sys.executable, "-m", "benchmarks.lava.lava_step", *given]

            def run() -> None:
                done = subprocess.run(command, capture_output=True, text=True, check=True)
                found[name].append(json.loads(done.stdout.splitlines()[-1]))

            return run

        cases = [Timed(f"a step of {name} in Lava", timed(name), repetitions, 0) for name in paths]
        interleave(cases, report)
    celif, lif = (np.median(found[name], 0) for name in ("celif", "lif"))
    return {
        "celif_seconds_a_step": float(celif[0]),
        "lif_seconds_a_step": float(lif[0]),
        "firing_rates": rates,
        "seconds_and_work_a_step": found,
        "times_lif": float(celif[0] / lif[0]),
        "work_times_lif": float(celif[1] / lif[1]),
        "passed": bool(celif[0] <= TARGET * lif[0]),
    }


if __name__ == "__main__":
    name, path, channels, steps = sys.argv[1:]
    seconds = _seconds_a_step(name, path, Workload(in_features=int(channels), steps=int(steps)))
    sys.stdout.write("\n" + json.dumps(seconds) + "\n")
