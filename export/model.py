"""A network in integers: what a netx file holds, and what the twin and Lava run.

Every class checks itself on construction, so a value that exists is a value in range.
Weights are (neuron, input); TE is (neuron, step).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from export import loihi2
from export.fixed_point import IntParams


class ModelError(ValueError):
    """A value outside what the integers of Loihi, or each other, allow."""


def _integer(owner: str, name: str, value: int, low: int, high: int) -> None:
    if not low <= value <= high:
        raise ModelError(f"{owner} {name}: expected {low}..{high}, got {value}")


def _array(owner: str, name: str, value: np.ndarray, ndim: int, low: int, high: int) -> None:
    if value.ndim != ndim or value.size == 0:
        raise ModelError(
            f"{owner} {name}: expected a non-empty array of {ndim} axes, got shape {value.shape}"
        )
    if not np.issubdtype(value.dtype, np.integer):
        raise ModelError(f"{owner} {name}: expected integers, got {value.dtype}")
    if value.min() < low or value.max() > high:
        raise ModelError(
            f"{owner} {name}: expected {low}..{high}, got {value.min()}..{value.max()}"
        )


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
    weight_range: ClassVar[tuple[int, int]] = (-loihi2.WEIGHT_MAX, loihi2.WEIGHT_MAX)

    def __post_init__(self) -> None:
        _array(self.name, "weight", self.weight, 2, *self.weight_range)
        _integer(self.name, "lag", self.lag, 1, 1 << 16)

    @property
    def neurons(self) -> int:
        """Number of outputs."""
        return self.weight.shape[0]

    @property
    def inputs(self) -> int:
        """Number of inputs."""
        return self.weight.shape[1]

    def _per_neuron(self, name: str, value: np.ndarray, low: int, high: int) -> None:
        _array(self.name, name, value, 1, low, high)
        if len(value) != self.neurons:
            raise ModelError(
                f"{self.name} {name}: expected {self.neurons} values, one per neuron, "
                f"got {len(value)}"
            )


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
        _integer(self.name, "te_bits", self.te_bits, 2, loihi2.TE_BITS_MAX)
        _integer(self.name, "te_exp", self.te_exp, 0, 31)
        te_max = (1 << (self.te_bits - 1)) - 1
        _array(self.name, "te", self.te, 2, -te_max, te_max)
        if len(self.te) != self.neurons:
            raise ModelError(
                f"{self.name} te: expected {self.neurons} rows, one per neuron, got {len(self.te)}"
            )
        _integer(self.name, "weight_bits", self.weight_bits, 2, loihi2.WEIGHT_BITS)
        _integer(self.name, "fraction_bits", self.fraction_bits, 0, loihi2.FRACTION_BITS_MAX)
        _integer(self.name, "weight_exp", self.weight_exp, -8, self.fraction_bits)
        _integer(self.name, "alpha_mant", self.alpha_mant, 0, loihi2.DECAY_ONE - 1)
        _integer(self.name, "beta_mant", self.beta_mant, 0, loihi2.DECAY_ONE - 1)
        _integer(self.name, "theta0_int", self.theta0_int, -loihi2.STATE_MAX, loihi2.STATE_MAX)
        self._per_neuron("bias_mant", self.bias_mant, loihi2.BIAS_MANT_MIN, loihi2.BIAS_MANT_MAX)
        _integer(self.name, "bias_exp", self.bias_exp, 0, loihi2.BIAS_EXP_MAX)

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
    weight_range: ClassVar[tuple[int, int]] = (loihi2.CUBA_WEIGHT_MIN, loihi2.CUBA_WEIGHT_MAX)

    def __post_init__(self) -> None:
        super().__post_init__()
        _integer(self.name, "du", self.du, -1, loihi2.DECAY_ONE - 1)
        _integer(self.name, "dv", self.dv, 0, loihi2.DECAY_ONE)
        _integer(self.name, "vth", self.vth, 0, (1 << 17) - 1)
        self._per_neuron("bias_mant", self.bias_mant, loihi2.BIAS_MANT_MIN, loihi2.BIAS_MANT_MAX)
        if (self.weight % 2).any():
            raise ModelError(
                f"{self.name} weight: expected even integers, as SLAYER exports them, got odd ones"
            )


@dataclass(frozen=True, eq=False)
class ReadoutLayer(Layer):
    """Sums weight · spikes + bias over a sample in 32 bits; a logit is sum · 2^−weight_exp / T."""

    weight_exp: int
    weight_bits: int
    bias: np.ndarray

    kind: ClassVar[str] = "READOUT"

    def __post_init__(self) -> None:
        super().__post_init__()
        self._per_neuron("bias", self.bias, -loihi2.READOUT_MAX, loihi2.READOUT_MAX)

    def worst_case(self, steps: int) -> int:
        """Largest |sum| that any spike train of ``steps`` steps can reach."""
        positive = np.maximum(self.weight, 0).sum(1, dtype=np.int64) + self.bias
        negative = np.minimum(self.weight, 0).sum(1, dtype=np.int64) + self.bias
        return int(np.maximum(np.abs(positive), np.abs(negative)).max()) * steps


@dataclass(frozen=True, eq=False)
class Encoding:
    """How a float input becomes graded spikes: permuted in time, divided by ``scale``, rounded.

    ``bits`` is the magnitude's width; with ``signed``, values below zero are allowed.
    """

    channels: int
    scale: float
    bits: int
    signed: bool
    permutation: np.ndarray | None = None

    def __post_init__(self) -> None:
        _integer("input", "channels", self.channels, 1, 1 << 20)
        _integer("input", "bits", self.bits, 1, loihi2.MESSAGE_BITS_MAX)
        if not (np.isfinite(self.scale) and self.scale > 0):
            raise ModelError(f"input scale: expected a positive number, got {self.scale}")
        order = self.permutation
        if order is not None and not np.array_equal(np.sort(order), np.arange(len(order))):
            raise ModelError("input permutation: expected every step 0..T−1 exactly once")

    @property
    def range(self) -> tuple[int, int]:
        """Smallest and largest graded spike."""
        high = (1 << self.bits) - 1
        return (-high if self.signed else 0), high

    @property
    def message_bits(self) -> int:
        """Lava's ``num_message_bits``: 0 for plain spikes, which any nonzero value is."""
        return 0 if self.range == (0, 1) else self.bits


