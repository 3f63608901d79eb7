"""Trained networks as lists of layers: ours in float, SLAYER's in the integers they export.

:func:`read_network` reads a :class:`training.Network`, :mod:`export.convert.reading` all else.
:func:`float_outputs` runs the layers, for their integers to be compared with.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import nn

from export.checks import ModelError
from export.loihi2 import MESSAGE_BITS_MAX
from export.model.celif import CelifLayer
from export.model.geometry import Geometry, delayed
from export.model.geometry import sums as synaptic_sums
from export.model.layer import SpikingLayer
from export.model.lif import LeakyLayer
from export.model.network import KINDS, Encoding
from export.twin.simulate import Arriving, encoded, run_integers, send, walk
from training import neurons
from training.decays import Value
from training.network.network import Network
from training.network.temporal_encoding import Cosine
from training.neurons.kind import Drive, NeuronParams

EXPORTED = ("mean", "spikes")
"""Readouts of a network that a file can express: sums over all steps, weighted or not."""


@dataclass(frozen=True, kw_only=True)
class FloatLayer:
    """Float values of a layer; weights as :class:`export.model.layer.Layer` has them."""

    name: str
    weight: np.ndarray
    bias: np.ndarray
    kind: type[LeakyLayer] = CelifLayer
    """The class of integer layer that it becomes."""
    te: np.ndarray
    """(row, step); zeros for neurons without a temporal encoding."""
    turns: np.ndarray | None = None
    """For a generated cosine, the turns per step of each row, from which ``te`` was computed."""
    table: int = 0
    """Number of the network's encoding that ``te`` is; layers that share it share its exponents."""
    alpha: float | np.ndarray
    """One decay for all rows, or one for each; so is ``beta``."""
    beta: float | np.ndarray
    theta0: float
    gamma: float = 0.0
    lag: int
    delay_shift: bool
    weight_bits: int | None = None
    """Bits of a block's weights, which it rounds itself; None for as many as are asked for."""
    geometry: Geometry | None = None
    weight_rec: np.ndarray | None = None
    delay: np.ndarray | None = None
    relays: int = 0
    """Number of neurons, the last ones, that only pass spikes on, see :mod:`export.graph.lower`."""
    input_scale: float = 1.0
    """The value of one unit of an input: 1 for spikes, less for graded ones."""

    @property
    def input_exp(self) -> int:
        """The number of bits by which inputs are finer than the layer's own spikes.

        It is 0 for a layer that is not recurrent, where the exponent of the weights takes care of
        fine inputs.
        """
        if self.weight_rec is None:
            return 0
        finer = -round(math.log2(self.input_scale))
        return min(max(finer, 0), MESSAGE_BITS_MAX)

    def folded_weight(self, input_exp: int) -> np.ndarray:
        """Return the weights to be rounded, for integer inputs with ``input_exp`` more bits."""
        return self.weight * (self.input_scale * 2.0**input_exp)

    @property
    def weight_rows(self) -> np.ndarray:
        """All weights that share an exponent, (row, …)."""
        rows = self.folded_weight(self.input_exp).reshape(len(self.weight), -1)
        return rows if self.weight_rec is None else np.hstack([rows, self.weight_rec])

    @property
    def output_delay(self) -> np.ndarray:
        """The number of steps by which the output of each neuron moves."""
        rows = np.zeros(len(self.weight), np.int64) if self.delay is None else self.delay
        positions = 1
        if self.geometry is not None:
            positions = self.geometry.output_shape(self.weight).size // len(rows)
        return np.repeat(rows + int(self.delay_shift), positions)


@dataclass(frozen=True)
class FloatNetwork:
    """A network as a list of layers to convert, and the tensors that it was made of."""

    layers: Sequence[FloatLayer | SpikingLayer]
    readout: tuple[np.ndarray, np.ndarray] | None
    """Weight and bias of the classifier of mean firing rates."""
    steps: int
    tensors: dict[str, torch.Tensor]
    permutation: np.ndarray | None = None
    relays_input: bool = False
    """Whether relays pass the input on, for which it has to be spikes."""

    @property
    def inputs(self) -> int:
        """Number of inputs: channels, or all pixels of an image."""
        first = self.layers[0]
        return first.weight.shape[1] if first.geometry is None else first.geometry.input_shape.size

    def with_input_scale(self, scale: float) -> FloatNetwork:
        """Return the same network for inputs whose unit is worth ``scale``."""
        first, *others = self.layers
        if isinstance(first, FloatLayer):
            first = replace(first, input_scale=scale)
        return replace(self, layers=[first, *others])


def require_finite(owner: str, name: str, values: np.ndarray, remedy: str) -> None:
    """Raise ModelError that names the place of the first NaN or infinity, if there is one."""
    bad = np.argwhere(~np.isfinite(values))
    if len(bad):
        found = f"{values[tuple(bad[0])]} at {tuple(bad[0].tolist())} and {len(bad) - 1} more"
        raise ModelError.about(owner, name, "finite numbers", found, remedy)


def finite_tensors(net: nn.Module, prefix: str = "") -> dict[str, torch.Tensor]:
    """Return every parameter by its name; raise ModelError unless all are finite."""
    tensors = {f"{prefix}{name}": p.detach().cpu() for name, p in net.named_parameters()}
    for name, tensor in tensors.items():
        require_finite("network", name, tensor.numpy(), "the training diverged")
    return tensors


