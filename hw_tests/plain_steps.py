"""Run a network by the integer steps alone, on numpy arrays, without kernels and without float32.

The twin, the quantisation-aware forward pass and Lava's models wrap these steps.
"""

from __future__ import annotations

import numpy as np

from export import FixedNetwork, Trace
from export.model.layer import SpikingLayer


def run_plain(net: FixedNetwork, x: np.ndarray) -> Trace:
    """Run ``net``, a step at a time and all samples at once."""
    inputs = net.encode(x).transpose(0, 2, 1).astype(np.int64)
    runs: list[dict[str, np.ndarray]] = []
    for layer in net.layers:
        run = _run_layer(layer, inputs)
        runs.append({name: values.transpose(0, 2, 1) for name, values in run.items()})
        inputs = _late(run["s"], layer.output_delay)
    logits = inputs.sum(1)
    if net.readout is not None:
        logits = logits @ net.readout.weight.T + net.readout.bias * x.shape[2]
    spikes = [run["s"] for run in runs]
    v = [run.get("v", run.get("sigma")) for run in runs]
    return Trace(logits, spikes, v, [run.get("theta") for run in runs])


def _run_layer(layer: SpikingLayer, inputs: np.ndarray) -> dict[str, np.ndarray]:
    """Registers (batch, time, neuron) of a layer for inputs (batch, time, channel)."""
    # In float64 every integer below 2⁵³ is exact, and a synaptic sum stays below 2³¹.
    sums = (inputs.astype(np.float64) @ layer.matrix.T.astype(np.float64)).astype(np.int64)
    sums >>= layer.sum_right_shift
    state = layer.start(np.zeros((len(inputs), layer.neurons), np.int64))
    states = []
    for k in range(inputs.shape[1]):
        arrived = sums[:, k]
        if layer.weight_rec is not None:
            arrived = arrived + layer.align_recurrent(state.s @ layer.weight_rec.T)
        state = layer.advance(arrived, k, state)
        states.append(state)
    return {name: np.stack([getattr(s, name) for s in states], 1) for name in state._fields}


def _late(spikes: np.ndarray, late: np.ndarray) -> np.ndarray:
    """Spikes (batch, time, neuron) as they leave a layer, later by each neuron's own delay."""
    out = np.zeros_like(spikes)
    for neuron, steps in enumerate(late):
        out[:, steps:, neuron] = spikes[:, : max(spikes.shape[1] - steps, 0), neuron]
    return out
