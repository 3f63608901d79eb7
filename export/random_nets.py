"""Random integer networks that do something: for tests, soaks and benchmarks."""

from __future__ import annotations

import numpy as np

from export import loihi2
from export.model import CelifLayer, Encoding, FixedNetwork, ReadoutLayer


def random_network(
    rng: np.random.Generator,
    widths: tuple[int, ...],
    steps: int,
    *,
    channels: int = 2,
    classes: int = 3,
    fraction_bits: int = 12,
    bits: int = 4,
    te_bits: int = 8,
    delay_shift: bool = False,
    saturating: bool = False,
) -> FixedNetwork:
    """A CE-LIF network with integers over their whole range, scaled so that its layers fire.

    With ``saturating`` the current alone passes the end of the 24-bit registers.
    """
    table = rng.integers(-(te_max := (1 << (te_bits - 1)) - 1), te_max + 1, (max(widths), steps))
    layers, inputs, lag = [], channels, 1
    for i, width in enumerate(widths):
        # Typical sum of a row: 73 is the standard deviation of −127..127; inputs are active and
        # graded in the first layer, spikes at some rate in the others.
        size = 73 * np.sqrt(inputs) * ((1 << bits) / 2 if i == 0 else 0.5)
        weight_exp = int(np.clip(np.ceil(np.log2(size)), 1, fraction_bits))
        layers.append(
            CelifLayer(
                name=f"layer {i}",
                weight=rng.integers(-loihi2.WEIGHT_MAX, loihi2.WEIGHT_MAX + 1, (width, inputs)),
                lag=lag,
                delay_shift=delay_shift,
                te=table[:width],
                te_exp=te_bits + 2,
                te_bits=te_bits,
                weight_exp=-8 if saturating else weight_exp,
                weight_bits=8,
                fraction_bits=16 if saturating else fraction_bits,
                alpha_mant=int(rng.integers(1024, 4096)),
                beta_mant=int(rng.integers(3000, 4096)),
                theta0_int=int(0.3 * (1 << fraction_bits)),
                bias_mant=rng.integers(-200, 1200, width),
                bias_exp=max(fraction_bits - 11, 0),
            )
        )
        inputs, lag = width, lag + 1 - delay_shift
    readout = ReadoutLayer(
        name=f"layer {len(widths)}",
        weight=rng.integers(-127, 128, (classes, inputs)),
        lag=lag,
        delay_shift=False,
        weight_exp=7,
        weight_bits=8,
        bias=rng.integers(-1000, 1000, classes),
    )
    encoding = Encoding(channels, 1 / ((1 << bits) - 1), bits, signed=False)
    return FixedNetwork(tuple(layers), readout, steps, int(delay_shift), encoding, {})
