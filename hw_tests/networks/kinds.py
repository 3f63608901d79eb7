"""Networks of every kind of layer and option, each of which does something."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from export import FixedNetwork, simulate
from export.model import network as model
from export.model.lif import LeakyLayer
from hw_tests.networks.random_stacks import LayerSpec, random_stack
from hw_tests.trace_difference import firing_rates

STEPS = 14
LEAST_RATE, LARGEST_RATE = 0.03, 0.9


@dataclass(frozen=True)
class Kind:
    """Layers to draw, and the input they hear."""

    name: str
    parts: tuple[LayerSpec, ...]
    options: dict[str, Any] = field(default_factory=dict)
    samples: int = 3

    def build(self) -> tuple[FixedNetwork, np.ndarray]:
        """Draw networks until one fires in every layer, and saturates in none."""
        for seed in range(200):
            rng = np.random.default_rng(seed)
            net = random_stack(rng, self.parts, STEPS, **self.options)
            low, high = net.encoding.range
            x = rng.integers(low, high + 1, (self.samples, net.encoding.channels, STEPS))
            x[0, 0, :2] = low, high
            trace = simulate(net, x, trace=True)
            rates = firing_rates(trace)
            if all(LEAST_RATE <= r <= LARGEST_RATE for r in rates) and not any(
                trace.saturations or ()
            ):
                return net, x
        raise AssertionError(f"{self.name}: no seed gives a network that fires; change the case")


CUBA, SDNN = "CUBA", "SDNN"
IMAGE = (2, 5, 4)

_MIXED = (
    # Strides, padding, dilation and groups of both directions differ, so that none can be swapped.
    Kind(
        "images",
        (
            LayerSpec(4, kernel=(3, 2), options={"stride": (2, 1), "padding": (1, 2), "groups": 2}),
            LayerSpec(4, kernel=(2, 3), options={"stride": (2, 3), "groups": 4}),
            LayerSpec(5),
        ),
        {"shape": IMAGE},
    ),
    Kind(
        "images-dilated-and-delayed",
        (
            LayerSpec(3, kernel=(2, 2), options={"dilation": (3, 1), "padding": (0, 1)}, delay=3),
            LayerSpec(2, kernel=(2, 2), options={"padding": (1, 0)}, shift=True, delay=2),
            LayerSpec(4),
        ),
        {"shape": IMAGE, "bits": 1},
    ),
    Kind(
        "one-neuron-per-input",
        (LayerSpec(3, kernel=(1, 1), options={"groups": 3}), LayerSpec(6)),
        {"shape": (3, 2, 2), "bits": 10, "signed": True},
    ),
    # Sums of 16-bit messages leave the 24 bits of Lava's Conv.
    Kind(
        "images-of-16-bits",
        (LayerSpec(3, kernel=(3, 3)), LayerSpec(4)),
        {"shape": (2, 4, 5), "bits": 16, "signed": True},
    ),
    # lava-dl's issue 372: recurrent synapses that hear spikes as graded input, or the reverse. Sums
    # of that many bits are shifted right by the synapses, those of either kind.
    Kind("recurrent", (LayerSpec(7, recurrent=True), LayerSpec(6, recurrent=True)), {"bits": 13}),
    Kind(
        "delays",
        (
            LayerSpec(6, delay=4),
            LayerSpec(5, delay=2, shift=True, recurrent=True),
            LayerSpec(4, shift=True),
        ),
        {"bits": 3, "signed": True, "shape": (3, 1, 1)},
    ),
    Kind(
        "decays-of-channels",
        (
            LayerSpec(4, kernel=(2, 2), own_decays=True),
            LayerSpec(6, recurrent=True, own_decays=True, delay=2),
            LayerSpec(5, own_decays=True, shift=True),
        ),
        {"shape": IMAGE, "bits": 2},
    ),
    Kind(
        "cuba-late",
        (
            LayerSpec(6, CUBA, shift=True),
            LayerSpec(5, CUBA, shift=True, delay=3),
            LayerSpec(6, shift=True),
            LayerSpec(4, CUBA, recurrent=True, delay=2),
        ),
        {"bits": 2, "classes": 0, "shape": (3, 1, 1)},
    ),
    Kind(
        "cuba-images",
        (
            LayerSpec(3, CUBA, kernel=(2, 2), options={"stride": (1, 2)}),
            LayerSpec(3, kernel=(2, 1)),
            LayerSpec(5, CUBA),
            LayerSpec(4, recurrent=True),
        ),
        {"shape": IMAGE, "bits": 1},
    ),
    Kind(
        "sigma-delta",
        (
            LayerSpec(6),
            LayerSpec(5, SDNN),
            LayerSpec(4, SDNN, shift=True),
            LayerSpec(6),
            LayerSpec(4, CUBA),
        ),
        {"bits": 4, "shape": (3, 1, 1)},
    ),
    Kind(
        "sigma-delta-images",
        (
            LayerSpec(2, SDNN, kernel=(2, 2)),
            LayerSpec(3, CUBA, kernel=(2, 2)),
            LayerSpec(4),
            LayerSpec(3, SDNN),
        ),
        {"shape": (1, 4, 4), "bits": 1, "classes": 0},
    ),
)


def _leaky(neuron: str) -> tuple[Kind, ...]:
    """Draw stacks of a leaky neuron alone, and between layers of the other kinds."""
    name = neuron.lower()
    return (
        Kind(
            name,
            (LayerSpec(7, neuron), LayerSpec(6, neuron, recurrent=True), LayerSpec(5, neuron)),
            {"bits": 13},
        ),
        Kind(
            f"{name}-between-others",
            (
                LayerSpec(3, neuron, kernel=(2, 2), delay=2),
                LayerSpec(4),
                LayerSpec(5, neuron, shift=True, recurrent=True),
                LayerSpec(4, CUBA),
                LayerSpec(4, SDNN),
                LayerSpec(6, neuron),
            ),
            {"shape": IMAGE, "bits": 2, "signed": True},
        ),
        Kind(
            f"{name}-own-decays",
            (
                LayerSpec(4, neuron, kernel=(2, 2), own_decays=True),
                LayerSpec(6, neuron, recurrent=True, own_decays=True),
            ),
            {"shape": IMAGE, "bits": 3},
        ),
    )


LEAKY = tuple(
    name
    for name, layer in model.KINDS.items()
    if issubclass(layer, LeakyLayer) and layer is not model.CelifLayer
)
"""Neurons whose layers carry everything that other rooms know of them."""

KINDS = (*_MIXED, *(kind for name in LEAKY for kind in _leaky(name)))
