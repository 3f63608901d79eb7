"""Random networks and samples of a given size, over every option that a file can have."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from export import FixedNetwork, ModelError
from export.model.lif import LeakyLayer
from export.model.network import CelifLayer
from hw_tests.networks.random_nets import random_network, random_te, with_own_decays
from hw_tests.networks.random_stacks import LayerSpec, random_stack
from training.slayer.mantissa import mantissa_max


@dataclass(frozen=True)
class LargestDraw:
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


# Each option is drawn by itself, so that they meet in every combination.
OPTIONS: dict[str, tuple[Any, ...]] = {
    "fraction_bits": (6, 8, 10, 12, 14, 16),
    "bits": (1, 2, 4, 8),
    "weight_bits": (8, 8, 6, 5, 4, 3, 2),
    "te_bits": (8, 8, 2, 3, 4, 6, 12, 16),
    "te_form": ("table", "table", "packed", "cosine"),
    "te_hold": (1, 1, 1, 2, 5),
    "per_channel": (False, True),
    "own_decays": (False, True),
    "delay_shift": (False, False, True),
    "saturating": (False, False, False, True),
}
KINDS = ("convolution", "recurrent", "delays", "shifted", "CUBA", "SDNN", "LIF", "ALIF", "signed",
         "no readout")  # fmt: skip
"""What stacks of every kind of layer may have in addition."""

_FEEDBACK = 150
"""Most neurons of a recurrent layer, whose weights are the square of it."""


def draw(seed: int, size: LargestDraw) -> Draw:
    """The network and samples of a seed."""
    rng = np.random.default_rng(seed)
    steps = int(rng.integers(1, size.steps + 1))
    net, names = (_network if rng.random() < 0.5 else _stack)(rng, size, steps)
    samples = int(rng.integers(1, size.samples + 1))
    shorter = int(rng.integers(1, steps + 1)) if rng.random() < 0.1 else steps
    if shorter < steps:
        names.append("short samples")
    low, high = net.encoding.range
    x = rng.integers(low, high + 1, (samples, net.encoding.channels, shorter))
    # Some inputs are sparse, as spikes are.
    x = x * (rng.random(x.shape) < rng.choice([0.1, 0.5, 1.0]))
    return Draw(net, x, tuple(names))


def _options(rng: np.random.Generator) -> dict[str, Any]:
    """One value of each; an option that cannot be with another gives way."""
    options = {name: values[rng.integers(len(values))] for name, values in OPTIONS.items()}
    if options["te_form"] == "packed":
        options["te_bits"] = min(options["te_bits"], 4)
    if options["te_form"] == "cosine":
        options["te_hold"] = 1
    return options


def _names(options: dict[str, Any]) -> list[str]:
    return [f"{k} {'mixed' if isinstance(v, tuple) else v}" for k, v in options.items()]


def _widths(rng: np.random.Generator, size: LargestDraw) -> tuple[int, ...]:
    layers = int(rng.integers(1, size.layers + 1))
    narrow = size.width if size.narrow is None else size.narrow
    limits = [narrow if i % 2 else size.width for i in range(layers)]
    return tuple(int(rng.integers(max(1, limit // 4), limit + 1)) for limit in limits)


def _network(
    rng: np.random.Generator, size: LargestDraw, steps: int
) -> tuple[FixedNetwork, list[str]]:
    """Dense layers with one TE table, in any format."""
    options, widths = _options(rng), _widths(rng, size)
    if rng.random() < 0.2:
        options["weight_bits"] = tuple(int(b) for b in rng.integers(2, 9, len(widths) + 1))
    channels = int(rng.integers(1, 9))
    return random_network(rng, widths, steps, channels=channels, **options), _names(options)


def _stack(
    rng: np.random.Generator, size: LargestDraw, steps: int
) -> tuple[FixedNetwork, list[str]]:
    """Layers of every kind, each with formats of its own."""
    while True:  # until kernels fit their images, and sums their registers
        classes, signed = int(rng.integers(0, 4)), bool(rng.random() < 0.3)
        shape = (int(rng.integers(1, 9)), 1, 1)
        parts = [_part(rng, width) for width in _widths(rng, size)]
        if images := rng.random() < 0.35:
            shape = tuple(rng.integers(2, (4, 8, 8)).tolist())
            parts[0] = replace(_convolution(rng, shape), shift=parts[0].shift)
        options: dict[str, Any] = {"shape": shape, "bits": int(rng.integers(1, 9))}
        try:
            net = random_stack(rng, parts, steps, classes=classes, signed=signed, **options)
            formatted = [_formatted(rng, layer, steps) for layer in net.layers]
            net = replace(net, layers=tuple(layer for layer, _ in formatted))
        except ModelError:
            continue
        has = {
            "convolution": images,
            "recurrent": any(part.recurrent for part in parts),
            "delays": any(part.delay for part in parts),
            "shifted": any(part.shift for part in parts),
            "CUBA": any(part.neuron == "CUBA" for part in parts),
            **{
                kind: any(part.neuron == kind for part in parts) for kind in ("SDNN", "LIF", "ALIF")
            },
            "signed": signed,
            "no readout": classes == 0,
        }
        names = dict.fromkeys(name for _, of_layer in formatted for name in of_layer)
        return net, [*(name for name, there in has.items() if there), *names]


def _part(rng: np.random.Generator, width: int) -> LayerSpec:
    neuron = str(rng.choice(["CELIF", "CELIF", "CELIF", "CELIF", "CUBA", "SDNN", "LIF", "ALIF"]))
    recurrent = bool(neuron != "SDNN" and rng.random() < 0.3)
    return LayerSpec(
        min(width, _FEEDBACK) if recurrent else width,
        neuron,
        recurrent=recurrent,
        shift=bool(rng.random() < 0.2),
        delay=int(rng.integers(1, 8)) if rng.random() < 0.2 else 0,
    )


def _convolution(rng: np.random.Generator, shape: tuple[int, ...]) -> LayerSpec:
    channels, height, width = shape
    groups = channels if rng.random() < 0.3 else 1

    def pair(low: int, high: int) -> tuple[int, int]:
        return int(rng.integers(low, high + 1)), int(rng.integers(low, high + 1))

    options = {"stride": pair(1, 2), "padding": pair(0, 2), "dilation": pair(1, 2)}
    return LayerSpec(
        groups * int(rng.integers(1, 5)),
        kernel=pair(1, min(3, height, width)),
        options={**options, "groups": groups},
    )


def _formatted(rng: np.random.Generator, layer: Any, steps: int) -> tuple[Any, list[str]]:
    """A CE-LIF layer in formats of its own; any other as it is, perhaps with decays of its own."""
    if not isinstance(layer, LeakyLayer):
        return layer, []
    drawn = _options(rng)
    if drawn["own_decays"]:
        layer = with_own_decays(rng, layer)
    if not isinstance(layer, CelifLayer):
        return layer, _names({"own_decays": drawn["own_decays"]})
    names = ("weight_bits", "te_bits", "te_form", "te_hold", "per_channel", "own_decays")
    options = {name: drawn[name] for name in names}
    bits, te_bits = options["weight_bits"], options["te_bits"]
    te, form = random_te(rng, layer.rows, steps, te_bits, options["te_form"], options["te_hold"])
    spread = rng.integers(-1, 3, layer.rows) if options["per_channel"] else 0
    # Mantissas of fewer bits stand for the same weights at a smaller exponent.
    fewer = layer.weight_bits - bits
    limit = mantissa_max(bits)
    smaller = {
        name: np.clip(weight >> fewer, -limit, limit)
        for name in ("weight", "weight_rec")
        if (weight := getattr(layer, name)) is not None
    }
    exp = np.clip(layer.weight_exp - fewer + spread, -8, layer.fraction_bits)
    changed = replace(
        layer,
        **smaller,
        weight_bits=bits,
        weight_exp=exp if options["per_channel"] else int(exp),
        te=te,
        te_form=form,
        te_bits=te_bits,
        te_exp=te_bits + 2 + spread if options["per_channel"] else te_bits + 2,
    )
    return changed, _names(options)
