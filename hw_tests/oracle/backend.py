"""The oracle as a back end: an exported network in plain Python integers, a neuron at a time."""

from __future__ import annotations

import numpy as np

from export import FixedNetwork, Trace
from export.loihi2 import CURRENT_SHIFT
from export.model.network import CelifLayer, CubaLayer, Layer, SigmaDeltaLayer
from export.model.te import CosineTable
from hw_tests.oracle import oracle, synapses

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
            inputs = synapses.late(done[-1]["s"], _oracle_lateness(layer))
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
    weight = _oracle_weight(layer)
    own = None if layer.weight_rec is None else layer.weight_rec.tolist()
    pixels = len(weight) // layer.rows

    def each(values: np.ndarray | oracle.Matrix) -> list:
        """What every output channel has, for each of its pixels."""
        return [value for value in list(values) for _ in range(pixels)]

    if isinstance(layer, CelifLayer):
        return oracle.celif_layer(
            weight,
            inputs,
            each(_oracle_te(layer)),
            te_exp=each(layer.te_shift.tolist()),
            shift=each(layer.shift.tolist()),
            bias_mant=each(layer.bias_mant.tolist()),
            weight_rec=own,
            sum_down=layer.sum_right_shift,
            own_up=layer.input_exp,
            **{name: getattr(layer, name) for name in _CELIF_REGISTERS},
        )
    if isinstance(layer, CubaLayer):
        return oracle.cuba_layer(
            weight,
            inputs,
            du=layer.du,
            dv=layer.dv,
            vth=layer.vth,
            bias_mant=each(layer.bias_mant.tolist()),
            bias_exp=CURRENT_SHIFT,
            weight_rec=own,
            sum_down=layer.sum_right_shift,
            own_up=layer.input_exp,
        )
    if isinstance(layer, SigmaDeltaLayer):
        return oracle.sigma_delta_layer(
            weight,
            inputs,
            shift=12 - layer.input_exp,
            vth=layer.vth,
            bias_mant=each(layer.bias_mant.tolist()),
        )
    raise TypeError(f"{layer.name}: the oracle knows CELIF, CUBA and SDNN, got {layer.kind}")


def _oracle_weight(layer: Layer) -> oracle.Matrix:
    """Weights [neuron][input], of a convolution made anew from its kernels."""
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


def _oracle_te(layer: CelifLayer) -> oracle.Matrix:
    """TE mantissas, made anew from what the layer keeps of them."""
    form, stored, steps = layer.te_form, layer.te_form.stored(layer.te).tolist(), layer.te.shape[1]
    if isinstance(form, CosineTable):
        return oracle.cosine_te(stored, form.wave.tolist(), steps)
    decode = oracle.packed_te if form.packed else oracle.held_te
    return decode(stored, form.hold, steps)
