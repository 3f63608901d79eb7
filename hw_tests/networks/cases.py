"""Networks and samples that the ladder's suite runs, each of which does something."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from export import FixedNetwork, simulate
from hw_tests.networks.random_nets import random_network
from hw_tests.trace_difference import firing_rates

LEAST_RATE, LARGEST_RATE = 0.02, 0.90


@dataclass(frozen=True)
class Case:
    """A random network: widths of its layers, steps of TE, samples, and what is special."""

    name: str
    widths: tuple[int, ...]
    steps: int
    samples: int = 3
    options: dict[str, Any] = field(default_factory=dict)
    registers: dict[str, Any] = field(default_factory=dict)
    """Fields to overwrite in every layer."""
    sample_steps: int | None = None
    saturates: bool = False

    def build(self) -> tuple[FixedNetwork, np.ndarray]:
        """Draw networks until one fires in every layer as the ladder wants it."""
        for seed in range(200):
            rng = np.random.default_rng(seed)
            net = random_network(
                rng, self.widths, self.steps, saturating=self.saturates, **self.options
            )
            net = replace(
                net, layers=tuple(replace(layer, **self.registers) for layer in net.layers)
            )
            low, high = net.encoding.range
            shape = (self.samples, net.encoding.channels, self.sample_steps or self.steps)
            x = rng.integers(low, high + 1, shape)
            trace = simulate(net, x, trace=True)
            assert trace.saturations is not None
            if self.saturates and all(trace.saturations):
                return net, x
            rates = firing_rates(trace)
            if not self.saturates and all(LEAST_RATE <= r <= LARGEST_RATE for r in rates):
                return net, x
        raise AssertionError(f"{self.name}: no seed gives a network that fires; change the case")


CASES = (
    Case("one-neuron-one-step", (1,), 1, samples=8),
    Case("one-neuron", (1,), 60),
    Case("one-step-deep", (6, 5), 1, samples=6),
    Case("wide", (200,), 25, options={"channels": 7}),
    Case("long", (7, 9), 200, options={"channels": 1, "bits": 8}),
    Case("four-layers", (5, 40, 3, 17), 30),
    Case("wide-and-long", (64, 130), 120, samples=2),
    Case("spiking-input", (20, 12), 40, options={"bits": 1, "channels": 9}),
    Case("2-bits", (15, 8), 40, options={"te_bits": 2, "weight_bits": 2}),
    Case("mixed-bits", (15, 8), 40, options={"te_bits": 16, "weight_bits": (4, 6, 5)}),
    Case("per-channel", (15, 8), 40, options={"per_channel": True}),
    Case("decays-per-neuron", (15, 8), 40, options={"own_decays": True, "per_channel": True}),
    Case("packed-te", (15, 8), 41, options={"te_bits": 4, "te_form": "packed"}),
    Case(
        "packed-held-te",
        (15, 8),
        41,
        options={"te_bits": 3, "te_form": "packed", "te_hold": 3, "per_channel": True},
    ),
    Case("cosine-te", (15, 8), 40, options={"te_form": "cosine"}),
    Case(
        "short-cosine-16-bits",
        (15, 8),
        40,
        options={"te_form": "cosine", "te_bits": 16, "per_channel": True},
        sample_steps=23,
    ),
    Case("few-fraction-bits", (15, 8), 40, options={"fraction_bits": 6}),
    Case("shifted", (12, 9, 5), 30, samples=4, options={"delay_shift": True}),
    Case("short-sample", (12, 9), 50, sample_steps=31),
    Case("no-decay", (10, 6), 40, registers={"alpha_mant": 0, "beta_mant": 0}),
    Case("least-decay", (10, 6), 40, registers={"alpha_mant": 4095, "beta_mant": 4095}),
    Case("saturating", (12, 9), 40, saturates=True),
    Case("saturating-deep", (5, 30, 6, 8), 25, samples=2, saturates=True),
)

FLOAT_CASES = tuple(
    case
    for case in CASES
    if case.name
    in (
        "one-neuron-one-step",
        "long",
        "four-layers",
        "shifted",
        "short-sample",
        "packed-held-te",
        "cosine-te",
    )
)
