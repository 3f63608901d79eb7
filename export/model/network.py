"""A whole network in integers: what a netx file holds, and what the twin and Lava run.

Every class checks itself on construction, so a value that exists is a value in range.
Weights are (neuron, input) or, of a convolution, (out channel, in channel, height, width); TE is
(row, step), a row being a neuron or an output channel.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from export import checks, loihi2
from export.checks import ModelError
from export.model.alif import AlifLayer
from export.model.celif import CelifLayer
from export.model.input_coding import Encoding, TaskLabel
from export.model.layer import Layer, SpikingLayer
from export.model.lif import LifLayer
from export.model.readout import ReadoutLayer
from export.model.slayer import CubaLayer, SigmaDeltaLayer
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

KINDS: dict[str, type[Layer]] = {
    layer.kind: layer
    for layer in (CelifLayer, LifLayer, AlifLayer, CubaLayer, SigmaDeltaLayer, ReadoutLayer)
}
"""Every kind of layer by its name in a file."""


def needed_gap(layers: Iterable[Layer]) -> int:
    """Silent steps between samples that keep the spikes of one out of the next."""
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

        Permutes, scales, rounds and clips; nothing else in the project does. Integers are
        checked against the range instead of being clipped, and taken to be in the network's order.
        Images may have their axes, (batch, channel, row, column, time).
        """
        x, conv = np.asarray(x), self.layers[0].geometry
        if conv is not None and x.ndim == 5 and x.shape[1:4] == conv.input_shape:
            x = x.reshape(len(x), -1, x.shape[4])
        return self.encoding.encode(x, self.steps)
