"""The two roundings that every integer step shares: a shift towards zero, and saturation.

Both are written in plain operators, for numpy arrays, torch tensors and compiled scalars alike.
"""

from __future__ import annotations

from typing import Any

from export.loihi2 import STATE_MAX
from training.support import compiled

_SIGN_SHIFT = 63


@compiled.jitable
def shift_to_zero(x: Any, bits: Any) -> Any:
    """Divide ``x`` by 2**bits, rounding towards zero."""
    # A negative x gets 2**bits − 1 added, so that the flooring shift lands on its ceiling.
    return (x + ((x >> _SIGN_SHIFT) & ((1 << bits) - 1))) >> bits


def saturate(x: Any) -> Any:
    """Clip ``x`` to the signed 24-bit register, symmetrically."""
    return x - (x - STATE_MAX) * (x > STATE_MAX) - (x + STATE_MAX) * (x < -STATE_MAX)


@compiled.scalar_form_of(saturate)
def saturate_scalar(x: Any) -> Any:
    """Compute :func:`saturate` in two instructions of the processor, as kernels do."""
    return min(max(x, -STATE_MAX), STATE_MAX)
