"""Powers of two as scales: what a weight becomes when it is a mantissa and an exponent."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

EXPONENT_MAX = 31
"""Values so small that they would need a larger exponent are rounded as if it were this one."""


def mantissa_max(bits: int) -> int:
    """Largest mantissa of a symmetric signed number of ``bits`` bits."""
    return (1 << (bits - 1)) - 1


def exponent(largest: float, bits: int) -> int:
    """Largest e for which ``largest`` · 2^e rounds to a mantissa of ``bits`` bits."""
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
    """Weight rounded to ``bits``-bit mantissas of one power of two; the gradient passes unchanged.

    With ``descale`` the mantissas themselves, as SLAYER's export asks of a pre-hook. The power is
    that of ``largest``, where other weights share it, or of the largest weight.
    """
    e = exponent(float(weight.detach().abs().max()) if largest is None else largest, bits)
    mantissa = (weight.detach() * 2.0**e).round()
    if descale:
        return mantissa
    return weight + (mantissa * 2.0**-e - weight).detach()
