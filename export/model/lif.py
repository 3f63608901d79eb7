"""Layers of LIF neurons in integers, and what all leaky integrate-and-fire layers share.

Float values: weight · 2^−weight_exp, α = alpha_mant / 4096, Θ0 = theta0_int · 2^−F,
bias = bias_mant · 2^(bias_exp − F).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from export import checks, loihi2
from export.model.fields import ROWS, NetxField, decay_fields, exponent_fields, neuron_fields
from export.model.layer import (
    BIAS_BITS,
    SHIFT_BITS,
    SPIKE_BITS,
    RegisterEnds,
    SpikingLayer,
    magnitude,
)
from export.steps import lif
from export.steps.arithmetic import saturate
from export.steps.lif import LifParams, LifState
from export.steps.listing import Program
from training.slayer.mantissa import EXPONENT_MAX, mantissa_max

Constants = dict[str, tuple[str, str]]
DECAY, STATE = "decay", "state"
"""How a float constant is rounded: to a 12-bit mantissa below one, or to F fractional bits."""

BIAS_FIELD = NetxField("bias", "bias_mant", ROWS, np.int16)
FORMAT_FIELDS = (
    *exponent_fields({"wgtExp": "weight_exp"}),
    *neuron_fields(
        {"wgtBits": "weight_bits", "fractionBits": "fraction_bits", "biasExp": "bias_exp"}
    ),
)


@dataclass(frozen=True, eq=False, kw_only=True)
class LeakyLayer(SpikingLayer):
    """Leaky membranes with ``fraction_bits`` F fractional bits.

    The exponent of the weights, and each decay, is one for all, or one per output channel.
    """

    weight_exp: int | np.ndarray
    weight_bits: int
    fraction_bits: int
    alpha_mant: int | np.ndarray
    theta0_int: int
    bias_mant: np.ndarray
    bias_exp: int

    constants: ClassVar[Constants] = {
        "alpha_mant": ("alpha", DECAY),
        "theta0_int": ("theta0", STATE),
    }
    """Each integer constant with the float that it stands for, and how that is rounded."""
    states: ClassVar[int] = 1
    """Number of 24-bit registers of a neuron."""

    def __post_init__(self) -> None:
        super().__post_init__()
        bits = self.weight_bits
        checks.integer(self.name, "weight_bits", bits, loihi2.WEIGHT_BITS_MIN, loihi2.WEIGHT_BITS)
        self._check_weights(-mantissa_max(bits), mantissa_max(bits))
        checks.integer(self.name, "fraction_bits", self.fraction_bits, 0, loihi2.FRACTION_BITS_MAX)
        self._one_or_each("weight_exp", loihi2.WEIGHT_EXP_MIN, EXPONENT_MAX)
        for field, (_, rounding) in self.constants.items():
            if rounding == DECAY:
                self._one_or_each(field, 0, loihi2.DECAY_ONE - 1)
            else:
                ends = -loihi2.STATE_MAX, loihi2.STATE_MAX
                checks.integer(self.name, field, getattr(self, field), *ends)
        self._per_row("bias_mant", self.bias_mant, loihi2.BIAS_MANT_MIN, loihi2.BIAS_MANT_MAX)
        checks.integer(self.name, "bias_exp", self.bias_exp, 0, loihi2.BIAS_EXP_MAX)

    def _one_or_each(self, field: str, low: int, high: int) -> None:
        value = getattr(self, field)
        if isinstance(value, np.ndarray):
            self._per_row(field, value, low, high)
        else:
            checks.integer(self.name, field, value, low, high)

    @property
    def own_decays(self) -> tuple[str, ...]:
        """Fields of the decays that every output channel has for itself."""
        decays = (field for field, (_, rounding) in self.constants.items() if rounding == DECAY)
        return tuple(field for field in decays if np.ndim(getattr(self, field)))

    def decay(self, field: str) -> int | np.ndarray:
        """Return a decay mantissa as the steps take it: one for all, or one for every neuron."""
        value = getattr(self, field)
        return self.per_neuron(value).astype(np.int64) if np.ndim(value) else value

    @property
    def floats(self) -> dict[str, float | np.ndarray]:
        """The float constants that the integers stand for, by their names in training."""
        one = {DECAY: 1 / loihi2.DECAY_ONE, STATE: 2.0**-self.fraction_bits}
        return {
            name: getattr(self, field) * one[rounding]
            for field, (name, rounding) in self.constants.items()
        }

    @property
    def sum_right_shift(self) -> int:
        """Right shift of sums that have more fractional bits than F, rounding down."""
        return max(0, int(np.max(self.weight_exp)) + self.input_exp - self.fraction_bits)

    @property
    def shift(self) -> np.ndarray:
        """Left shifts (row,) that bring the synaptic sums to F fractional bits."""
        fraction = np.int64(self.fraction_bits) - self.input_exp + self.sum_right_shift
        return np.broadcast_to(fraction - self.weight_exp, self.rows)

    @property
    def bias(self) -> np.ndarray:
        """What the bias adds to V at every step, in units of 2^−F."""
        return self.bias_mant.astype(np.int64) << self.bias_exp

    @property
    def state_bits(self) -> int:
        """Bits of the registers, the spike, the bias, and exponents and decays of its own."""
        bits = self.states * loihi2.STATE_BITS + SPIKE_BITS + BIAS_BITS
        bits += loihi2.DECAY_BITS * len(self.own_decays)
        return bits + SHIFT_BITS * (np.ndim(self.weight_exp) > 0)


def kept_ends(
    v_low: np.ndarray, v_high: np.ndarray, theta_low: np.ndarray, theta_high: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Bound what a step leaves of V, from the ends of V and of the threshold that it met.

    A V that is kept did not spike, so it is below its threshold; one that spiked restarts from 0.
    Returns the ends of what is kept, and where the neuron may have been silent and may have spiked.
    """
    silent, spiked = v_low < theta_high, v_high >= theta_low
    low = np.where(silent, v_low, 0)
    high = np.where(silent, np.minimum(v_high, theta_high - 1), 0)
    low = np.where(spiked, np.minimum(low, 0), low)
    high = np.where(spiked, np.maximum(high, 0), high)
    return low, high, silent, spiked


