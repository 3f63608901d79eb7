"""Energy and time of a placed network, estimated from counted operations.

What is assumed:

- A **synaptic operation** is one event (an input that is not 0, a spike) at one synapse. Zero
  weights count, as the synapses are stored without gaps. Events are counted by the twin.
- A **neuron update** happens at every neuron and step. Its price is that of a LIF neuron on
  Loihi 1, times the length of the neuron's listing over that of a CUBA neuron
  (:mod:`export.fit.programs`).
- A **time step** takes as long as the busiest core, its operations one after the other at the mean
  rate of its layer, and one synchronisation. Messages between cores and chips cost nothing here,
  nor do input, output and static power. The figures are the chip description's.
- Beside it stands the **arithmetic alone**, as the CE-LIF paper counts it for 45 nm: an addition
  at each event's synapses and one for each spike, three multiplications at each neuron and step.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch
from torch.nn.grad import conv2d_input

from export.fit import programs
from export.fit.demand import Demand
from export.fit.placement import Placement
from export.model import geometry
from export.model.layer import Layer
from export.model.network import FixedNetwork
from export.model.trace import Trace

ADD_PJ, MULTIPLY_PJ = 0.9, 4.6
"""Of 32 bits in 45 nm; Horowitz, ISSCC 2014, as the CE-LIF paper takes them."""


@dataclass(frozen=True)
class Activity:
    """What a layer did, on average over samples and steps."""

    name: str
    neurons: int
    events: float
    """Inputs that were not 0, a step."""
    synops: float
    """Synaptic operations a step."""
    spikes: float
    """Of its own, a step."""
    instructions: int
    """Of a neuron's update."""

    @property
    def rate(self) -> float:
        """Spikes of a neuron and step."""
        return self.spikes / self.neurons


@dataclass(frozen=True)
class Estimate:
    """Energy and time of a network; a step's values are means."""

    layers: tuple[Activity, ...]
    steps: int
    """Of a sample, with the gap after it."""
    synop_nj: float
    update_nj: float
    step_us: float
    arithmetic_nj: float

    @property
    def step_nj(self) -> float:
        """Energy of a step."""
        return self.synop_nj + self.update_nj

    @property
    def sample_uj(self) -> float:
        """Energy of a sample, in microjoules."""
        return self.step_nj * self.steps / 1e3

    @property
    def sample_ms(self) -> float:
        """Time between two samples, in milliseconds."""
        return self.step_us * self.steps / 1e3

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        derived = {name: getattr(self, name) for name in ("step_nj", "sample_uj", "sample_ms")}
        return {**asdict(self), **derived}


def instructions(layer: Layer) -> int:
    """Length of the listing of a neuron of ``layer``."""
    return len(programs.program_of(layer))


def fan_out(layer: Layer) -> np.ndarray:
    """Synapses (input,) that each input reaches."""
    if layer.geometry is None:
        return np.full(layer.inputs, layer.neurons, np.int64)
    # An input reaches each neuron with whose kernel it meets, whatever that kernel holds.
    # Backwards through kernels of ones, each neuron sends a one to each of its inputs.
    g, ones = layer.geometry, torch.ones(layer.weight.shape)
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
                layer.name, layer.neurons, float(events.sum()), synops, own, instructions(layer)
            )
        )
        if spikes is not None:
            arriving = geometry.delayed(np.ascontiguousarray(spikes), layer.output_delay)
    return tuple(found)


def estimate(
    net: FixedNetwork, placement: Placement, activity: tuple[Activity, ...], steps: int
) -> Estimate:
    """Energy and time of a network that is placed and did ``activity`` in samples of ``steps``."""
    chip = placement.chip
    reference = len(programs.cuba_step())
    updates = [layer.neurons * layer.instructions / reference for layer in activity]

    def busy_ns(i: int, neurons: int, layer: Demand) -> float:
        share = neurons / layer.neurons
        work = activity[i].synops * chip.rate("synop_ns") + updates[i] * chip.rate("update_ns")
        return share * work

    busiest = max(
        busy_ns(core.layer, core.neurons, placement.layers[core.layer]) for core in placement.cores
    )
    arithmetic = sum(
        (layer.synops + layer.spikes) * ADD_PJ + layer.neurons * kind.multiplications * MULTIPLY_PJ
        for layer, kind in zip(activity, net.all_layers, strict=True)
    )
    return Estimate(
        layers=activity,
        steps=steps + net.gap,
        synop_nj=sum(layer.synops for layer in activity) * chip.rate("synop_pj") / 1e3,
        update_nj=sum(updates) * chip.rate("update_pj") / 1e3,
        step_us=(busiest + chip.rate("barrier_ns")) / 1e3,
        arithmetic_nj=arithmetic / 1e3,
    )
