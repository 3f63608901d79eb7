"""Two slow voices beside the fast back ends: the oracle, and the integer step on plain arrays.

Neither is what anyone would run: the oracle shares no code with what it judges, and the plain
step has no kernel, no batching of samples over time and no float products around it.
"""

from __future__ import annotations

import numpy as np

from export import FixedNetwork, Trace, cuba, fixed_point
from export.loihi2 import CURRENT_SHIFT
from export.model import CelifLayer, CubaLayer, Layer
from export.te import Cosine
from hw_tests import oracle

_CELIF_REGISTERS = ("alpha_mant", "beta_mant", "theta0_int", "bias_exp")


def run_oracle(net: FixedNetwork, x: np.ndarray) -> Trace:
    """Run ``net`` in plain Python integers, a neuron at a time."""
    graded = net.encode(x)
    logits: list[list[int]] = []
    runs: list[list[oracle.Traces]] = [[] for _ in net.layers]
    for sample in graded:
        inputs: oracle.Matrix = sample.tolist()
        for layer, done in zip(net.layers, runs, strict=True):
            done.append(_oracle_layer(layer, inputs))
            inputs = done[-1]["s"]
            if layer.delay_shift:
                inputs = [[0, *spikes[:-1]] for spikes in inputs]
        if net.readout is None:
            logits.append([sum(spikes) for spikes in inputs])
        else:
            weight, bias = net.readout.weight.tolist(), net.readout.bias.tolist()
            logits.append(oracle.readout(weight, inputs, bias))

    def stacked(name: str) -> list[np.ndarray | None]:
        return [np.array([run[name] for run in done]) if name in done[0] else None for done in runs]

    spikes = [layer for layer in stacked("s") if layer is not None]
    return Trace(np.array(logits), spikes, stacked("v"), stacked("theta"))


def _oracle_layer(layer: Layer, inputs: oracle.Matrix) -> oracle.Traces:
    if isinstance(layer, CelifLayer):
        return oracle.celif_layer(
            layer.weight.tolist(),
            inputs,
            _oracle_te(layer),
            te_exp=layer.te_shift.tolist(),
            shift=layer.shift.tolist(),
            bias_mant=layer.bias_mant.tolist(),
            **{name: getattr(layer, name) for name in _CELIF_REGISTERS},
        )
    if isinstance(layer, CubaLayer):
        return oracle.cuba_layer(
            layer.weight.tolist(),
            inputs,
            du=layer.du,
            dv=layer.dv,
            vth=layer.vth,
            bias_mant=layer.bias_mant.tolist(),
            bias_exp=CURRENT_SHIFT,
        )
    raise TypeError(f"{layer.name}: the oracle knows CELIF and CUBA, got {layer.kind}")


def _oracle_te(layer: CelifLayer) -> oracle.Matrix:
    """TE mantissas, made anew from what the layer keeps of them."""
    form, stored, steps = layer.te_form, layer.te_form.stored(layer.te).tolist(), layer.te.shape[1]
    if isinstance(form, Cosine):
        return oracle.cosine_te(stored, form.wave.tolist(), steps)
    decode = oracle.packed_te if form.packed else oracle.held_te
    return decode(stored, form.hold, steps)


def run_plain(net: FixedNetwork, x: np.ndarray) -> Trace:
    """Run ``net`` by its integer steps as they stand, on numpy arrays (batch, neuron)."""
    inputs = net.encode(x).transpose(0, 2, 1).astype(np.int64)
    runs: list[dict[str, np.ndarray]] = []
    for layer in net.layers:
        run = _plain_layer(layer, inputs)
        runs.append({name: values.transpose(0, 2, 1) for name, values in run.items()})
        inputs = run["s"]
        if layer.delay_shift:
            inputs = np.concatenate([np.zeros_like(inputs[:, :1]), inputs[:, :-1]], 1)
    logits = inputs.sum(1)
    if net.readout is not None:
        logits = logits @ net.readout.weight.T + net.readout.bias * x.shape[2]
    spikes = [run["s"] for run in runs]
    return Trace(logits, spikes, [run["v"] for run in runs], [run.get("theta") for run in runs])


def _plain_layer(layer: Layer, inputs: np.ndarray) -> dict[str, np.ndarray]:
    """Registers (batch, time, neuron) of a layer for inputs (batch, time, channel)."""
    rest = np.zeros((len(inputs), layer.neurons), np.int64)
    state: fixed_point.State | cuba.CubaState
    states = []
    # In float64 every integer below 2⁵³ is exact, and a synaptic sum stays below 2³¹.
    sums = (inputs.astype(np.float64) @ layer.weight.T.astype(np.float64)).astype(np.int64)
    if isinstance(layer, CelifLayer):
        state = fixed_point.State(rest + layer.theta0_int, rest, rest)
        te = layer.te.astype(np.int64)
        for t in range(inputs.shape[1]):
            state = fixed_point.step(sums[:, t], te[:, t], state, layer.params)
            states.append(state)
    elif isinstance(layer, CubaLayer):
        bias = layer.bias_mant.astype(np.int64) << CURRENT_SHIFT
        p = cuba.CubaParams(layer.du, layer.dv, layer.vth, bias)
        state = cuba.CubaState(rest, rest, rest)
        for t in range(inputs.shape[1]):
            state = cuba.step(sums[:, t], state, p)
            states.append(state)
    else:
        raise TypeError(f"{layer.name}: expected CELIF or CUBA, got {layer.kind}")
    return {
        name: np.stack([getattr(state, name) for state in states], 1) for name in states[0]._fields
    }
