"""The operations of a network, counted by the twin on samples.

- A **synaptic operation** is one event (an input that is not 0, a spike) at one synapse. Zero
  weights count, as the synapses are stored without gaps.
- A **neuron update** happens at every neuron and step.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch.nn.grad import conv2d_input

from export.fit import programs
from export.model import geometry
from export.model.layer import Layer
from export.model.network import FixedNetwork
from export.model.trace import Trace


@dataclass(frozen=True)
class Activity:
    """What a layer did, on average over samples and steps."""

    name: str
    neurons: int
    events: float
    """Inputs that are not 0, per step."""
    synops: float
    """Synaptic operations per step."""
    spikes: float
    """Spikes the layer itself fires per step."""
    instructions: int
    """Length of the listing of a neuron's update."""
    recurrent: bool = False
    """Whether the layer receives its own spikes."""

    @property
    def rate(self) -> float:
        """Spikes of a neuron and step."""
        return self.spikes / self.neurons


def instructions(layer: Layer) -> int:
    """Length of the listing of a neuron of ``layer``."""
    return len(programs.program_of(layer))


def fan_out(layer: Layer, effective: bool = False) -> np.ndarray:
    """Synapses (input,) that each input reaches; ``effective`` leaves out weights of 0."""
    there = layer.weight != 0 if effective else np.ones(layer.weight.shape)
    if layer.geometry is None:
        return there.sum(0).astype(np.int64)
    # Backwards through kernels of ones, each neuron sends a one to each of its inputs.
    g, ones = layer.geometry, torch.from_numpy(there.astype(np.float32))
    reached = conv2d_input(
        (1, *g.input_shape), ones, torch.ones((1, *layer.output_shape)), g.stride, g.padding,
        g.dilation, g.groups,
    )  # fmt: skip
    return reached.numpy().reshape(-1).astype(np.int64)


def count(net: FixedNetwork, x: np.ndarray, trace: Trace) -> tuple[Activity, ...]:
    """Activity of every layer in a run of the twin over samples ``x`` (batch, channel, time)."""
    if trace.spikes is None:
        raise ValueError("trace: expected spikes, got none; run with trace=True")
    graded = net.encode(x)
    batch, _, steps = graded.shape
    arriving = graded.transpose(0, 2, 1)
    found = []
    for i, layer in enumerate(net.all_layers):
        events = np.count_nonzero(arriving, axis=(0, 1)) / (batch * steps)
        synops = float(events @ fan_out(layer))
        spikes = trace.spikes[i].transpose(0, 2, 1) if i < len(net.layers) else None
        own = 0.0 if spikes is None else float(np.count_nonzero(spikes)) / (batch * steps)
        if layer.weight_rec is not None:
            synops += own * layer.neurons
        found.append(
            Activity(
                layer.name,
                layer.neurons,
                float(events.sum()),
                synops,
                own,
                instructions(layer),
                layer.weight_rec is not None,
            )
        )
        if spikes is not None:
            arriving = geometry.delayed(np.ascontiguousarray(spikes), layer.output_delay)
    return tuple(found)
