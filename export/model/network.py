"""A whole network in integers, with its input encoding and its readout.

It is what a netx file holds, and what the twin and Lava run.

Every class checks itself on construction, so a value that exists is a value in range.
Weights are (neuron, input) or, of a convolution, (out channel, in channel, height, width); TE is
(row, step), a row being a neuron or an output channel.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from export import checks, loihi2
from export.checks import ModelError
from export.model.alif import AlifLayer
from export.model.celif import CelifLayer
from export.model.fields import ROWS, NetxField, neuron_fields
from export.model.layer import Layer, SpikingLayer, magnitude
from export.model.lif import LifLayer
from export.model.slayer import CubaLayer, SigmaDeltaLayer
from export.model.task_label import TaskLabel
from training.slayer.mantissa import EXPONENT_MAX, mantissa_max
from training.support.summary import Summarised, Summary

__all__ = [
    "KINDS",
    "AlifLayer",
    "CelifLayer",
    "CubaLayer",
    "Encoding",
    "FixedNetwork",
    "Layer",
    "LifLayer",
    "ModelError",
    "ReadoutLayer",
    "SigmaDeltaLayer",
    "SpikingLayer",
    "needed_gap",
]


@dataclass(frozen=True, eq=False)
class Encoding:
    """Samples are permuted in time, divided by ``scale``, rounded and clipped.

    ``bits`` is the magnitude's width; with ``signed``, values below zero are allowed.
    """

    channels: int
    scale: float
    bits: int
    signed: bool
    permutation: np.ndarray | None = None

    def __post_init__(self) -> None:
        checks.integer("input", "channels", self.channels, 1, 1 << 20)
        checks.integer("input", "bits", self.bits, 1, loihi2.MESSAGE_BITS_MAX)
        if not (np.isfinite(self.scale) and self.scale > 0):
            raise ModelError.about("input", "scale", "a positive number", self.scale)
        order = self.permutation
        if order is not None and not np.array_equal(np.sort(order), np.arange(order.size)):
            raise ModelError.about(
                "input", "permutation", "every step 0..T−1 exactly once", f"{order.size} others"
            )

    @property
    def range(self) -> tuple[int, int]:
        """Smallest and largest graded spike."""
        high = (1 << self.bits) - 1
        return (-high if self.signed else 0), high

    @property
    def message_bits(self) -> int:
        """Lava's ``num_message_bits``: 0 for plain spikes, where any nonzero value is a spike."""
        return 0 if self.range == (0, 1) else self.bits

    def _warn_of_clipped(self, scaled: np.ndarray) -> None:
        """Warn once, with their share, about values that the calibrated range cuts off."""
        low, high = self.range
        below, above = int((scaled < low).sum()), int((scaled > high).sum())
        if not below + above or self.__dict__.get("_warned"):
            return
        object.__setattr__(self, "_warned", True)
        ends = {f"below {low * self.scale:g}": below, f"above {high * self.scale:g}": above}
        parts = [f"{n:,} {end}" for end, n in ends.items() if n]
        unsigned = " (the calibration had no negative values)" if below and not self.signed else ""
        warnings.warn(
            f"input: {(below + above) / scaled.size:.2%} of the values lie outside the calibrated "
            f"range and are cut off: {', '.join(parts)}{unsigned}; export with calibration samples "
            "that are like these",
            stacklevel=4,
        )

    def encode(self, x: np.ndarray, steps: int) -> np.ndarray:
        """Graded spikes of ``x``; see :meth:`export.model.network.FixedNetwork.encode`."""
        x = np.asarray(x)
        if x.ndim != 3 or x.shape[1] != self.channels or not 1 <= x.shape[2] <= steps:
            raise ModelError(
                f"input: expected (batch, {self.channels}, time) with 1..{steps} "
                f"time steps, got shape {x.shape}; time is the last axis; shorten longer samples, "
                "or export a network with more steps"
            )
        if len(x) == 0:
            raise ModelError(f"input: expected at least one sample, got shape {x.shape}")
        if x.dtype.kind not in "biuf":
            raise ModelError(
                f"input: expected real numbers, got {x.dtype}; pass an array of numbers, of "
                "complex ones their real and imaginary parts as channels or their magnitudes"
            )
        low, high = self.range
        if np.issubdtype(x.dtype, np.integer) or x.dtype == bool:
            if x.min() < low or x.max() > high:
                raise ModelError(
                    f"input: expected integers in {low}..{high}, got {x.min()}..{x.max()}; "
                    "pass floats to have them scaled and clipped"
                )
            return x.astype(np.int32)
        if not np.isfinite(x).all():
            raise ModelError("input: expected finite numbers, got NaN or infinity")
        if self.permutation is not None:
            if x.shape[2] != steps:
                raise ModelError(
                    f"input: expected {steps} time steps, because the network permutes them, "
                    f"got {x.shape[2]}"
                )
            x = x[:, :, self.permutation]
        scaled = np.rint(x / self.scale)
        self._warn_of_clipped(scaled)
        graded = np.clip(scaled, low, high)
        return np.ascontiguousarray(graded.astype(np.int32))


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
        bits = self.weight_bits
        checks.integer(self.name, "weight_bits", bits, loihi2.WEIGHT_BITS_MIN, loihi2.WEIGHT_BITS)
        self._check_weights(-mantissa_max(bits), mantissa_max(bits))
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


