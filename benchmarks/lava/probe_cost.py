"""What it costs to look: a run in Lava without probes, with spikes, with all of the state.

    python -m benchmarks.lava.probe_cost [--quick] [--json]

The cases are taken in turn, so the ratios hold on a busy machine too.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from benchmarks.provenance import describe
from benchmarks.speed.timing import Timed, interleave
from export import FixedNetwork
from hw_tests.networks.random_nets import random_network
from lava_procs import run


@dataclass(frozen=True)
class RunSize:
    """Steps of the network and of the run, enough to make the start matter little."""

    widths: tuple[int, ...] = (64, 152, 152)
    steps: int = 784
    samples: int = 4
    repetitions: int = 7


QUICK = RunSize((8, 6), 40, 2, 2)


def cases(net: FixedNetwork, x: np.ndarray, size: RunSize) -> list[Timed]:
    """The ways to look, cheapest first."""
    probes: dict[str, dict[str, Any]] = {
        "logits only": {"trace": False},
        "spikes of the last layer": {"probe": ("s",), "layers": (len(net.layers) - 1,)},
        "spikes": {"probe": ("s",)},
        "spikes, V and Θ": {},
    }
    return [
        Timed(name, partial(run, net, x, timeout=600, **options), size.repetitions, warm_up=1)
        for name, options in probes.items()
    ]


def measure(size: RunSize) -> dict[str, Any]:
    """Seconds of each way, and what it costs beyond the cheapest, for a step and a value."""
    rng = np.random.default_rng(0)
    net = random_network(rng, size.widths, size.steps)
    low, high = net.encoding.range
    x = rng.integers(low, high + 1, (size.samples, net.encoding.channels, size.steps))
    timed = cases(net, x, size)
    interleave(timed, lambda line: print(line, file=sys.stderr))
    base = timed[0].fastest
    steps = size.samples * size.steps
    neurons = sum(size.widths)
    values = {"spikes of the last layer": size.widths[-1], "spikes": neurons}
    values["spikes, V and Θ"] = 3 * neurons
    return {
        case.name: {
            "seconds": case.fastest,
            "of_the_cheapest": case.fastest / base,
            "microseconds_a_step": 1e6 * (case.fastest - base) / steps,
            "values_a_step": values.get(case.name, 0),
        }
        for case in timed
    }


def main() -> None:
    """Print a table, or JSON."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small; the figures say nothing")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    size = QUICK if arguments.quick else RunSize()
    found = measure(size)
    if arguments.json:
        print(json.dumps({"machine": describe(), "probes": found}, indent=1))
        return
    print(f"{size.samples} samples × {size.steps} steps, layers {size.widths}")
    print(f"{'':28}{'seconds':>9}{'ratio':>8}{'µs a step':>11}{'values a step':>15}")
    for name, row in found.items():
        print(
            f"{name:28}{row['seconds']:9.2f}{row['of_the_cheapest']:8.3f}"
            f"{row['microseconds_a_step']:11.0f}{row['values_a_step']:15}"
        )


if __name__ == "__main__":
    main()
