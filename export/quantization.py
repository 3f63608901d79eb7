"""From float values to the integers of a layer: mantissas, exponents, fractional bits."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass

import numpy as np

from export import bounds, loihi2, te
from export.model import CelifLayer, Encoding, ModelError, ReadoutLayer
from export.scans import run_layer
from export.te import Form, Table
from export.twin import arriving_sums
from training.scaling import EXPONENT_MAX, exponent, mantissa_max

PROVEN_ENOUGH = 12
"""Fractional bits from which on a proof is preferred to a larger, calibrated number."""

FEW = 8
"""Fractional bits below which networks were measured to lose their accuracy: a warning is due."""

MARGIN = 2
"""Room left above the largest state seen in calibration."""


@dataclass(frozen=True)
class FloatLayer:
    """Float values of a CE-LIF layer; weight (neuron, input), te (neuron, step)."""

    name: str
    weight: np.ndarray
    bias: np.ndarray
    te: np.ndarray
    alpha: float
    beta: float
    theta0: float
    lag: int
    delay_shift: bool
    weight_bits: int
    te_bits: int
    te_exp: int | np.ndarray
    """Exponent of the whole table, which a layer may share with wider ones, or of each row."""
    te_form: Table = te.DENSE
    """How a table is kept; a cosine is a cosine."""
    turns: np.ndarray | None = None
    """Of a cosine, turns a step of each row; ``te`` is what they make of it."""


@dataclass(frozen=True)
class Choice:
    """How the fractional bits of a layer were chosen."""

    fraction_bits: int
    proven: bool
    largest_state: int
    """Proven bound, or the largest state seen in calibration."""


def require_finite(owner: str, name: str, values: np.ndarray, remedy: str) -> None:
    """Refuse NaN and infinity by the place they stand at."""
    bad = np.argwhere(~np.isfinite(values))
    if len(bad):
        found = f"{values[tuple(bad[0])]} at {tuple(bad[0].tolist())} and {len(bad) - 1} more"
        raise ModelError.about(owner, name, "finite numbers", found, remedy)


def scales(exp: int | np.ndarray, ndim: int) -> np.ndarray:
    """2^exp for all, or for each of the first of ``ndim`` axes."""
    powers = 2.0 ** np.asarray(exp, np.float64)
    return powers.reshape(-1, *(1,) * (ndim - 1)) if powers.ndim else powers


def mantissas(values: np.ndarray, exp: int | np.ndarray, bits: int) -> np.ndarray:
    """Integers nearest to values · 2^exp, clipped to ``bits`` bits; exp for all or per row."""
    limit = mantissa_max(bits)
    scaled = values * scales(exp, values.ndim)
    return np.clip(np.rint(scaled), -limit, limit).astype(np.int64)


def encode_te(values: FloatLayer) -> tuple[np.ndarray, Form]:
    """Mantissas (row, step) of a layer's TE, and the form that keeps them."""
    if values.turns is not None:
        form = te.cosine(values.turns, values.te_exp, values.te_bits)
        return form.decode(form.increment, values.te.shape[1]), form
    means = te.block_means(values.te, values.te_form.hold)
    columns = mantissas(means, values.te_exp, values.te_bits)
    return values.te_form.held(columns, values.te.shape[1]), values.te_form


def bias_mantissas(bias: np.ndarray, fraction_bits: int, bias_exp: int) -> np.ndarray:
    """Integers nearest to bias · 2^(F − bias_exp), clipped to Loihi's 13 bits."""
    whole = np.rint(bias * 2.0 ** (fraction_bits - bias_exp))
    return np.clip(whole, loihi2.BIAS_MANT_MIN, loihi2.BIAS_MANT_MAX).astype(np.int64)


def table_exponent(table: np.ndarray, bits: int) -> int:
    """One exponent for a TE table; TE · V is shifted right by it, so it cannot be negative."""
    largest = float(np.abs(table).max())
    e = min(exponent(largest, bits), 31)
    if e < 0:
        raise ModelError(
            f"te: expected |TE| up to {mantissa_max(bits)} for {bits} bits, got {largest:g}"
        )
    return e


def decay_mantissa(owner: str, name: str, value: float) -> int:
    """12-bit mantissa of a decay below one."""
    mant = round(value * loihi2.DECAY_ONE)
    if not 0 <= mant < loihi2.DECAY_ONE:
        largest = 1 - 0.5 / loihi2.DECAY_ONE
        raise ModelError(f"{owner} {name}: expected 0 up to {largest:.5f}, got {value}")
    return mant


def integer_layer(values: FloatLayer, scale: float, fraction_bits: int) -> CelifLayer:
    """Integers of a layer whose input is in units of ``scale``, with F fractional bits."""
    weight = values.weight * scale
    # The current's shift F − weight_exp must not be negative.
    weight_exp = min(exponent(float(np.abs(weight).max()), values.weight_bits), fraction_bits)
    if weight_exp < -8:
        raise ModelError(
            f"{values.name} weight: expected |w| up to {mantissa_max(values.weight_bits) * 256}, "
            f"got {np.abs(weight).max():g}"
        )
    bias = values.bias * 2.0**fraction_bits
    largest = max(
        float(bias.max()) / loihi2.BIAS_MANT_MAX, float(-bias.min()) / -loihi2.BIAS_MANT_MIN
    )
    bias_exp = max(0, math.ceil(math.log2(largest))) if largest > 0 else 0
    if bias_exp > loihi2.BIAS_EXP_MAX:
        raise ModelError(
            f"{values.name} bias: expected |b| within 13 bits « {loihi2.BIAS_EXP_MAX} at "
            f"{fraction_bits} fractional bits, got {np.abs(values.bias).max():g}"
        )
    table, form = encode_te(values)
    return CelifLayer(
        name=values.name,
        weight=mantissas(weight, weight_exp, values.weight_bits),
        lag=values.lag,
        delay_shift=values.delay_shift,
        te=table,
        te_form=form,
        te_exp=values.te_exp,
        te_bits=values.te_bits,
        weight_exp=weight_exp,
        weight_bits=values.weight_bits,
        fraction_bits=fraction_bits,
        alpha_mant=decay_mantissa(values.name, "alpha", values.alpha),
        beta_mant=decay_mantissa(values.name, "beta", values.beta),
        theta0_int=round(values.theta0 * 2.0**fraction_bits),
        bias_mant=bias_mantissas(values.bias, fraction_bits, bias_exp),
        bias_exp=bias_exp,
    )