@dataclass(frozen=True, eq=False)
class FixedNetwork:
    """A whole network in integers; see :func:`export.netx.read_netx`."""

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
        _integer("network", "steps", self.steps, 1, 1 << 20)
        inputs, lag = self.encoding.channels, 1
        previous: Layer | None = None
        for layer in self.all_layers:
            if layer.inputs != inputs:
                raise ModelError(
                    f"{layer.name} weight: expected {inputs} inputs, as many as come before it, "
                    f"got {layer.inputs}"
                )
            if layer.lag != lag:
                raise ModelError(f"{layer.name} lag: expected {lag}, got {layer.lag}")
            if isinstance(layer, CelifLayer) and layer.te.shape[1] != self.steps:
                raise ModelError(
                    f"{layer.name} te: expected {self.steps} steps, as the network has, "
                    f"got {layer.te.shape[1]}"
                )
            if isinstance(layer, CubaLayer) and isinstance(previous, CubaLayer):
                self._refuse_leak(previous, layer)
            inputs, lag, previous = layer.neurons, lag + 1 - layer.delay_shift, layer
        _integer("network", "gap", self.gap, int(any(x.delay_shift for x in self.layers)), 64)
        worst = self.readout.worst_case(self.steps) if self.readout else 0
        if self.readout and worst > loihi2.READOUT_MAX:
            raise ModelError(
                f"{self.readout.name}: expected sums within 32 bits over {self.steps} steps, "
                f"worst case is {worst}; use fewer weight bits for the readout"
            )
        if self.encoding.permutation is not None and len(self.encoding.permutation) != self.steps:
            raise ModelError(
                f"input permutation: expected {self.steps} steps, "
                f"got {len(self.encoding.permutation)}"
            )

    @staticmethod
    def _refuse_leak(previous: CubaLayer, layer: CubaLayer) -> None:
        # Lava's LIF cannot be silenced between samples: what it fires after the last step would
        # reach the first step of the next sample, which a second LIF cannot ignore.
        if previous.delay_shift:
            raise ModelError(
                f"{layer.name}: a CUBA block after a CUBA block with delay_shift=True leaks spikes "
                "from one sample into the next; build the first with delay_shift=False"
            )

    @property
    def all_layers(self) -> tuple[Layer, ...]:
        """The spiking layers and, if there is one, the readout."""
        return (*self.layers, self.readout) if self.readout else self.layers

    def encode(self, x: np.ndarray, permuted: bool = False) -> np.ndarray:
        """Graded spikes (batch, channel, time) of float samples; integers pass as they are.

        Permutes, scales, rounds and clips; nothing else in the project does. Integers are
        checked against the range instead of being clipped. With ``permuted``, the steps of ``x``
        are in the network's order already.
        """
        x = np.asarray(x)
        if x.ndim != 3 or x.shape[1] != self.encoding.channels or not 1 <= x.shape[2] <= self.steps:
            raise ModelError(
                f"input: expected (batch, {self.encoding.channels}, time) with 1..{self.steps} "
                f"time steps, got shape {x.shape}"
            )
        if len(x) == 0:
            raise ModelError(f"input: expected at least one sample, got shape {x.shape}")
        low, high = self.encoding.range
        if np.issubdtype(x.dtype, np.integer) or x.dtype == bool:
            if x.min() < low or x.max() > high:
                raise ModelError(
                    f"input: expected integers in {low}..{high}, got {x.min()}..{x.max()}; "
                    "pass floats to have them scaled and clipped"
                )
            return x.astype(np.int32)
        if not np.isfinite(x).all():
            raise ModelError("input: expected finite numbers, got NaN or infinity")
        if self.encoding.permutation is not None and not permuted:
            if x.shape[2] != self.steps:
                raise ModelError(
                    f"input: expected {self.steps} time steps, because the network permutes them, "
                    f"got {x.shape[2]}"
                )
            x = x[:, :, self.encoding.permutation]
        graded = np.clip(np.rint(x / self.encoding.scale), low, high)
        return np.ascontiguousarray(graded.astype(np.int32))
