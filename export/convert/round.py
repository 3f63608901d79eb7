"""Rounding: which power of two values are rounded to, and the integers that they become.

A mantissa of b bits at exponent e stands for mantissa · 2^−e. Raising e by one halves the
rounding error of all values, and clips those beyond half of the range: the rules differ in how
much clipping they accept.

==============  ===================================================================
max             the largest e at which nothing is clipped
percentile      the largest e at which 99 % of the values are not clipped
mse             the e with the least mean square of rounding and clipping
==============  ===================================================================

Every rounding of the project is here: weights, TE, biases, thresholds and decays go to the nearest
integer, halves to the even one, and are clipped to their bits. Which of the rules to follow is
decided in :mod:`export.convert.choose`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from export import loihi2
from export.checks import ModelError
from export.convert.float_network import FloatLayer
from export.model import te
from export.model.lif import DECAY, LeakyLayer
from export.model.network import CelifLayer, ReadoutLayer
from export.model.te import DENSE, CosineTable, Form, Table
from training.slayer.mantissa import EXPONENT_MAX, exponent, mantissa_max

PERCENTILE = 99.0

_FINER = 4
"""Number of exponents tried above that of the maximum; the last clips all but 2⁻⁴ of the range."""


def by_max(values: np.ndarray, bits: int) -> int:
    """Return the largest exponent at which no value is clipped."""
    return exponent(float(np.abs(values).max()), bits)


def by_percentile(values: np.ndarray, bits: int) -> int:
    """Return the largest exponent at which most values are not clipped."""
    most = float(np.percentile(np.abs(values), PERCENTILE))
    # Where most values are 0, only the few others matter.
    return exponent(most, bits) if most > 0 else by_max(values, bits)


def by_mse(values: np.ndarray, bits: int) -> int:
    """Return the exponent with the least mean square error."""
    least, limit = by_max(values, bits), mantissa_max(bits)

    def error(e: int) -> float:
        rounded = np.clip(np.rint(values * 2.0**e), -limit, limit)
        return float(np.square(rounded * 2.0**-e - values).sum())

    # Of equally good exponents, the first clips least.
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


@dataclass(frozen=True, kw_only=True)
class LayerFormat:
    """Formats of a CE-LIF layer's integers, as they were decided."""

    weight_bits: int
    weight_exp: int | np.ndarray
    te_bits: int
    te_exp: int | np.ndarray
    te_form: Table | np.ndarray
    """How a table is kept, or the quarter of a wave that a cosine is generated from."""
    fraction_bits: int
    bias_exp: int
    input_exp: int = 0

    @classmethod
    def of(cls, layer: LeakyLayer) -> LayerFormat:
        """Return the formats of a layer; for one without TE, the formats of TE do not matter."""
        te_exp: int | np.ndarray = 0
        form: Form = DENSE
        te_bits = loihi2.TE_BITS_MIN
        if isinstance(layer, CelifLayer):
            te_bits, te_exp, form = layer.te_bits, layer.te_exp, layer.te_form
        return cls(
            weight_bits=layer.weight_bits,
            weight_exp=layer.weight_exp,
            te_bits=te_bits,
            te_exp=te_exp,
            te_form=form.wave if isinstance(form, CosineTable) else form,
            fraction_bits=layer.fraction_bits,
            bias_exp=layer.bias_exp,
            input_exp=layer.input_exp,
        )


def scales(exp: int | np.ndarray, ndim: int) -> np.ndarray:
    """Return 2^exp, for all values or for each entry of the first of ``ndim`` axes."""
    powers = 2.0 ** np.asarray(exp, np.float64)
    return powers.reshape(-1, *(1,) * (ndim - 1)) if powers.ndim else powers


def mantissas(values: np.ndarray, exp: int | np.ndarray, bits: int) -> np.ndarray:
    """Return the integers nearest to values · 2^exp, clipped to ``bits`` bits."""
    limit = mantissa_max(bits)
    scaled = values * scales(exp, values.ndim)
    return np.clip(np.rint(scaled), -limit, limit).astype(np.int64)


def encode_te(values: FloatLayer, form: LayerFormat) -> tuple[np.ndarray, Form]:
    """Return the mantissas (row, step) of a layer's TE, and the form in which they are stored."""
    steps = values.te.shape[1]
    if not isinstance(form.te_form, Table):
        if values.turns is None:
            raise ModelError.about(values.name, "te", "cosines, as its format generates", "a table")
        cosine = CosineTable(te.increments(values.turns), form.te_form)
        return cosine.decode(cosine.increment, steps), cosine
    means = te.block_means(values.te, form.te_form.hold)
    columns = mantissas(means, form.te_exp, form.te_bits)
    return form.te_form.held(columns, steps), form.te_form