def choose_layer(
    values: FloatLayer, scale: float, input_range: tuple[int, int], inputs: np.ndarray | None
) -> tuple[CelifLayer, Choice]:
    """Integers of a layer with as many fractional bits as are safe.

    The largest F with a proof, if it is at least ``PROVEN_ENOUGH``; otherwise the largest at
    which ``inputs`` (batch, time, channel) leave a margin, if there are any.
    """
    proven: tuple[CelifLayer, Choice] | None = None
    for bits in range(loihi2.FRACTION_BITS_MAX, -1, -1):
        try:
            layer = integer_layer(values, scale, bits)
        except ModelError:
            if bits == 0:
                raise
            continue
        bound = bounds.worst_case(layer, *input_range)
        if bound.safe:
            proven = layer, Choice(bits, True, max(bound))
            break
    calibrated = None
    if inputs is not None and (proven is None or proven[1].fraction_bits < PROVEN_ENOUGH):
        calibrated = _calibrated(values, scale, input_range, inputs)
    best = max(
        (c for c in (proven, calibrated) if c), key=lambda c: c[1].fraction_bits, default=None
    )
    if best is None:
        raise ModelError(
            f"{values.name}: no number of fractional bits keeps V and Θ within "
            f"±{loihi2.STATE_MAX}; shrink TE or the weights, or pass calibration data"
        )
    if best[1].fraction_bits < FEW:
        warnings.warn(
            f"{values.name}: only {best[1].fraction_bits} fractional bits keep V and Θ within "
            f"their registers; networks need {FEW} or more: shrink TE or the weights"
            + ("" if inputs is not None else ", or pass calibration data"),
            stacklevel=4,
        )
    return best


def _calibrated(
    values: FloatLayer, scale: float, input_range: tuple[int, int], inputs: np.ndarray
) -> tuple[CelifLayer, Choice] | None:
    largest_input = max(map(abs, input_range))
    for bits in range(loihi2.FRACTION_BITS_MAX, -1, -1):
        try:
            layer = integer_layer(values, scale, bits)
        except ModelError:
            continue
        run = run_layer(layer, arriving_sums(layer, inputs, largest_input), keep=True)
        theta = 0 if run.theta is None else int(np.abs(run.theta).max())
        peak = max(int(np.abs(run.v).max()), theta)
        if peak * MARGIN <= loihi2.STATE_MAX:
            return layer, Choice(bits, False, peak)
    return None


def integer_readout(
    name: str, weight: np.ndarray, bias: np.ndarray, lag: int, bits: int, steps: int
) -> ReadoutLayer:
    """Integers of the linear readout; the bias has the exponent of the weights.

    That exponent is the largest whose sums stay within the readout's register for ``steps`` steps.
    """
    largest = float(np.abs(weight).max())
    best = exponent(largest, bits) if largest > 0 else EXPONENT_MAX
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


def choose_encoding(
    x: np.ndarray, bits: int, permutation: np.ndarray | None = None, whole: bool = False
) -> Encoding:
    """Encoding of inputs like ``x`` with at most ``bits`` bits; exact where x lies on a grid.

    With ``whole``, x must be whole numbers, and stays what it is.
    """
    if not 1 <= bits <= loihi2.MESSAGE_BITS_MAX:
        raise ModelError(f"input_bits: expected 1..{loihi2.MESSAGE_BITS_MAX}, got {bits}")
    signed, largest = bool(x.min() < 0), float(np.abs(x).max()) or 1.0
    levels = (1 << bits) - 1
    if whole:
        if largest > levels or not np.array_equal(x, np.rint(x)):
            raise ModelError(
                f"calibration: expected whole numbers up to {levels}, because the first block is a "
                f"CUBA one, got {x.min():g}..{x.max():g}; encode the data as spikes"
            )
        levels = int(largest)
    else:
        levels = _grid(np.unique(x) / largest, levels)
    return Encoding(x.shape[1], largest / levels, levels.bit_length(), signed, permutation)


def _grid(values: np.ndarray, levels: int) -> int:
    """Fewest levels that hold all of ``values`` in −1..1, or ``levels`` if none up to it do."""
    # 0, 1/16, … becomes 16 levels, not 255. Most grids are ruled out by a few of the values.
    few = values[:: -(-len(values) // 64)]

    def holds(grid: int, some: np.ndarray) -> bool:
        return bool(np.abs(some * grid - np.rint(some * grid)).max() < 1e-4)

    fits = (g for g in range(1, levels + 1) if holds(g, few) and holds(g, values))
    return next(fits, levels)
