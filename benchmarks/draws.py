"""Random networks and samples of a given size, over every option that a file can have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from export import FixedNetwork
from export.random_nets import random_network


@dataclass(frozen=True)
class Size:
    """The largest that is drawn; with ``narrow``, every second layer has at most so many."""

    layers: int
    width: int
    steps: int
    samples: int
    narrow: int | None = None


@dataclass(frozen=True)
class Draw:
    """A network, graded samples for it, and what is special about it."""

    net: FixedNetwork
    x: np.ndarray
    options: tuple[str, ...]


# Each option is drawn by itself, so that they meet in every combination. An option that a network
# cannot have with others gives way.
OPTIONS: dict[str, tuple[Any, ...]] = {
    "fraction_bits": (6, 8, 10, 12, 14, 16),
    "bits": (1, 2, 4, 8),
    "weight_bits": (8, 8, 6, 5, 4, 3, 2),
    "te_bits": (8, 8, 2, 3, 4, 6, 12, 16),
    "te_form": ("table", "table", "packed", "cosine"),
    "te_hold": (1, 1, 1, 2, 5),
    "per_channel": (False, True),
    "delay_shift": (False, False, True),
    "saturating": (False, False, False, True),
}


def draw(seed: int, size: Size) -> Draw:
    """The network and samples of a seed."""
    rng = np.random.default_rng(seed)
    options = {name: values[rng.integers(len(values))] for name, values in OPTIONS.items()}
    widths = _widths(rng, size)
    steps = int(rng.integers(1, size.steps + 1))
    if options["te_form"] == "packed":
        options["te_bits"] = min(options["te_bits"], 4)
    if options["te_form"] == "cosine":
        options["te_hold"] = 1
    if rng.random() < 0.2:
        options["weight_bits"] = tuple(int(b) for b in rng.integers(2, 9, len(widths) + 1))
    channels = int(rng.integers(1, 9))
    net = random_network(rng, widths, steps, channels=channels, **options)
    samples = int(rng.integers(1, size.samples + 1))
    shorter = int(rng.integers(1, steps + 1)) if rng.random() < 0.1 else steps
    low, high = net.encoding.range
    x = rng.integers(low, high + 1, (samples, channels, shorter))
    # Some inputs are sparse, as spikes are.
    x = x * (rng.random(x.shape) < rng.choice([0.1, 0.5, 1.0]))
    names = [_name(name, value) for name, value in options.items()]
    if shorter < steps:
        names.append("short samples")
    return Draw(net, x, tuple(names))


def _widths(rng: np.random.Generator, size: Size) -> tuple[int, ...]:
    layers = int(rng.integers(1, size.layers + 1))
    limits = [
        size.narrow if size.narrow is not None and i % 2 else size.width for i in range(layers)
    ]
    return tuple(int(rng.integers(max(1, limit // 4), limit + 1)) for limit in limits)


def _name(option: str, value: Any) -> str:
    if isinstance(value, tuple):
        return f"{option} mixed"
    return f"{option} {value}"
