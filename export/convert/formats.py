"""Number formats: what a user asks for, and which fractional bits V and Θ of a layer get, and why.

:class:`Formats` is what :func:`export.to_netx` is asked for, validated once and resolved per layer;
:class:`Choice` says how the fractional bits of a layer were chosen. They are the most for which
:mod:`export.proof.intervals` proves that no register overflows, whatever the input. If those are
few, or none, they are the most at which the calibration data leave a margin; the report then says
that there is no proof.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from export import loihi2
from export.checks import ModelError
from export.convert.float_network import FloatLayer, FloatNetwork
from export.model.lif import LeakyLayer
from export.model.te import ENCODINGS, CosineTable, Table
from export.proof.certificate import certify_layer
from export.proof.intervals import worst_case
from export.twin.simulate import Arriving, run_integers

BEST = "best"
RULES = (BEST, "max", "percentile", "mse")
"""How exponents are chosen, see :mod:`export.convert.round`."""

Bits = int | Sequence[int]

PROVEN_ENOUGH = 12
"""With at least this many fractional bits, a proof is preferred to a larger, calibrated number."""

FEW = 8
"""Fractional bits below which networks lost accuracy in measurements; fewer raise a warning."""

MARGIN = 2
"""Room left above the largest state seen in calibration."""

_OR_DATA = ", or pass calibration data"


@dataclass(frozen=True, kw_only=True)
class Formats:
    """Formats of a network's integers, as far as a user can choose them.

    Parameters
    ----------
    weight_bits
        Bits of the weight mantissas, 2..8: one number, or one for each spiking layer and, if there
        is a readout, one more for it. Ignored for blocks, which carry their own setting.
    te_bits
        Bits of the TE mantissas, 2..16: one number, or one for each spiking layer.
    input_bits
        Most bits of a graded input spike, 1..16.
    per_channel
        Whether each output channel has exponents of its own, for weights and for TE.
    rule
        How exponents are chosen: ``"max"`` clips nothing, ``"percentile"`` the largest values,
        ``"mse"`` what costs least in the mean square; ``"best"`` is the one of these with which
        the network's outputs differ least from the float ones on the calibration data.
    te_encoding
        ``"table"`` or, up to 4 bits, ``"packed"``; by default a table for tables, and a generated
        ``"cosine"`` for cosines.
    te_hold
        Steps for which one TE value is held, 1..64; each is the mean of the values it stands for.
    fraction_bits
        Fractional bits F of V and Θ, 0..16: one number, or one for each spiking layer; by default
        the most that are safe. A number that is given here may saturate.
    """

    weight_bits: Bits = 8
    te_bits: Bits = 8
    input_bits: int = 8
    per_channel: bool = False
    rule: str = BEST
    te_encoding: str | None = None
    te_hold: int = 1
    fraction_bits: Bits | None = None

    def __post_init__(self) -> None:
        ranges: dict[str, tuple[int, int]] = {
            "weight_bits": (loihi2.WEIGHT_BITS_MIN, loihi2.WEIGHT_BITS),
            "te_bits": (loihi2.TE_BITS_MIN, loihi2.TE_BITS_MAX),
            "input_bits": (1, loihi2.MESSAGE_BITS_MAX),
            "te_hold": (1, loihi2.HOLD_MAX),
            "fraction_bits": (0, loihi2.FRACTION_BITS_MAX),
        }
        for name, (low, high) in ranges.items():
            value = getattr(self, name)
            for bits in (value,) if _one(value) else value:
                if bits is None or (_whole(bits) and low <= bits <= high):
                    continue
                if _whole(bits):
                    raise ModelError(f"{name}: expected {low}..{high}, got {bits}")
                raise ModelError(
                    f"{name}: expected an integer {low}..{high}, or one for each layer, got "
                    f"{bits!r} of type {type(bits).__name__}; pass e.g. {name}={high}"
                )
        if self.rule not in RULES:
            raise ModelError(f"rule: expected one of {', '.join(RULES)}, got {self.rule!r}")
        if self.te_encoding not in (None, *ENCODINGS):
            expected = ", ".join(ENCODINGS)
            raise ModelError(f"te_encoding: expected one of {expected}, got {self.te_encoding!r}")

    def per_layer(self, net: FloatNetwork) -> list[Formats | None]:
        """Resolve the formats for every layer; None for one that brings its own integers.

        Each has single numbers of bits. If there is a readout, the last one is for it.
        """
        spiking = [values for values in net.layers if isinstance(values, FloatLayer)]
        readout = net.readout is not None
        weight_bits = self._each("weight_bits", len(spiking), readout)
        te_bits = self._each("te_bits", len(spiking))
        fraction_bits = self._each("fraction_bits", len(spiking))
        each = iter(
            replace(
                self,
                weight_bits=values.weight_bits or weight_bits[i],
                te_bits=te_bits[i],
                fraction_bits=fraction_bits[i],
            )
            for i, values in enumerate(spiking)
        )
        found = [next(each) if isinstance(values, FloatLayer) else None for values in net.layers]
        if readout:
            found.append(replace(self, weight_bits=weight_bits[-1], te_bits=8, fraction_bits=None))
        return found

    def te_form(self, values: FloatLayer) -> Table | None:
        """Return how a layer's TE is stored, or None for a generated cosine."""
        generated = values.turns is not None and self.te_encoding in (None, CosineTable.encoding)
        packed = self.te_encoding == "packed"
        if self.te_encoding == CosineTable.encoding and not generated:
            raise ModelError.about(
                values.name,
                "te_encoding",
                "table or packed for a learnt table",
                "cosine",
                'train with te="cosine"',
            )
        if generated and self.te_hold > 1:
            expected, remedy = "1 for a generated cosine", 'or use te_encoding="table"'
            raise ModelError.about(values.name, "te_hold", expected, self.te_hold, remedy)
        assert isinstance(self.te_bits, int)
        if packed and self.te_bits > loihi2.PACKED_BITS:
            expected = f"2..{loihi2.PACKED_BITS} with te_encoding='packed'"
            raise ModelError.about(values.name, "te_bits", expected, self.te_bits)
        return None if generated else Table(self.te_hold, packed)

    def _each(self, name: str, layers: int, readout: bool = False) -> list[Any]:
        """Return the bits called ``name`` of every spiking layer and of the readout."""
        value: Any = getattr(self, name)
        if _one(value):
            return [value] * (layers + readout)
        if len(value) != layers + readout:
            also = " and one for the readout" if readout else ""
            raise ModelError(
                f"{name}: expected one number, or one for each of {layers} spiking layers{also}, "
                f"got {len(value)}"
            )
        return [int(bits) for bits in value]


