"""The oracle as a back end: an exported network in plain Python integers, a neuron at a time."""

from __future__ import annotations

import importlib

import numpy as np

from export import FixedNetwork, Trace
from export.model.layer import Layer
from hw_tests.oracle import synapses
from hw_tests.oracle.arithmetic import Matrix, Traces
from hw_tests.oracle.readout import readout


def run_oracle(net: FixedNetwork, x: np.ndarray) -> Trace:
    """Run ``net`` in plain Python integers, a neuron at a time."""
    graded = net.encode(x)
    logits: list[list[int]] = []
    runs: list[list[Traces]] = [[] for _ in net.layers]
    for sample in graded:
        inputs: Matrix = sample.tolist()
        for layer, done in zip(net.layers, runs, strict=True):
            done.append(_oracle_layer(layer, inputs))
            inputs = synapses.late(done[-1]["s"], _oracle_lateness(layer))
        if net.readout is None:
            logits.append([sum(spikes) for spikes in inputs])
        else:
            weight, bias = net.readout.weight.tolist(), net.readout.bias.tolist()
            logits.append(readout(weight, inputs, bias))

    def stacked(name: str) -> list[np.ndarray | None]:
        return [np.array([run[name] for run in done]) if name in done[0] else None for done in runs]

    spikes = [layer for layer in stacked("s") if layer is not None]
    return Trace(np.array(logits), spikes, stacked("v"), stacked("theta"))


def _oracle_layer(layer: Layer, inputs: Matrix) -> Traces:
    neuron = importlib.import_module(f"hw_tests.oracle.{layer.kind.lower()}")
    weight = _oracle_weight(layer)
    pixels = len(weight) // layer.rows
    arguments = {
        # What every output channel has, for each of its pixels.
        name: [each for each in value for _ in range(pixels)] if isinstance(value, list) else value
        for name, value in neuron.arguments(layer).items()
    }
    return neuron.run(
        weight,
        inputs,
        weight_rec=None if layer.weight_rec is None else layer.weight_rec.tolist(),
        sum_down=layer.sum_right_shift,
        own_up=layer.input_exp,
        **arguments,
    )


def _oracle_weight(layer: Layer) -> Matrix:
    """Weights [neuron][input]; those of a convolution are computed from its kernels."""
    g = layer.geometry
    if g is None:
        return layer.weight.tolist()
    kernels = layer.weight.tolist()
    return synapses.convolution(
        kernels, list(g.input_shape), g.stride, g.padding, g.dilation, g.groups
    )


def _oracle_lateness(layer: Layer) -> list[int]:
    """Steps by which each neuron's spikes leave later than they are fired."""
    delays = [0] * layer.rows if layer.delay is None else layer.delay.tolist()
    pixels = layer.neurons // layer.rows
    return [int(layer.delay_shift) + delay for delay in delays for _ in range(pixels)]
