"""A network in integers: what a netx file holds, and what the twin and Lava run.

Every class checks itself on construction, so a value that exists is a value in range.
Weights are (neuron, input); TE is (neuron, step).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from export import checks, loihi2
from export.checks import ModelError
from export.encoding import Encoding
from export.fixed_point import IntParams
from training.scaling import EXPONENT_MAX, mantissa_max

__all__ = [
    "CelifLayer",
    "CubaLayer",
    "Encoding",
    "FixedNetwork",
    "Layer",
    "ModelError",
    "ReadoutLayer",
]


@dataclass(frozen=True, eq=False)
class Layer:
    """Synapses and place in time of a layer.

    ``lag`` is d of the time index k = (time_step − 1 − d) mod P: the synapses before the layer,
    less the shifted blocks before it. ``delay_shift`` says that the layer's output moves one
    step later, as SLAYER's blocks do.
    """

    name: str
    weight: np.ndarray
    lag: int
    delay_shift: bool

    kind: ClassVar[str] = ""
    sum_shift: ClassVar[int] = loihi2.SYNAPSE_SHIFT
    """By how many bits Lava shifts a synaptic sum up in 32 bits."""

    def __post_init__(self) -> None:
        checks.array(self.name, "weight", self.weight, 2)
        checks.integer(self.name, "lag", self.lag, 1, 1 << 16)

    @property
    def neurons(self) -> int:
        """Number of outputs."""
        return self.weight.shape[0]

    @property
    def inputs(self) -> int:
        """Number of inputs."""
        return self.weight.shape[1]

    def _per_neuron(self, field: str, value: np.ndarray, low: int, high: int) -> None:
        checks.per_neuron(self.name, field, value, 1, self.neurons)
        checks.integers(self.name, field, value, low, high)

    def _check_mantissas(self, bits: int) -> None:
        checks.integer(self.name, "weight_bits", bits, 2, loihi2.WEIGHT_BITS)
        limit = mantissa_max(bits)
        checks.integers(self.name, "weight", self.weight, -limit, limit)


@dataclass(frozen=True, eq=False)
class CelifLayer(Layer):
    """CE-LIF neurons: registers with ``fraction_bits`` F fractional bits.

    Float values: weight · 2^−weight_exp, TE · 2^−te_exp, α = alpha_mant / 4096,
    Θ0 = theta0_int · 2^−F, bias = bias_mant · 2^(bias_exp − F).
    """

    te: np.ndarray
    te_exp: int
    te_bits: int
    weight_exp: int
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
        checks.integer(self.name, "te_bits", self.te_bits, 2, loihi2.TE_BITS_MAX)
        checks.integer(self.name, "te_exp", self.te_exp, 0, EXPONENT_MAX)
        checks.per_neuron(self.name, "te", self.te, 2, self.neurons)
        te_max = mantissa_max(self.te_bits)
        checks.integers(self.name, "te", self.te, -te_max, te_max)
        checks.integer(self.name, "fraction_bits", self.fraction_bits, 0, loihi2.FRACTION_BITS_MAX)
        checks.integer(self.name, "weight_exp", self.weight_exp, -8, self.fraction_bits)
        checks.integer(self.name, "alpha_mant", self.alpha_mant, 0, loihi2.DECAY_ONE - 1)
        checks.integer(self.name, "beta_mant", self.beta_mant, 0, loihi2.DECAY_ONE - 1)
        checks.integer(
            self.name, "theta0_int", self.theta0_int, -loihi2.STATE_MAX, loihi2.STATE_MAX
        )
        self._per_neuron("bias_mant", self.bias_mant, loihi2.BIAS_MANT_MIN, loihi2.BIAS_MANT_MAX)
        checks.integer(self.name, "bias_exp", self.bias_exp, 0, loihi2.BIAS_EXP_MAX)

    @property
    def shift(self) -> int:
        """Left shift that brings the synaptic sum to F fractional bits."""
        return self.fraction_bits - self.weight_exp

    @property
    def bias(self) -> np.ndarray:
        """What the bias adds to V at every step, in units of 2^−F."""
        return self.bias_mant.astype(np.int64) << self.bias_exp

    @property
    def params(self) -> IntParams:
        """The registers, as :func:`export.fixed_point.step` takes them."""
        return IntParams(
            self.alpha_mant, self.beta_mant, self.theta0_int, self.te_exp, self.shift, self.bias
        )


@dataclass(frozen=True, eq=False)
class CubaLayer(Layer):
    """SLAYER's CUBA neurons, run by Lava's stock LIF: ``du``, ``dv``, ``vth`` as LIF takes them."""

    du: int
    dv: int
    vth: int
    bias_mant: np.ndarray

    kind: ClassVar[str] = "CUBA"
    sum_shift: ClassVar[int] = loihi2.CURRENT_SHIFT

    def __post_init__(self) -> None:
        super().__post_init__()
        limits = loihi2.CUBA_WEIGHT_MIN, loihi2.CUBA_WEIGHT_MAX
        checks.integers(self.name, "weight", self.weight, *limits)
        checks.integer(self.name, "du", self.du, -1, loihi2.DECAY_ONE - 1)
        checks.integer(self.name, "dv", self.dv, 0, loihi2.DECAY_ONE)
        checks.integer(self.name, "vth", self.vth, 0, (1 << 17) - 1)
        self._per_neuron("bias_mant", self.bias_mant, loihi2.BIAS_MANT_MIN, loihi2.BIAS_MANT_MAX)
        if (self.weight % 2).any():
            expected = "even integers, as SLAYER exports them"
            raise ModelError.about(self.name, "weight", expected, "odd ones")
        if self.weight.max() <= 0 and self.weight.min() == loihi2.CUBA_WEIGHT_MIN:
            found = f"{loihi2.CUBA_WEIGHT_MIN}, which Lava's Dense clips"
            raise ModelError.about(self.name, "weight", "-254..0 if none is positive", found)


@dataclass(frozen=True, eq=False)
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
        if self.delay_shift:
            raise ModelError.about(self.name, "delay_shift", "False for a readout", "True")
        self._per_neuron("bias", self.bias, -loihi2.READOUT_MAX, loihi2.READOUT_MAX)

    def worst_case(self, steps: int) -> int:
        """Largest |sum| that any spike train of ``steps`` steps can reach."""
        positive = np.maximum(self.weight, 0).sum(1, dtype=np.int64) + self.bias
        negative = np.minimum(self.weight, 0).sum(1, dtype=np.int64) + self.bias
        return int(np.maximum(np.abs(positive), np.abs(negative)).max()) * steps


@dataclass(frozen=True, eq=False)
class FixedNetwork:
    """A whole network in integers; see :func:`export.netx_read.read_netx`."""

    layers: tuple[CelifLayer | CubaLayer, ...]
    readout: ReadoutLayer | None
    steps: int
    gap: int
    encoding: Encoding
    digests: dict[str, str]
    path: str = ""

    def __post_init__(self) -> None:
        if not self.layers:
            raise ModelError("network: expected at least one layer, got none")
        checks.integer("network", "steps", self.steps, 1, 1 << 20)
        inputs, lag = self.encoding.channels, 1
        previous: Layer | None = None
        for layer in self.all_layers:
            if layer.inputs != inputs:
                expected = f"{inputs} inputs, as many as come before it"
                raise ModelError.about(layer.name, "weight", expected, layer.inputs)
            checks.integer(layer.name, "lag", layer.lag, lag, lag)
            self._check_sums(layer, 1 if previous else max(map(abs, self.encoding.range)))
            if isinstance(layer, CelifLayer) and layer.te.shape[1] != self.steps:
                expected = f"{self.steps} steps, as the network has"
                raise ModelError.about(layer.name, "te", expected, layer.te.shape[1])
            if isinstance(layer, CubaLayer) and isinstance(previous, CubaLayer):
                self._refuse_leak(previous, layer)
            inputs, lag, previous = layer.neurons, lag + 1 - layer.delay_shift, layer
        checks.integer("network", "gap", self.gap, int(any(x.delay_shift for x in self.layers)), 64)
        worst = self.readout.worst_case(self.steps) if self.readout else 0
        if self.readout and worst > loihi2.READOUT_MAX:
            expected = f"sums within 32 bits over {self.steps} steps"
            remedy = "use fewer weight bits"
            raise ModelError.about(self.readout.name, "weight", expected, worst, remedy)
        order = self.encoding.permutation
        if order is not None and len(order) != self.steps:
            raise ModelError.about("input", "permutation", f"{self.steps} steps", len(order))

    @staticmethod
    def _check_sums(layer: Layer, largest_input: int) -> None:
        worst = int(np.abs(layer.weight).sum(1).max()) * largest_input << layer.sum_shift
        if worst > loihi2.SUM_MAX:
            expected = f"sums of weights times inputs up to {loihi2.SUM_MAX >> layer.sum_shift}"
            remedy = "use fewer input bits, fewer inputs or smaller weights"
            found = worst >> layer.sum_shift
            raise ModelError.about(layer.name, "weight", expected, found, remedy)

    @staticmethod
    def _refuse_leak(previous: CubaLayer, layer: CubaLayer) -> None:
        # Lava's LIF cannot be silenced between samples: what it fires after the last step would
        # reach the first step of the next sample, which a second LIF cannot ignore.
        if previous.delay_shift:
            raise ModelError.about(
                previous.name,
                "delay_shift",
                f"False, as {layer.name}, the next, is a CUBA block, too",
                "True, which leaks spikes from one sample into the next",
                "build the block with delay_shift=False",
            )

    @property
    def all_layers(self) -> tuple[Layer, ...]:
        """The spiking layers and, if there is one, the readout."""
        return (*self.layers, self.readout) if self.readout else self.layers

    def encode(self, x: np.ndarray) -> np.ndarray:
        """Graded spikes (batch, channel, time) of float samples; integers pass as they are.

        Permutes, scales, rounds and clips; nothing else in the project does. Integers are
        checked against the range instead of being clipped, and taken to be in the network's order.
        """
        return self.encoding.encode(x, self.steps)