@dataclass(frozen=True, eq=False, kw_only=True)
class LifLayer(LeakyLayer):
    """LIF neurons: a constant threshold Θ0, and a hard reset."""

    kind: ClassVar[str] = "LIF"
    multiplications: ClassVar[int] = 1  # α·V
    netx: ClassVar[tuple[NetxField, ...]] = (
        BIAS_FIELD,
        *decay_fields({"alphaMant": "alpha_mant"}),
        *neuron_fields({"vThMant": "theta0_int"}),
        *FORMAT_FIELDS,
    )
    step_at = staticmethod(lif.step_at)

    @property
    def params(self) -> LifParams:
        """The constants, as :func:`export.steps.lif.step` takes them."""
        shift, bias = self.per_neuron(self.shift), self.per_neuron(self.bias)
        return LifParams(self.decay("alpha_mant"), self.theta0_int, shift, bias)

    def start(self, rest: np.ndarray) -> LifState:
        """V and S are 0."""
        return LifState(rest, rest)

    def advance(self, acc: np.ndarray, k: int, state: LifState) -> LifState:
        """Take :func:`export.steps.lif.step`."""
        return lif.step(acc, state, self.params)

    def bounds(self, least: np.ndarray, most: np.ndarray, steps: int) -> tuple[RegisterEnds, ...]:
        """Largest |V| before it saturates.

        V rises with what is kept of the old V and with the sum, so intervals go through the
        equation end by end; :func:`kept_ends` holds V below its threshold.
        """
        p, threshold = self.params, np.full(self.neurons, self.theta0_int)
        low = high = np.zeros(self.neurons, np.int64)
        v = np.empty((self.neurons, steps), np.int64)
        for t in range(steps):
            v_low, v_high = lif.membrane(least, low, p), lif.membrane(most, high, p)
            v[:, t] = magnitude(v_low, v_high)
            low, high, _, _ = kept_ends(saturate(v_low), saturate(v_high), threshold, threshold)
        return (RegisterEnds("V", v, loihi2.SAFE_STATE_MAX),)

    def listing(self) -> Program:
        """One step of a neuron in generic instructions."""
        return lif.listing()
