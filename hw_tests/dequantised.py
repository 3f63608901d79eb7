"""Run a file's network in float32 by PyTorch, with the values that its integers stand for.

SLAYER's neurons compute in integers in SLAYER itself, so they stay integers here: the layers
around them receive the same spikes as in the file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch

from export import FixedNetwork, Trace
from export.model.celif import CelifLayer
from export.model.geometry import delayed
from export.model.layer import SpikingLayer
from export.model.lif import LeakyLayer
from export.twin.scans import synaptic_sums
from export.twin.simulate import Arriving, encoded, run_integers, walk
from training.dynamics import Params
from training.functional import WIDTH
from training.kernels import reference

Drive = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


@dataclass(frozen=True)
class DequantisedLayer:
    """Float32 values that a layer's integers stand for, for each of its neurons."""

    kind: str
    """Name of the neuron in training."""
    constants: dict[str, Any]
    """Numbers, or a tensor of a decay that neurons have for themselves."""
    te: torch.Tensor
    """Zeros for neurons without a temporal encoding."""
    bias: torch.Tensor
    unit: torch.Tensor
    """What one unit of each neuron's synaptic sum is worth."""
    own: torch.Tensor | None
    """Weights (from, to) of a recurrent layer, in units of the synaptic sum."""

    @classmethod
    def of(cls, layer: LeakyLayer, steps: int) -> DequantisedLayer:
        """Dequantise; every scale is a power of two, so nothing is rounded."""
        one = 2.0**-layer.fraction_bits
        te = np.zeros((layer.rows, steps))
        if isinstance(layer, CelifLayer):
            te = layer.te[:, :steps] * 2.0 ** -layer.te_shift[:, None]
        # The sum as it is, before the synapse shifts it right.
        unit = 2.0 ** (layer.shift - layer.sum_right_shift - layer.fraction_bits)
        own = layer.weight_rec

        def tensor(values: np.ndarray) -> torch.Tensor:
            return torch.from_numpy(layer.per_neuron(values).astype(np.float32))

        return cls(
            kind=layer.kind.lower(),
            constants={
                name: tensor(value) if isinstance(value, np.ndarray) else value
                for name, value in layer.floats.items()
            },
            te=tensor(te),
            bias=tensor(layer.bias * one),
            unit=tensor(unit),
            own=None if own is None else torch.from_numpy(own.T * 2.0**layer.input_exp),
        )

    @property
    def params(self) -> Params:
        """The constants of the float recurrence; a threshold that does not move needs no β."""
        return Params(
            self.constants["alpha"], self.constants.get("beta", 0.0), self.constants["theta0"]
        )

    def scan(self, current: torch.Tensor, drive: Drive | None = None) -> reference.States:
        """Run the reference loop; ``drive`` as in :func:`training.kernels.reference.scan`."""
        gamma = self.constants.get("gamma", 0.0)
        return reference.scan(current, self.te, self.params, WIDTH, drive, gamma)

    def current(self, sums: torch.Tensor) -> torch.Tensor:
        """Input current of exact synaptic sums, the last axis of which counts neurons."""
        # The bias comes last and alone, so that there is one rounding, the same in Lava.
        return sums.float() * self.unit + self.bias


class LayerRun(NamedTuple):
    """What one layer received, and every state, (batch, neuron, time); integers for SLAYER's."""

    values: DequantisedLayer | None
    current: torch.Tensor | None
    spikes: np.ndarray
    v: np.ndarray
    theta: np.ndarray | None


@torch.no_grad()
def _float_layer(layer: LeakyLayer, sums: torch.Tensor) -> LayerRun:
    """Run a layer by the reference loop on exact sums (batch, time, neuron)."""
    values = DequantisedLayer.of(layer, sums.shape[1])
    own = values.own
    if own is None:
        current = values.current(sums).transpose(1, 2)
        states = values.scan(current)
    else:

        def drive(arriving: torch.Tensor, spikes: torch.Tensor) -> torch.Tensor:
            return values.current(arriving + spikes.double() @ own)

        states = values.scan(sums.transpose(1, 2), drive)
        earlier = torch.nn.functional.pad(states.s[..., :-1], (1, 0)).transpose(1, 2)
        current = values.current(sums + earlier.double() @ own).transpose(1, 2)
    s, v, theta = (tensor.numpy() for tensor in states)
    seen = theta if "theta" in layer.registers.values() else None
    return LayerRun(values, current, s, v, seen)


def _run(layer: SpikingLayer, arriving: Arriving) -> LayerRun:
    if isinstance(layer, LeakyLayer):
        sums = synaptic_sums(layer, arriving.inputs, arriving.input_max)
        return _float_layer(layer, torch.from_numpy(sums).double())
    whole = run_integers(layer, arriving, keep=True)
    spikes, v = (array.transpose(0, 2, 1) for array in (whole.spikes, whole.v))
    return LayerRun(None, None, spikes, v, None)


def _send(layer: SpikingLayer, run: LayerRun) -> Arriving:
    late = delayed(run.spikes.transpose(0, 2, 1), layer.output_delay)
    return Arriving(late, layer.output_range)


def float_layers(net: FixedNetwork, graded: np.ndarray) -> Iterator[LayerRun]:
    """Run the layers one after another, our neurons by the reference loop."""
    for passed in walk(net.layers, encoded(net.encoding, graded), _run, _send):
        yield passed.result


def run_torch(net: FixedNetwork, x: np.ndarray) -> Trace:
    """Run the dequantised network by PyTorch's reference loop, in float32."""
    graded = net.encode(x)
    return float_trace(net, list(float_layers(net, graded)), graded.shape[2])


def float_trace(net: FixedNetwork, runs: list[LayerRun], steps: int) -> Trace:
    """Collect the runs of all layers over ``steps`` into a trace, with logits."""
    left = delayed(runs[-1].spikes.transpose(0, 2, 1), net.layers[-1].output_delay)
    logits = left.sum(1, dtype=np.float64)
    if net.readout is not None:
        logits = logits @ net.readout.weight.T + net.readout.bias * steps
    return Trace(
        logits,
        spikes=[run.spikes.astype(np.int32) for run in runs],
        v=[run.v for run in runs],
        theta=[run.theta for run in runs],
    )
