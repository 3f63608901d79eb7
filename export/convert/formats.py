"""What is asked of an export: bits, exponents, encodings. Checked once, told apart by layer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from export import loihi2
from export.checks import ModelError
from export.convert import rules
from export.convert.round import FloatLayer
from export.model.layer import Layer
from export.model.te import ENCODINGS, CosineTable, Table

BEST = "best"
RULES = (BEST, *rules.RULES)
"""How exponents are chosen, see :mod:`export.convert.rules`."""

Bits = int | Sequence[int]


@dataclass(frozen=True, kw_only=True)
class Formats:
    """Formats of a network's integers, as far as a user has a say in them.

    Parameters
    ----------
    weight_bits
        Bits of the weight mantissas, 2..8: one number, or one for each spiking layer and, if there
        is a readout, one more for it. Blocks bring their own, and take no notice of this.
    te_bits
        Bits of the TE mantissas, 2..16: one number, or one for each spiking layer.
    input_bits
        Most bits of a graded input spike, 1..16.
    per_channel
        Whether each output channel has exponents of its own, for weights and for TE.
    rule
        How exponents are chosen: ``"max"`` clips nothing, ``"percentile"`` the largest values,
        ``"mse"`` what costs least in the mean square; ``"best"`` is the one of these whose layer
        differs least from the float one on the calibration data.
    te_encoding
        ``"table"`` or, up to 4 bits, ``"packed"``; by default a table for tables, and a generated
        ``"cosine"`` for cosines.
    te_hold
        Steps for which one TE value is held, 1..64; each is the mean of the values it stands for.
    fraction_bits
        Fractional bits F of V and Θ, 0..16: one number, or one for each spiking layer; by default
        the most that are safe. What is forced may saturate.
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
                if bits is not None and not (_whole(bits) and low <= bits <= high):
                    raise ModelError(f"{name}: expected {low}..{high}, got {bits}")
        if self.rule not in RULES:
            raise ModelError(f"rule: expected one of {', '.join(RULES)}, got {self.rule!r}")
        if self.te_encoding not in (None, *ENCODINGS):
            expected = ", ".join(ENCODINGS)
            raise ModelError(f"te_encoding: expected one of {expected}, got {self.te_encoding!r}")

    def per_layer(self, layers: Sequence[FloatLayer | Layer], readout: bool) -> AskedOfAll:
        """What is asked of every layer, and of the readout, if there is one."""
        ours = [values for values in layers if isinstance(values, FloatLayer)]
        weight_bits = self.each("weight_bits", len(ours), readout)
        each = zip(
            ours,
            weight_bits,
            self.each("te_bits", len(ours)),
            self.each("fraction_bits", len(ours)),
            strict=False,  # the readout has weights, but neither of the others
        )
        asked = iter(self._asked(*one) for one in each)
        return AskedOfAll(
            [next(asked) if isinstance(values, FloatLayer) else None for values in layers],
            weight_bits[-1],
        )

    def _asked(self, values: FloatLayer, weight_bits: int, te_bits: int, fraction: Any) -> Asked:
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
        if packed and te_bits > loihi2.PACKED_BITS:
            expected = f"2..{loihi2.PACKED_BITS} with te_encoding='packed'"
            raise ModelError.about(values.name, "te_bits", expected, te_bits)
        return Asked(
            weight_bits=values.weight_bits or weight_bits,
            te_bits=te_bits,
            te_form=None if generated else Table(self.te_hold, packed),
            rule=self.rule,
            per_channel=self.per_channel,
            fraction_bits=fraction,
        )

    def each(self, name: str, layers: int, readout: bool = False) -> list[Any]:
        """The bits called ``name`` of every spiking layer and, if there is one, of the readout."""
        value = getattr(self, name)
        if _one(value):
            return [value] * (layers + readout)
        if len(value) != layers + readout:
            also = " and one for the readout" if readout else ""
            raise ModelError(
                f"{name}: expected one number, or one for each of {layers} spiking layers{also}, "
                f"got {len(value)}"
            )
        return [int(bits) for bits in value]


class Asked(NamedTuple):
    """What is asked of one CE-LIF layer."""

    weight_bits: int
    te_bits: int
    te_form: Table | None
    """How a table is to be kept; None to generate a cosine."""
    rule: str = BEST
    per_channel: bool = False
    fraction_bits: int | None = None


class AskedOfAll(NamedTuple):
    """What is asked of a network: of its CE-LIF layers, None for others, and of its readout."""

    layers: list[Asked | None]
    readout_bits: int


def _one(value: Bits | None) -> bool:
    return value is None or not isinstance(value, (Sequence, np.ndarray)) or isinstance(value, str)


def _whole(value: object) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)
