"""Rules for exponents: which power of two a layer's, or a channel's, values are rounded to.

A mantissa of b bits at exponent e stands for mantissa · 2^−e. Raising e by one halves the
rounding of all values, and clips those beyond half of the range: the rules differ in how much
clipping they take for it.

==============  ===================================================================
max             the largest e at which nothing is clipped
percentile      the largest e at which 99 % of the values are not
mse             the e with the least mean square of rounding and clipping
==============  ===================================================================
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from training.slayer.mantissa import EXPONENT_MAX, exponent, mantissa_max

PERCENTILE = 99.0

_FINER = 4
"""How many exponents above the exact maximum's are worth a look: 2⁻⁴ of the range is left then."""


def by_max(values: np.ndarray, bits: int) -> int:
    """The largest exponent at which no value is clipped."""
    return exponent(float(np.abs(values).max()), bits)


def by_percentile(values: np.ndarray, bits: int) -> int:
    """The largest exponent at which most values are not clipped."""
    most = float(np.percentile(np.abs(values), PERCENTILE))
    # Where most values are 0, the few others are all that there is.
    return exponent(most, bits) if most > 0 else by_max(values, bits)


def by_mse(values: np.ndarray, bits: int) -> int:
    """The exponent with the least mean square error."""
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
    """Exponent of all ``rows`` (channel, …), or of each of them."""
    choose = RULES[rule]
    if not per_channel:
        return choose(rows, bits)
    return np.array([choose(row, bits) for row in rows])
