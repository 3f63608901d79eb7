"""Random integer networks that do something: for tests, soaks and benchmarks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from export import loihi2
from export.model.lif import DECAY, LeakyLayer
from export.model.network import CelifLayer, Encoding, FixedNetwork, ReadoutLayer
from export.model.te import PHASE_ONE, CosineTable, Form, Table
from training.slayer.mantissa import mantissa_max

L = TypeVar("L", bound=LeakyLayer)


def random_network(
    rng: np.random.Generator,
    widths: tuple[int, ...],
    steps: int,
    *,
    channels: int = 2,
    classes: int = 3,
    fraction_bits: int = 12,
    bits: int = 4,
    weight_bits: int | Sequence[int] = 8,
    te_bits: int = 8,
    te_form: str = "table",
    te_hold: int = 1,
    per_channel: bool = False,
    own_decays: bool = False,
    delay_shift: bool = False,
    saturating: bool = False,
) -> FixedNetwork:
    """A CE-LIF network with integers over their whole range, scaled so that its layers fire.

    ``weight_bits`` are those of every layer, or one number for each and one for the readout. With
    ``per_channel``, exponents of weights and TE differ from neuron to neuron, with ``own_decays``
    α and β; with ``saturating`` the current alone passes the end of the 24-bit registers.
    """
    each = (weight_bits,) * (len(widths) + 1) if isinstance(weight_bits, int) else weight_bits
    table, form = random_te(rng, max(widths), steps, te_bits, te_form, te_hold)
    te_exps = te_bits + 2 + rng.integers(-1, 3, max(widths)) if per_channel else None
    layers, inputs, lag = [], channels, 1
    for i, (width, width_bits) in enumerate(zip(widths, each, strict=False)):
        limit = mantissa_max(width_bits)
        # Typical sum of a row: the standard deviation of −limit..limit is limit / √3; inputs are
        # active and graded in the first layer, spikes at some rate in the others.
        size = limit / np.sqrt(3) * np.sqrt(inputs) * ((1 << bits) / 2 if i == 0 else 0.5)
        weight_exp: Any = int(np.clip(np.ceil(np.log2(size)), 1, fraction_bits))
        if saturating:
            weight_exp = loihi2.WEIGHT_EXP_MIN
        elif per_channel:
            weight_exp = np.clip(weight_exp + rng.integers(-1, 3, width), 1, fraction_bits)
        layers.append(
            CelifLayer(
                name=f"layer {i}",
                weight=rng.integers(-limit, limit + 1, (width, inputs)),
                lag=lag,
                delay_shift=delay_shift,
                te=table[:width],
                te_exp=te_bits + 2 if te_exps is None else te_exps[:width],
                te_bits=te_bits,
                te_form=form.first(width),
                weight_exp=weight_exp,
                weight_bits=width_bits,
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
        weight=rng.integers(-(limit := mantissa_max(each[-1])), limit + 1, (classes, inputs)),
        lag=lag,
        delay_shift=False,
        weight_exp=7,
        weight_bits=each[-1],
        bias=rng.integers(-1000, 1000, classes),
    )
    encoding = Encoding(channels, 1 / ((1 << bits) - 1), bits, signed=False)
    if own_decays:
        layers = [with_own_decays(rng, layer) for layer in layers]
    return FixedNetwork(tuple(layers), readout, steps, int(delay_shift), encoding, {})


def with_own_decays(rng: np.random.Generator, layer: L) -> L:
    """The same layer with decays over their whole range, one for each output channel.

    Most are those of neurons that fire; the first two rows have the smallest and the largest.
    """
    drawn: dict[str, Any] = {}
    for field, (_, rounding) in layer.constants.items():
        if rounding == DECAY:
            low = 3000 if field == "beta_mant" else 1024
            drawn[field] = rng.integers(low, loihi2.DECAY_ONE, layer.rows)
            drawn[field][:2] = (0, loihi2.DECAY_ONE - 1)[: layer.rows]
    return replace(layer, **drawn)


def random_te(
    rng: np.random.Generator, rows: int, steps: int, bits: int, encoding: str, hold: int
) -> tuple[np.ndarray, Form]:
    """Mantissas over their whole range, in any form."""
    limit = mantissa_max(bits)
    if encoding == CosineTable.encoding:
        # Any quarter of a wave will do: a falling one is only the most usual.
        wave = rng.integers(-limit, limit + 1, 1 << int(rng.integers(0, 9)))
        cosine = CosineTable(rng.integers(0, PHASE_ONE // 2 + 1, rows), wave)
        return cosine.decode(cosine.increment, steps), cosine
    form = Table(hold, packed=encoding == "packed")
    return form.held(rng.integers(-limit, limit + 1, (rows, -(-steps // hold))), steps), form