KINDS: dict[str, type[Layer]] = {
    layer.kind: layer
    for layer in (CelifLayer, LifLayer, AlifLayer, CubaLayer, SigmaDeltaLayer, ReadoutLayer)
}
"""Every kind of layer by its name in a file."""


def needed_gap(layers: Iterable[Layer]) -> int:
    """Return the number of silent steps that keep the spikes of one sample out of the next."""
    return max(layer.gap for layer in layers)


@dataclass(frozen=True, eq=False, repr=False)
class FixedNetwork(Summarised):
    """A whole network in integers; see :func:`export.netx.read.read_netx`."""

    layers: tuple[SpikingLayer, ...]
    readout: ReadoutLayer | None
    steps: int
    gap: int
    encoding: Encoding
    digests: dict[str, str]
    path: str = ""
    task: TaskLabel | None = None
    """The task whose samples the network was trained for, where the file says so."""

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
            self._check_sums(layer, input_max)
            layer.check_place(unit, self.steps)
            inputs, lag, unit = layer.neurons, lag + 1 - layer.delay_shift, layer.output_exp
            input_max = max(map(abs, layer.output_range))
        checks.integer("network", "gap", self.gap, needed_gap(self.layers), loihi2.GAP_MAX)
        order = self.encoding.permutation
        if order is not None and len(order) != self.steps:
            raise ModelError.about("input", "permutation", f"{self.steps} steps", len(order))

    def summary(self) -> Summary:
        """Return the layers with their shapes and formats, and the input encoding."""
        rows = tuple(
            (
                layer.name,
                layer.kind,
                f"{layer.neurons}×{layer.inputs}",
                f"{getattr(layer, 'weight_bits', 8)} bits",
                str(getattr(layer, "fraction_bits", "")),
            )
            for layer in self.all_layers
        )
        code = self.encoding
        sign = "±" if code.signed else ""
        title = f"{self.path or 'FixedNetwork'}: {len(self.layers)} layers, {self.steps} steps"
        footer = f"input: {code.channels} × {sign}{code.bits} bits, unit {code.scale:.6g}"
        if self.task is not None:
            footer += f"; task {self.task}"
        return Summary(title, ("layer", "type", "shape", "weights", "F"), rows, footer)

    __repr__ = Summarised.__str__

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

        This is the only place that permutes, scales, rounds and clips samples. Integers are
        checked against the range instead of being clipped, and taken to be in the network's order.
        Images may have their axes, (batch, channel, row, column, time).
        """
        x, conv = np.asarray(x), self.layers[0].geometry
        if conv is not None and x.ndim == 5 and x.shape[1:4] == conv.input_shape:
            x = x.reshape(len(x), -1, x.shape[4])
        return self.encoding.encode(x, self.steps)
