"""The readout in integers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from export import checks, loihi2
from export.checks import ModelError
from export.model.fields import ROWS, NetxField, neuron_fields
from export.model.layer import Layer, magnitude
from training.slayer.mantissa import EXPONENT_MAX


@dataclass(frozen=True, eq=False, kw_only=True)
class ReadoutLayer(Layer):
    """Sums weight · spikes + bias over a sample in 32 bits; a logit is sum · 2^−weight_exp / T."""

    weight_exp: int
    weight_bits: int
    bias: np.ndarray

    kind: ClassVar[str] = "READOUT"
    message_bits: ClassVar[int] = loihi2.SUM_BITS
    netx: ClassVar[tuple[NetxField, ...]] = (
        NetxField("bias", "bias", ROWS, np.int32),
        *neuron_fields({"wgtExp": "weight_exp", "wgtBits": "weight_bits"}),
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_mantissas(self.weight_bits)
        checks.integer(self.name, "weight_exp", self.weight_exp, -EXPONENT_MAX, EXPONENT_MAX)
        for field, unset in (("delay_shift", False), ("delay", None), ("weight_rec", None)):
            if (value := getattr(self, field)) is not unset:
                raise ModelError.about(self.name, field, f"{unset} for a readout", value)
        checks.integer(self.name, "input_exp", self.input_exp, 0, 0)
        self._per_row("bias", self.bias, -loihi2.READOUT_MAX, loihi2.READOUT_MAX)

    def check_place(self, unit: int, steps: int) -> None:
        """Refuse graded inputs, and sums that may leave the readout's register."""
        if unit:
            expected, found = "spikes before a readout", "graded messages"
            remedy = "end with the sigma-delta block, or put a spiking one after it"
            raise ModelError.about(self.name, "weight", expected, found, remedy)
        worst = self.worst_case(steps)
        if worst > loihi2.READOUT_MAX:
            expected = f"sums within 32 bits over {steps} steps"
            raise ModelError.about(self.name, "weight", expected, worst, "use fewer weight bits")

    def worst_sums(self) -> np.ndarray:
        """Largest |weight · spikes + bias| of a step, for each class."""
        least, most = (total + self.bias for total in self.extremes(0, 1))
        return magnitude(least, most)

    def worst_case(self, steps: int) -> int:
        """Largest |sum| that any spike train of ``steps`` steps can reach."""
        return int(self.worst_sums().max()) * steps

    @property
    def state_bits(self) -> int:
        """Bits of the sum and of the bias."""
        return 2 * loihi2.SUM_BITS
