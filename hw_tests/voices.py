"""The oracle as a back end: an exported network in plain Python integers, a neuron at a time."""

from __future__ import annotations

import numpy as np

from export import FixedNetwork, Trace
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
