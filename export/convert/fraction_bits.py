"""How many fractional bits V and Θ of a layer get: as many as are safe.

They are the most for which :mod:`export.proof.intervals` proves that no register overflows,
whatever the input. If those are few, or none, they are the most at which the calibration data leave
a margin; the report then says that there is no proof.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from export import loihi2
from export.checks import ModelError
from export.convert.formats import Choice
from export.model.lif import LeakyLayer
from export.proof.certificate import certify_layer
from export.proof.intervals import worst_case
from export.twin.simulate import Arriving, run_integers

PROVEN_ENOUGH = 12
"""Fractional bits from which on a proof is preferred to a larger, calibrated number."""

FEW = 8
"""Fractional bits below which networks were measured to lose their accuracy: a warning is due."""

MARGIN = 2
"""Room left above the largest state seen in calibration."""

_OR_DATA = ", or pass calibration data"

WithBits = Callable[[int], LeakyLayer]
"""Integers of a layer with F fractional bits, or ModelError if they do not fit."""


@dataclass(frozen=True)
class LayerInputs:
    """What reaches a layer: smallest and largest, calibration data (batch, time, input), steps."""

    range: tuple[int, int]
    inputs: np.ndarray | None
    steps: int


def choose(name: str, at: WithBits, given: LayerInputs) -> tuple[LeakyLayer, Choice]:
    """Integers with as many fractional bits as are safe."""
    proven = _proven(at, given)
    calibrated = None
    if given.inputs is not None and (proven is None or proven[1].fraction_bits < PROVEN_ENOUGH):
        calibrated = _calibrated(at, given)
    best = max(
        (c for c in (proven, calibrated) if c), key=lambda c: c[1].fraction_bits, default=None
    )
    if best is None:
        raise ModelError(
            f"{name}: no number of fractional bits is safe; even with 0, "
            f"{_why(at, 0, given)}{_OR_DATA if given.inputs is None else ''}"
        )
    if best[1].fraction_bits < FEW:
        warnings.warn(
            f"{name}: only {best[1].fraction_bits} fractional bits keep V and Θ within their "
            f"registers, and networks need {FEW} or more; with {FEW}, {_why(at, FEW, given)}"
            + (_OR_DATA if given.inputs is None else ""),
            stacklevel=2,
        )
    return best


def forced(at: WithBits, bits: int, given: LayerInputs) -> tuple[LeakyLayer, Choice]:
    """Return integers with ``bits`` fractional bits, and what can be proven of them."""
    layer = at(bits)
    return layer, judge(layer, given)


def judge(layer: LeakyLayer, given: LayerInputs) -> Choice:
    """Return what can be proven of a layer's fractional bits."""
    bound = worst_case(layer, *given.range, given.steps)
    verdict = "proven" if bound.safe else _obstacle(layer, given)
    return Choice(layer.fraction_bits, bound.safe, max(bound), verdict)


def _why(at: WithBits, bits: int, given: LayerInputs) -> str:
    """Say what is in the way of a proof with ``bits`` fractional bits, and what would move it."""
    try:
        return _obstacle(at(bits), given)
    except ModelError as error:
        return str(error)


def _obstacle(layer: LeakyLayer, given: LayerInputs) -> str:
    tightest = certify_layer(layer, *given.range, given.steps).tightest
    return f"{tightest}; {tightest.change}"


def _proven(at: WithBits, given: LayerInputs) -> tuple[LeakyLayer, Choice] | None:
    for bits in range(loihi2.FRACTION_BITS_MAX, -1, -1):
        try:
            layer = at(bits)
        except ModelError:
            if bits == 0:
                raise
            continue
        bound = worst_case(layer, *given.range, given.steps)
        if bound.safe:
            return layer, Choice(bits, True, max(bound))
    return None


def _calibrated(at: WithBits, given: LayerInputs) -> tuple[LeakyLayer, Choice] | None:
    assert given.inputs is not None
    for bits in range(loihi2.FRACTION_BITS_MAX, -1, -1):
        try:
            layer = at(bits)
        except ModelError:
            continue
        run = run_integers(layer, Arriving(given.inputs, given.range), keep=True)
        theta = 0 if run.theta is None else int(np.abs(run.theta).max())
        peak = max(int(np.abs(run.v).max()), theta)
        if peak * MARGIN <= loihi2.STATE_MAX:
            return layer, Choice(bits, False, peak, _obstacle(layer, given))
    return None