def layer_kind(neuron: str) -> type[LeakyLayer]:
    """Return the class of layer for the neurons that training calls ``neuron``."""
    kind = KINDS.get(neuron.upper())
    if kind is None or not issubclass(kind, LeakyLayer):
        known = (name.lower() for name, each in KINDS.items() if issubclass(each, LeakyLayer))
        raise ModelError(
            f"network neuron: expected one of {', '.join(known)}, which a file can express, got "
            f"{neuron!r}"
        )
    return kind


def read_network(net: Network) -> FloatNetwork:
    """Read the layers of a :class:`training.Network`."""
    if net.config.readout not in EXPORTED:
        raise ModelError(
            f"network readout: expected {' or '.join(EXPORTED)}, which a file can express, got "
            f"{net.config.readout!r}; a chip sums over all steps of a sample: train with "
            "readout='mean', or run its layers without the readout"
        )
    if net.config.context != "v*te":
        raise ModelError(
            f"network context: expected v*te, the one that a file can express, got "
            f"{net.config.context!r}"
        )
    kind = layer_kind(net.config.neuron)
    tensors = finite_tensors(net)
    te, turns = encoding_values(net.te_table if net.te is None else net.te)
    layers: list[FloatLayer] = []
    for i, synapses in enumerate(net.spiking_layers):
        own = net.recurrent_layer(i)
        rows = synapses.out_features
        bias = synapses.bias if own is None else synapses.bias + own.bias
        params = net.neuron_params(i)
        layers.append(
            FloatLayer(
                name=f"layer {i}",
                weight=float64(synapses.weight),
                weight_rec=None if own is None else float64(own.weight),
                bias=float64(bias),
                kind=kind,
                te=te[:rows],
                turns=None if turns is None else turns[:rows],
                alpha=decay_values(params.alpha),
                beta=decay_values(params.beta),
                theta0=params.theta0,
                gamma=params.gamma,
                lag=i + 1,
                delay_shift=False,
            )
        )
    order = net.config.permutation
    readout = None
    if net.config.readout == "mean":
        readout = float64(net.readout.weight), float64(net.readout.bias)
    permutation = None if order is None else np.array(order)
    return FloatNetwork(layers, readout, net.steps, tensors, permutation)


def float64(tensor: torch.Tensor) -> np.ndarray:
    """Return the values of a tensor as a numpy array of float64."""
    return tensor.detach().cpu().double().numpy()


def decay_values(decay: Value) -> float | np.ndarray:
    """Return a decay as one number, or those of the neurons as an array (row,) of float64."""
    return float64(decay) if isinstance(decay, torch.Tensor) else float(decay)


@torch.no_grad()
def encoding_values(te: torch.Tensor | Cosine) -> tuple[np.ndarray, np.ndarray | None]:
    """Return a temporal encoding's table and, for a cosine, the turns per step, in float64."""
    if isinstance(te, Cosine):
        return float64(te()), te.turns().cpu().numpy()
    return float64(te), None


def float_outputs(net: FloatNetwork, encoding: Encoding, graded: np.ndarray) -> np.ndarray:
    """Return the logits (batch, class) of a float network, or the firing rates of its last layer.

    SLAYER's layers, which bring their own integers, run in integers. ``graded`` are the samples
    as the integers get them, (batch, channel, time), so that the encoding does not count as a
    difference.
    """
    *_, last = walk(net.layers, encoded(encoding, graded), _run, _send)
    rates = last.sent.inputs.mean(1, dtype=np.float64)
    return rates if net.readout is None else rates @ net.readout[0].T + net.readout[1]


def _run(layer: FloatLayer | SpikingLayer, arriving: Arriving) -> Any:
    if isinstance(layer, FloatLayer):
        return float_spikes(layer, arriving.inputs)
    return run_integers(layer, arriving)


def _send(layer: FloatLayer | SpikingLayer, result: Any) -> Arriving:
    if isinstance(layer, FloatLayer):
        return Arriving(delayed(result, layer.output_delay), (0, 1))
    return send(layer, result)


@torch.no_grad()
def float_spikes(
    values: FloatLayer, inputs: np.ndarray, dtype: torch.dtype = torch.float32
) -> np.ndarray:
    """Return the spikes (batch, time, neuron) of a float layer for inputs in its input scale."""
    weight = values.weight * values.input_scale
    sums = torch.from_numpy(synaptic_sums(weight, values.geometry, inputs, dtype))
    te, bias = (
        torch.from_numpy(np.repeat(rows, sums.shape[2] // len(rows), axis=0)).to(dtype)
        for rows in (values.te[:, : sums.shape[1]], values.bias)
    )
    own = values.weight_rec
    feedback = None if own is None else torch.from_numpy(own).to(dtype)
    neuron = neurons.KINDS[values.kind.kind.lower()]
    params: dict[str, Any] = {
        name: getattr(values, name) for name, _ in values.kind.constants.values()
    }
    for name, value in params.items():
        if isinstance(value, np.ndarray):  # a decay of each row
            each = np.repeat(value, sums.shape[2] // len(value))
            params[name] = torch.from_numpy(each).to(dtype)
    spikes = neuron.spikes(
        Drive(sums.transpose(1, 2), bias, feedback), te, NeuronParams(**params), "auto"
    )
    return spikes.transpose(1, 2).numpy()