@dataclass(frozen=True)
class Choice:
    """Why a layer has its fractional bits."""

    fraction_bits: int
    proven: bool
    largest_state: int
    """The proven bound, or the largest state seen in calibration."""
    verdict: str = "proven"
    """For a layer that is not proven: which register of which neuron, and what to change."""


def _one(value: Bits | None) -> bool:
    return value is None or not isinstance(value, (Sequence, np.ndarray)) or isinstance(value, str)


def _whole(value: object) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


WithBits = Callable[[int], LeakyLayer]
"""Returns a layer with F fractional bits, or raises ModelError if its values do not fit."""


@dataclass(frozen=True)
class LayerInputs:
    """What reaches a layer: its range, calibration data (batch, time, input), number of steps."""

    range: tuple[int, int]
    inputs: np.ndarray | None
    steps: int


def choose_fraction_bits(name: str, at: WithBits, given: LayerInputs) -> tuple[LeakyLayer, Choice]:
    """Return integers with as many fractional bits as are safe, and why these."""
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


def force_fraction_bits(at: WithBits, bits: int, given: LayerInputs) -> tuple[LeakyLayer, Choice]:
    """Return integers with ``bits`` fractional bits, and what can be proven of them."""
    layer = at(bits)
    return layer, judge_fraction_bits(layer, given)


def judge_fraction_bits(layer: LeakyLayer, given: LayerInputs) -> Choice:
    """Return what can be proven of a layer's fractional bits."""
    bound = worst_case(layer, *given.range, given.steps)
    verdict = "proven" if bound.safe else _obstacle(layer, given)
    return Choice(layer.fraction_bits, bound.safe, max(bound), verdict)


def _why(at: WithBits, bits: int, given: LayerInputs) -> str:
    """Say what prevents a proof with ``bits`` fractional bits, and what would help."""
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
