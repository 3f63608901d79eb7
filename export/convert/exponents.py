"""Exponents: which power of two a layer's, or a channel's, values are rounded to.

A mantissa of b bits at exponent e stands for mantissa · 2^−e. Raising e by one halves the
rounding error of all values, and clips those beyond half of the range: the rules differ in how much
clipping they take for it.

==============  ===================================================================
max             the largest e at which nothing is clipped
percentile      the largest e at which 99 % of the values are not clipped
mse             the e with the least mean square of rounding and clipping
==============  ===================================================================

A network has several places that need an exponent: every TE table, the weights of every layer,
the readout. :class:`Proposals` has what each rule proposes for each of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable

import numpy as np

from export import loihi2
from export.checks import ModelError
from export.convert.float_network import FloatLayer, FloatNetwork
from export.convert.formats import Formats, LayerFormat
from export.model.te import block_means, quarter_wave
from training.network.temporal_encoding import AMPLITUDE
from training.slayer.mantissa import EXPONENT_MAX, exponent, mantissa_max

PERCENTILE = 99.0

_FINER = 4
"""How many exponents above the exact maximum's are tried: 2⁻⁴ of the range is left then."""


def by_max(values: np.ndarray, bits: int) -> int:
    """Return the largest exponent at which no value is clipped."""
    return exponent(float(np.abs(values).max()), bits)


def by_percentile(values: np.ndarray, bits: int) -> int:
    """Return the largest exponent at which most values are not clipped."""
    most = float(np.percentile(np.abs(values), PERCENTILE))
    # Where most values are 0, the few others are all that there is.
    return exponent(most, bits) if most > 0 else by_max(values, bits)


def by_mse(values: np.ndarray, bits: int) -> int:
    """Return the exponent with the least mean square error."""
    least, limit = by_max(values, bits), mantissa_max(bits)

    def error(e: int) -> float:
        rounded = np.clip(np.rint(values * 2.0**e), -limit, limit)
        return float(np.square(rounded * 2.0**-e - values).sum())

    # The first of equals is the one that clips least.
    return min(range(least, min(least + _FINER, EXPONENT_MAX) + 1), key=error)


RULES: dict[str, Callable[[np.ndarray, int], int]] = {
    "max": by_max,
    "percentile": by_percentile,
    "mse": by_mse,
}


def exponents(rows: np.ndarray, bits: int, rule: str, per_channel: bool) -> int | np.ndarray:
    """Return one exponent for all ``rows`` (channel, …), or one for each of them."""
    choose = RULES[rule]
    if not per_channel:
        return choose(rows, bits)
    return np.array([choose(row, bits) for row in rows])


class Proposals:
    """Exponents of a network by place, as each rule proposes them.

    A place is the readout, the number of a layer for its weights, or a key that layers with the
    same TE in the same formats share.
    """

    READOUT = "readout"

    def __init__(self, net: FloatNetwork, formats: Formats) -> None:
        self.net = net
        self.asked = formats.per_layer(net)
        self.te_places = [
            ("te", values.table, asked.te_bits, asked.te_form(values))
            if isinstance(values, FloatLayer) and asked is not None
            else None
            for values, asked in zip(net.layers, self.asked, strict=False)
        ]

    def propose(self, rule: str) -> dict[Hashable, int | np.ndarray]:
        """Return what ``rule`` proposes for every place; TE first, because layers share it."""
        weighted = [i for i, place in enumerate(self.te_places) if place is not None]
        found: dict[Hashable, int | np.ndarray] = {}
        for i in weighted:
            if self.te_places[i] not in found:
                found[self.te_places[i]] = self._te(i, rule)
        for i in weighted:
            found[i] = self._weights(i, rule)
        if self.net.readout is not None:
            weight, asked = self.net.readout[0], self.asked[-1]
            assert asked is not None
            assert isinstance(asked.weight_bits, int)
            any_weight = bool(weight.any())
            found[self.READOUT] = (
                RULES[rule](weight, asked.weight_bits) if any_weight else EXPONENT_MAX
            )
        return found

    def layer_format(
        self, i: int, plan: dict[Hashable, int | np.ndarray], fraction_bits: int
    ) -> LayerFormat:
        """Formats of layer ``i`` with the exponents of ``plan``; ModelError if they do not fit."""
        values, asked, weight_bits, te_bits = self._layer(i)
        te_exp, weight_exp = plan[self.te_places[i]], plan[i]
        if isinstance(te_exp, np.ndarray):
            te_exp = te_exp[: len(values.weight)]
        if isinstance(weight_exp, np.ndarray):
            # Sums of more fractional bits than F are shifted right, those of all rows alike: a row
            # of small weights must not cost the others theirs.
            limit = max(fraction_bits - values.input_exp, weight_exp.min())
            weight_exp = np.minimum(weight_exp, limit)
        form = asked.te_form(values)
        return LayerFormat(
            weight_bits=weight_bits,
            weight_exp=weight_exp,
            te_bits=te_bits,
            te_exp=te_exp,
            te_form=form or quarter_wave(AMPLITUDE * float(2.0**te_exp), te_bits),
            fraction_bits=fraction_bits,
            bias_exp=bias_exponent(values, fraction_bits),
            input_exp=values.input_exp,
        )

    def _layer(self, i: int) -> tuple[FloatLayer, Formats, int, int]:
        values, asked = self.net.layers[i], self.asked[i]
        assert isinstance(values, FloatLayer)
        assert asked is not None
        assert isinstance(asked.weight_bits, int)
        assert isinstance(asked.te_bits, int)
        return values, asked, asked.weight_bits, asked.te_bits

    def _weights(self, i: int, rule: str) -> int | np.ndarray:
        values, asked, bits, _ = self._layer(i)
        rows = values.weight_rows
        exps = exponents(rows, bits, rule, asked.per_channel)
        if np.min(exps) < loihi2.WEIGHT_EXP_MIN:
            limit = mantissa_max(bits) << -loihi2.WEIGHT_EXP_MIN
            raise ModelError(
                f"{values.name} weight: expected |w| up to {limit}, got {np.abs(rows).max():g}"
            )
        return exps

    def _te(self, i: int, rule: str) -> int | np.ndarray:
        """Exponents of the TE of layer ``i``, and of those that share it: of the widest."""
        members = [j for j, other in enumerate(self.te_places) if other == self.te_places[i]]
        values, asked, _, bits = max(map(self._layer, members), key=lambda one: len(one[0].weight))
        form = asked.te_form(values)
        if form is None:
            return exponent(AMPLITUDE, bits)
        table, limit = block_means(values.te, form.hold), mantissa_max(bits)
        # TE · V is shifted right by the exponent, so it cannot be negative.
        if (largest := float(np.abs(table).max())) >= limit + 0.5:
            raise ModelError(f"te: expected |TE| up to {limit} for {bits} bits, got {largest:g}")
        return exponents(table, bits, rule, asked.per_channel)


def bias_exponent(values: FloatLayer, fraction_bits: int) -> int:
    """Return the least exponent at which no bias is clipped.

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
