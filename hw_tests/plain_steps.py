"""The integer steps as they stand, called on numpy arrays: no kernel, no float32, no tricks.

What the twin, the quantisation-aware forward pass and Lava's models wrap, without the wrapping.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from export import FixedNetwork, Trace
from export.model.layer import Layer
from export.model.network import CelifLayer, CubaLayer, SigmaDeltaLayer
from export.steps import celif, cuba, sigma_delta

Advance = Callable[[np.ndarray, int, Any], Any]
"""The state after step k, of the synaptic sums (batch, neuron), k and the state before."""


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


def _run_layer(layer: Layer, inputs: np.ndarray) -> dict[str, np.ndarray]:
    """Registers (batch, time, neuron) of a layer for inputs (batch, time, channel)."""
    # In float64 every integer below 2⁵³ is exact, and a synaptic sum stays below 2³¹.
    sums = (inputs.astype(np.float64) @ layer.matrix.T.astype(np.float64)).astype(np.int64)
    sums >>= layer.sum_right_shift
    state, advance = _start(layer, np.zeros((len(inputs), layer.neurons), np.int64))
    states = []
    for k in range(inputs.shape[1]):
        arrived = sums[:, k]
        if layer.weight_rec is not None:
            arrived = arrived + layer.align_recurrent(state.s @ layer.weight_rec.T)
        state = advance(arrived, k, state)
        states.append(state)
    return {name: np.stack([getattr(s, name) for s in states], 1) for name in state._fields}


def _start(layer: Layer, rest: np.ndarray) -> tuple[Any, Advance]:
    """State of a layer before its first step, and how it goes on."""
    if isinstance(layer, CelifLayer):
        p, te = layer.params, layer.per_neuron(layer.te).astype(np.int64)
        state = celif.State(rest + layer.theta0_int, rest, rest)
        return state, lambda acc, k, now: celif.step(acc, te[:, k], now, p)
    if isinstance(layer, CubaLayer):
        decays = layer.params
        return cuba.CubaState(rest, rest, rest), lambda acc, k, now: cuba.step(acc, now, decays)
    if isinstance(layer, SigmaDeltaLayer):
        own = layer.params
        quiet = sigma_delta.SigmaDeltaState(rest, rest, rest, rest)
        return quiet, lambda acc, k, now: sigma_delta.step(acc, now, own)
    raise TypeError(f"{layer.name}: expected CELIF, CUBA or SDNN neurons, got {layer.kind}")


def _late(spikes: np.ndarray, late: np.ndarray) -> np.ndarray:
    """What leaves a layer: each neuron's spikes (batch, time, neuron) its own steps later."""
    out = np.zeros_like(spikes)
    for neuron, steps in enumerate(late):
        out[:, steps:, neuron] = spikes[:, : max(spikes.shape[1] - steps, 0), neuron]
    return out
