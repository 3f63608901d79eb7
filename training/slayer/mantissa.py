"""Mantissas and exponents: rounding weights to integers times a power of two."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

EXPONENT_MAX = 31
"""Largest exponent; smaller values, which would need a larger one, are rounded with it."""


def mantissa_max(bits: int) -> int:
    """Return the largest mantissa of a symmetric signed number of ``bits`` bits."""
    return (1 << (bits - 1)) - 1


def exponent(largest: float, bits: int) -> int:
    """Return the largest e for which ``largest`` · 2^e rounds to a mantissa of ``bits`` bits."""
    if not math.isfinite(largest):
        raise ValueError(f"weights: expected finite numbers, got {largest}; the training diverged")
    if largest == 0:
        return 0
    # A mantissa may round down to the maximum, hence the half.
    limit = mantissa_max(bits) + 0.5
    e = math.floor(math.log2(limit) - math.log2(largest))
    # The logarithms are rounded: e may be one off, either way.
    e += math.ldexp(largest, e + 1) < limit
    e -= math.ldexp(largest, e) >= limit
    return min(e, EXPONENT_MAX)


def fake_quantise(
    weight: torch.Tensor, bits: int, descale: bool = False, largest: float | None = None
) -> torch.Tensor:
    """Round a weight to ``bits``-bit mantissas of one power of two; gradients pass unchanged.

    With ``descale``, return the mantissas themselves, as SLAYER's export expects from a pre-hook.
    The power of two is that of ``largest``, if other weights share it, or of the largest weight.
    """
    e = exponent(float(weight.detach().abs().max()) if largest is None else largest, bits)
    mantissa = (weight.detach() * 2.0**e).round()
    if descale:
        return mantissa
    return weight + (mantissa * 2.0**-e - weight).detach()
