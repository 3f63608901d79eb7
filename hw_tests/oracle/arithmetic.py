"""Arithmetic that the oracle's layers share, in plain Python integers.

Python's integers never overflow, so every limit of the hardware is an explicit step.
"""

from collections.abc import Sequence
from typing import Any

Vector = Sequence[int]
Matrix = Sequence[Sequence[int]]
Traces = dict[str, list[list[int]]]

STATE_MAX = 2**23 - 1
DECAY_BITS = 12


def rz(x: int, n: int) -> int:
    """Shift `x` right by `n` bits, rounding towards zero (a bare ``>>`` would round down)."""
    return x >> n if x >= 0 else -(-x >> n)


def saturate(x: int) -> int:
    """Limit `x` to ±(2²³−1)."""
    return max(-STATE_MAX, min(STATE_MAX, x))


def for_each(value: int | Vector, neurons: int) -> Vector:
    """What each of `neurons` has, of one number for all or one for each."""
    return [value] * neurons if isinstance(value, int) else value


def plain(value: Any) -> int | list[int]:
    """A number, or an array of them as a list."""
    return value if isinstance(value, int) else value.tolist()


def accumulate(row: Vector, inputs: Matrix, step: int) -> int:
    """Sum weight mantissas times inputs of one neuron at one step."""
    return sum(w * channel[step] for w, channel in zip(row, inputs, strict=True))


def arriving(
    weight: Matrix,
    inputs: Matrix,
    step: int,
    own: Matrix | None,
    spikes: Vector,
    sum_down: int,
    own_up: int,
) -> list[int]:
    """Sums that reach each neuron at one step; `spikes` are the layer's own, of the step before."""
    sums = [accumulate(row, inputs, step) >> sum_down for row in weight]
    if own is None:
        return sums
    return [
        total + ((sum(w * s for w, s in zip(row, spikes, strict=True)) << own_up) >> sum_down)
        for total, row in zip(sums, own, strict=True)
    ]
