"""A network in integers: what a netx file holds, and what the twin and Lava run.

Every class checks itself on construction, so a value that exists is a value in range.
Weights are (neuron, input) or, of a convolution, (out channel, in channel, height, width); TE is
(row, step), a row being a neuron or an output channel.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from export import checks, loihi2
from export.checks import ModelError
from export.model.input_coding import Encoding
from export.model.layer import Layer
from export.model.slayer import CubaLayer, SigmaDeltaLayer, SlayerLayer
from export.model.te import DENSE, Form
from export.steps.celif import IntParams
from training.slayer.mantissa import EXPONENT_MAX, mantissa_max

__all__ = [
    "CelifLayer",
    "CubaLayer",
    "Encoding",
    "FixedNetwork",
    "Layer",
    "ModelError",
    "ReadoutLayer",
    "SigmaDeltaLayer",
    "SpikingLayer",
]


@dataclass(frozen=True, eq=False, kw_only=True)
class CelifLayer(Layer):
    """CE-LIF neurons: registers with ``fraction_bits`` F fractional bits.

    Float values: weight · 2^−weight_exp, TE · 2^−te_exp, α = alpha_mant / 4096,
    Θ0 = theta0_int · 2^−F, bias = bias_mant · 2^(bias_exp − F). The exponents of weights and TE
    are one for all, or one per output channel. ``te`` holds every mantissa, (row, step), however
    ``te_form`` says that it is kept.
    """

    te: np.ndarray
    te_exp: int | np.ndarray
    te_bits: int
    te_form: Form = DENSE
    weight_exp: int | np.ndarray
    weight_bits: int
    fraction_bits: int
    alpha_mant: int
    beta_mant: int
    theta0_int: int
    bias_mant: np.ndarray
    bias_exp: int

    kind: ClassVar[str] = "CELIF"

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_mantissas(self.weight_bits)
        checks.integer(self.name, "te_bits", self.te_bits, loihi2.TE_BITS_MIN, loihi2.TE_BITS_MAX)
        self._exponent("te_exp", 0, loihi2.TE_EXP_MAX)
        checks.per_neuron(self.name, "te", self.te, 2, self.rows)
        self.te_form.check(self.name, self.te, self.te_bits)
        te_max = mantissa_max(self.te_bits)
        checks.integers(self.name, "te", self.te, -te_max, te_max)
        checks.integer(self.name, "fraction_bits", self.fraction_bits, 0, loihi2.FRACTION_BITS_MAX)
        self._exponent("weight_exp", loihi2.WEIGHT_EXP_MIN, EXPONENT_MAX)
        checks.integer(self.name, "alpha_mant", self.alpha_mant, 0, loihi2.DECAY_ONE - 1)
        checks.integer(self.name, "beta_mant", self.beta_mant, 0, loihi2.DECAY_ONE - 1)
        checks.integer(
            self.name, "theta0_int", self.theta0_int, -loihi2.STATE_MAX, loihi2.STATE_MAX
        )
        self._per_row("bias_mant", self.bias_mant, loihi2.BIAS_MANT_MIN, loihi2.BIAS_MANT_MAX)
        checks.integer(self.name, "bias_exp", self.bias_exp, 0, loihi2.BIAS_EXP_MAX)

    def _exponent(self, field: str, low: int, high: int) -> None:
        value = getattr(self, field)
        if isinstance(value, np.ndarray):
            self._per_row(field, value, low, high)
        else:
            checks.integer(self.name, field, value, low, high)

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
    def te_shift(self) -> np.ndarray:
        """Right shifts (row,) of TE · V."""
        return np.broadcast_to(np.asarray(self.te_exp, np.int64), self.rows)

    @property
    def bias(self) -> np.ndarray:
        """What the bias adds to V at every step, in units of 2^−F."""
        return self.bias_mant.astype(np.int64) << self.bias_exp

    @property
    def params(self) -> IntParams:
        """The registers, as :func:`export.steps.celif.step` takes them."""
        return IntParams(
            self.alpha_mant,
            self.beta_mant,
            self.theta0_int,
            self.per_neuron(self.te_shift),
            self.per_neuron(self.shift),
            self.per_neuron(self.bias),
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class ReadoutLayer(Layer):
    """Sums weight · spikes + bias over a sample in 32 bits; a logit is sum · 2^−weight_exp / T."""

    weight_exp: int
    weight_bits: int
    bias: np.ndarray

    kind: ClassVar[str] = "READOUT"

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_mantissas(self.weight_bits)
        checks.integer(self.name, "weight_exp", self.weight_exp, -EXPONENT_MAX, EXPONENT_MAX)
        for field, unset in (("delay_shift", False), ("delay", None), ("weight_rec", None)):
            if (value := getattr(self, field)) is not unset:
                raise ModelError.about(self.name, field, f"{unset} for a readout", value)
        checks.integer(self.name, "input_exp", self.input_exp, 0, 0)
        self._per_row("bias", self.bias, -loihi2.READOUT_MAX, loihi2.READOUT_MAX)

    def worst_case(self, steps: int) -> int:
        """Largest |sum| that any spike train of ``steps`` steps can reach."""
        least, most = (total + self.bias for total in self.extremes(0, 1))
        return int(np.maximum(np.abs(least), np.abs(most)).max()) * steps


SpikingLayer = CelifLayer | CubaLayer | SigmaDeltaLayer
"""What may stand before a readout."""


def needed_gap(layers: Iterable[Layer]) -> int:
    """Silent steps between samples that keep the spikes of one out of the next."""
    return max(layer.gap for layer in layers)


@dataclass(frozen=True, eq=False)
class FixedNetwork:
    """A whole network in integers; see :func:`export.netx.read.read_netx`."""

    layers: tuple[SpikingLayer, ...]
    readout: ReadoutLayer | None
    steps: int
    gap: int
    encoding: Encoding
    digests: dict[str, str]
    path: str = ""

    def __post_init__(self) -> None:
        if not self.layers:
            raise ModelError("network: expected at least one layer, got none")
        checks.integer("network", "steps", self.steps, 1, loihi2.STEPS_MAX)
        inputs, lag, unit = self.encoding.channels, 1, 0
        input_max = max(map(abs, self.encoding.range))
        for layer in self.all_layers:
            if layer.inputs != inputs:
                expected = f"{inputs} inputs, as many as come before it"
                raise ModelError.about(layer.name, "weight", expected, layer.inputs)
            checks.integer(layer.name, "lag", layer.lag, lag, lag)
            if isinstance(layer, SlayerLayer):  # ours fold the unit into their weights
                checks.integer(layer.name, "input_exp", layer.input_exp, unit, unit)
            if isinstance(layer, ReadoutLayer) and unit:
                expected, found = "spikes before a readout", "graded messages"
                remedy = "end with the sigma-delta block, or put a spiking one after it"
                raise ModelError.about(layer.name, "weight", expected, found, remedy)
            self._check_sums(layer, input_max)
            if isinstance(layer, CelifLayer) and layer.te.shape[1] != self.steps:
                expected = f"{self.steps} steps, as the network has"
                raise ModelError.about(layer.name, "te", expected, layer.te.shape[1])
            inputs, lag, unit = layer.neurons, lag + 1 - layer.delay_shift, layer.output_exp
            input_max = max(map(abs, layer.output_range))
        checks.integer("network", "gap", self.gap, needed_gap(self.layers), loihi2.GAP_MAX)
        worst = self.readout.worst_case(self.steps) if self.readout else 0
        if self.readout and worst > loihi2.READOUT_MAX:
            expected = f"sums within 32 bits over {self.steps} steps"
            remedy = "use fewer weight bits"
            raise ModelError.about(self.readout.name, "weight", expected, worst, remedy)
        order = self.encoding.permutation
        if order is not None and len(order) != self.steps:
            raise ModelError.about("input", "permutation", f"{self.steps} steps", len(order))

    @staticmethod
    def _check_sums(layer: Layer, input_max: int) -> None:
        # Dense shifts mantissas up, LIF what is left of their sum after the synapse's shift.
        up = max(loihi2.SYNAPSE_SHIFT, layer.lava_sum_shift - layer.sum_right_shift)
        worst, limit = layer.largest_sum(input_max), loihi2.SUM_MAX >> up
        if worst > limit:
            expected = f"sums of weights times inputs up to {limit}"
            remedy = "use fewer input bits, fewer inputs or smaller weights"
            raise ModelError.about(layer.name, "weight", expected, worst, remedy)

    @property
    def all_layers(self) -> tuple[Layer, ...]:
        """The spiking layers and, if there is one, the readout."""
        return (*self.layers, self.readout) if self.readout else self.layers

    def encode(self, x: np.ndarray) -> np.ndarray:
        """Graded spikes (batch, channel, time) of float samples; integers pass as they are.

        Permutes, scales, rounds and clips; nothing else in the project does. Integers are
        checked against the range instead of being clipped, and taken to be in the network's order.
        Images may have their axes, (batch, channel, row, column, time).
        """
        x, conv = np.asarray(x), self.layers[0].geometry
        if conv is not None and x.ndim == 5 and x.shape[1:4] == conv.input_shape:
            x = x.reshape(len(x), -1, x.shape[4])
        return self.encoding.encode(x, self.steps)