def bias_mantissas(bias: np.ndarray, fraction_bits: int, bias_exp: int) -> np.ndarray:
    """Return the integers nearest to bias · 2^(F − bias_exp), clipped to Loihi's 13 bits."""
    whole = np.rint(bias * 2.0 ** (fraction_bits - bias_exp))
    return np.clip(whole, loihi2.BIAS_MANT_MIN, loihi2.BIAS_MANT_MAX).astype(np.int64)


def decay_mantissas(owner: str, name: str, value: float | np.ndarray) -> int | np.ndarray:
    """12-bit mantissas of decays below one; a single one where all rows have the same."""
    exact = np.asarray(value, np.float64)
    mant = np.rint(exact * loihi2.DECAY_ONE)
    outside = ~((mant >= 0) & (mant < loihi2.DECAY_ONE))  # NaN, too
    if outside.any():
        largest = 1 - 0.5 / loihi2.DECAY_ONE
        found = f"{exact[outside].flat[0]}" + (" among them" if exact.ndim else "")
        raise ModelError(f"{owner} {name}: expected 0 up to {largest:.5f}, got {found}")
    if (mant == mant.flat[0]).all():
        return int(mant.flat[0])
    return mant.astype(np.int64)


def constants(values: FloatLayer, fraction_bits: int) -> dict[str, Any]:
    """Integers of the layer's constants, each rounded as the table of its kind says."""
    found: dict[str, Any] = {}
    for field, (name, rounding) in values.kind.constants.items():
        value = getattr(values, name)
        if rounding == DECAY:
            found[field] = decay_mantissas(values.name, name, value)
        else:
            found[field] = round(value * 2.0**fraction_bits)
    return found


def integer_layer(values: FloatLayer, form: LayerFormat) -> LeakyLayer:
    """Return the integers of a layer in given formats."""
    own = values.weight_rec
    encoded: dict[str, Any] = {}
    if issubclass(values.kind, CelifLayer):
        table, te_form = encode_te(values, form)
        encoded = {
            "te": table, "te_form": te_form, "te_exp": form.te_exp, "te_bits": form.te_bits
        }  # fmt: skip
    return values.kind(
        name=values.name,
        weight=mantissas(values.folded_weight(form.input_exp), form.weight_exp, form.weight_bits),
        input_exp=form.input_exp,
        geometry=values.geometry,
        weight_rec=None if own is None else mantissas(own, form.weight_exp, form.weight_bits),
        lag=values.lag,
        delay_shift=values.delay_shift,
        delay=values.delay,
        weight_exp=form.weight_exp,
        weight_bits=form.weight_bits,
        fraction_bits=form.fraction_bits,
        bias_mant=bias_mantissas(values.bias, form.fraction_bits, form.bias_exp),
        bias_exp=form.bias_exp,
        **constants(values, form.fraction_bits),
        **encoded,
    )


def require_relays(values: FloatLayer, layer: LeakyLayer) -> None:
    """Raise ModelError unless the relays of a layer fire whenever their one input does."""
    if values.relays:
        own = layer.weight[-values.relays :].max(1) >> layer.sum_right_shift
        least = int((own << layer.shift[-values.relays :]).min())
        if not 0 < layer.theta0_int <= least:
            expected = f"relays with weights of at least Θ0 = {layer.theta0_int}"
            remedy = 'use rule="max" or more weight bits'
            raise ModelError.about(layer.name, "weight", expected, least, remedy)


def integer_readout(
    name: str,
    weight: np.ndarray,
    bias: np.ndarray,
    lag: int,
    bits: int,
    steps: int,
    best: int,
) -> ReadoutLayer:
    """Return the integers of the linear readout; the bias has the exponent of the weights.

    That exponent is ``best`` or, if it is too large, the largest whose sums stay within the
    readout's register for ``steps`` steps.
    """
    for exp in range(best, -EXPONENT_MAX - 1, -1):
        whole = np.rint(bias * 2.0**exp)
        if np.abs(whole).max() > loihi2.READOUT_MAX:
            continue
        readout = ReadoutLayer(
            name=name,
            weight=mantissas(weight, exp, bits),
            lag=lag,
            delay_shift=False,
            weight_exp=exp,
            weight_bits=bits,
            bias=whole.astype(np.int64),
        )
        if readout.worst_case(steps) <= loihi2.READOUT_MAX:
            return readout
    raise ModelError.about(
        name, "bias", "sums that fit into 32 bits", f"|b| up to {np.abs(bias).max():g}"
    )
