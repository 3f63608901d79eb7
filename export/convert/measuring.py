"""What an export costs: how far the network's outputs in integers are from those in float."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from export.convert.round import FloatLayer
from export.model import geometry
from export.model.input_coding import Encoding
from export.model.layer import SpikingLayer
from export.model.network import FixedNetwork
from export.twin.scans import run_layer
from export.twin.simulate import simulate
from export.twin.sums import arriving_sums
from training import functional

Readout = tuple[np.ndarray, np.ndarray]


def float_outputs(
    layers: Sequence[FloatLayer | SpikingLayer],
    readout: Readout | None,
    encoding: Encoding,
    graded: np.ndarray,
) -> np.ndarray:
    """Logits (batch, class) of a float network, or firing rates of its last layer.

    Layers that bring their integers, as SLAYER's do, run in them. ``graded`` are the samples as the
    integers get them, (batch, channel, time), so that the encoding is no part of the difference.
    """
    inputs = np.ascontiguousarray(graded.transpose(0, 2, 1))
    input_max, scale = max(map(abs, encoding.range)), encoding.scale
    for layer in layers:
        if isinstance(layer, FloatLayer):
            inputs, input_max = (
                geometry.delayed(_float_spikes(layer, inputs, scale), _late(layer)),
                1,
            )
        else:
            spikes = run_layer(layer, arriving_sums(layer, inputs, input_max), keep=False).spikes
            inputs, input_max = (
                geometry.delayed(spikes, layer.output_delay),
                max(map(abs, layer.output_range)),
            )
        scale = 1.0
    rates = inputs.mean(1, dtype=np.float64)
    return rates if readout is None else rates @ readout[0].T + readout[1]


def outputs(net: FixedNetwork, graded: np.ndarray) -> np.ndarray:
    """The same of a network in integers."""
    unit = 1.0 if net.readout is None else 2.0**-net.readout.weight_exp
    return simulate(net, graded).logits * unit / graded.shape[2]


@torch.no_grad()
def _float_spikes(values: FloatLayer, inputs: np.ndarray, scale: float) -> np.ndarray:
    """Spikes (batch, time, neuron) of a float layer for inputs in units of ``scale``."""
    weight = (values.weight * scale * values.input_unit).astype(np.float32)
    sums = torch.from_numpy(geometry.sums(weight, values.geometry, inputs, torch.float32))
    te, bias = (
        torch.from_numpy(np.repeat(rows, sums.shape[2] // len(rows), axis=0).astype(np.float32))
        for rows in (values.te[:, : sums.shape[1]], values.bias)
    )
    own = values.weight_rec
    spikes = functional.celif(
        sums.transpose(1, 2),
        te,
        values.alpha,
        values.beta,
        values.theta0,
        bias=bias,
        weight_rec=None if own is None else torch.from_numpy(own.astype(np.float32)),
    )
    return spikes.transpose(1, 2).numpy()


def _late(values: FloatLayer) -> np.ndarray:
    """By how many steps the output of each neuron moves."""
    rows = np.zeros(len(values.weight), np.int64) if values.delay is None else values.delay
    positions = 1
    if values.geometry is not None:
        positions = values.geometry.output_shape(values.weight).size // len(rows)
    return np.repeat(rows + int(values.delay_shift), positions)
