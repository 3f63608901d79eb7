"""What the rules propose for every place of a network that needs an exponent."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from export import loihi2
from export.checks import ModelError
from export.convert import rules
from export.convert.float_network import Stack
from export.convert.formats import Asked, AskedOfAll
from export.convert.round import FloatLayer, LayerFormat
from export.model.layer import Layer
from export.model.te import block_means, quarter_wave
from training.network.temporal_encoding import AMPLITUDE
from training.slayer.mantissa import exponent, mantissa_max

READOUT = "readout"

Exponents = int | np.ndarray
Place = Any
"""The readout, the number of a layer for its weights, or a key of :func:`te_place`."""


def te_place(values: FloatLayer | Layer, ask: Asked | None) -> Place:
    """Layers that keep the same encoding alike share its exponents; None without an encoding."""
    if not isinstance(values, FloatLayer) or ask is None:
        return None
    return "te", values.table, ask.te_bits, ask.te_form


class Proposals:
    """Exponents by place and rule, each worked out once.

    Parameters
    ----------
    stack, asked
        The network, and what is asked of it.
    scale
        What one unit of the network's input is worth.
    """

    def __init__(self, stack: Stack, asked: AskedOfAll, scale: float) -> None:
        self.stack, self.asked, self.scale = stack, asked, scale
        self.te_places = [te_place(*pair) for pair in zip(stack.layers, asked.layers, strict=True)]
        self._known: dict[tuple[Place, str], Exponents] = {}

    @property
    def places(self) -> list[Place]:
        """Every place; TE first, because layers share it."""
        weighted = [i for i, place in enumerate(self.te_places) if place is not None]
        readout = [] if self.stack.readout is None else [READOUT]
        return [*dict.fromkeys(self.te_places[i] for i in weighted), *weighted, *readout]

    def of(self, place: Place, rule: str) -> Exponents:
        """What ``rule`` proposes for ``place``."""
        key = place, rule
        if key not in self._known:
            if place == READOUT:
                assert self.stack.readout is not None
                self._known[key] = rules.RULES[rule](self.stack.readout[0], self.asked.readout_bits)
            elif isinstance(place, int):
                self._known[key] = self._weights(place, rule)
            else:
                self._known[key] = self._te(place, rule)
        return self._known[key]

    def layer_format(self, i: int, plan: dict[Place, str], fraction_bits: int) -> LayerFormat:
        """Formats of layer ``i`` by the rules of ``plan``, or ModelError if they do not fit."""
        values, ask = self._layer(i)
        te_exp = self.of(self.te_places[i], plan[self.te_places[i]])
        if isinstance(te_exp, np.ndarray):
            te_exp = te_exp[: len(values.weight)]
        input_exp = values.input_exp(self._scale(i))
        weight_exp = self.of(i, plan[i])
        if isinstance(weight_exp, np.ndarray):
            # Sums of more fractional bits than F are shifted right, those of all rows alike: a row
            # of small weights must not cost the others theirs.
            weight_exp = np.minimum(weight_exp, max(fraction_bits - input_exp, weight_exp.min()))
        return LayerFormat(
            weight_bits=ask.weight_bits,
            weight_exp=weight_exp,
            te_bits=ask.te_bits,
            te_exp=te_exp,
            te_form=ask.te_form or quarter_wave(AMPLITUDE * float(2.0**te_exp), ask.te_bits),
            fraction_bits=fraction_bits,
            bias_exp=bias_exponent(values, fraction_bits),
            input_exp=input_exp,
        )

    def _layer(self, i: int) -> tuple[FloatLayer, Asked]:
        values, ask = self.stack.layers[i], self.asked.layers[i]
        assert isinstance(values, FloatLayer)
        assert ask is not None
        return values, ask

    def _scale(self, i: int) -> float:
        """What one unit of layer i's input is worth."""
        return self.scale if i == 0 else 1.0

    def _weights(self, i: int, rule: str) -> Exponents:
        values, ask = self._layer(i)
        rows = values.weight_rows(self._scale(i))
        exps = rules.exponents(rows, ask.weight_bits, rule, ask.per_channel)
        if np.min(exps) < loihi2.WEIGHT_EXP_MIN:
            limit = mantissa_max(ask.weight_bits) << -loihi2.WEIGHT_EXP_MIN
            raise ModelError(
                f"{values.name} weight: expected |w| up to {limit}, got {np.abs(rows).max():g}"
            )
        return exps

    def _te(self, place: Place, rule: str) -> Exponents:
        members = [i for i, other in enumerate(self.te_places) if other == place]
        values, ask = max(map(self._layer, members), key=lambda pair: len(pair[0].weight))
        if ask.te_form is None:
            return exponent(AMPLITUDE, ask.te_bits)
        table, limit = block_means(values.te, ask.te_form.hold), mantissa_max(ask.te_bits)
        # TE · V is shifted right by the exponent, so it cannot be negative.
        if (largest := float(np.abs(table).max())) >= limit + 0.5:
            raise ModelError(
                f"te: expected |TE| up to {limit} for {ask.te_bits} bits, got {largest:g}"
            )
        return rules.exponents(table, ask.te_bits, rule, ask.per_channel)


def bias_exponent(values: FloatLayer, fraction_bits: int) -> int:
    """The least exponent at which no bias is clipped.

    Rounding a bias costs at most 2^(exponent − F − 1), far less than clipping one: with 13 bits
    there is nothing to weigh.
    """
    bias = values.bias * 2.0**fraction_bits
    largest = max(
        float(bias.max()) / loihi2.BIAS_MANT_MAX, float(-bias.min()) / -loihi2.BIAS_MANT_MIN
    )
    exp = max(0, math.ceil(math.log2(largest))) if largest > 0 else 0
    if exp > loihi2.BIAS_EXP_MAX:
        raise ModelError(
            f"{values.name} bias: expected |b| within 13 bits « {loihi2.BIAS_EXP_MAX} at "
            f"{fraction_bits} fractional bits, got {np.abs(values.bias).max():g}"
        )
    return exp
