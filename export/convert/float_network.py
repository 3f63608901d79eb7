"""Trained networks as lists of layers: CE-LIF in float, SLAYER's in the integers they export."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import nn

from export.checks import ModelError
from export.convert import round as quantization
from export.convert.round import FloatLayer
from export.model.network import CelifLayer, FixedNetwork, SpikingLayer
from training.network import temporal_encoding
from training.network.network import Network
from training.network.temporal_encoding import Cosine

EXPORTED = ("mean", "spikes")
"""Readouts of a network that a file can say: sums over all steps, weighted or not."""


@dataclass(frozen=True)
class Stack:
    """A network as a list of layers to convert, and the tensors that it was made of."""

    layers: Sequence[FloatLayer | SpikingLayer]
    readout: tuple[np.ndarray, np.ndarray] | None
    steps: int
    tensors: dict[str, torch.Tensor]
    permutation: np.ndarray | None = None

    @property
    def inputs(self) -> int:
        """Number of inputs: channels, or all pixels of an image."""
        first = self.layers[0]
        return first.weight.shape[1] if first.geometry is None else first.geometry.input_shape.size


def finite_tensors(net: nn.Module, prefix: str = "") -> dict[str, torch.Tensor]:
    """Every parameter by its name, all of them finite."""
    tensors = {f"{prefix}{name}": p.detach().cpu() for name, p in net.named_parameters()}
    for name, tensor in tensors.items():
        quantization.require_finite("network", name, tensor.numpy(), "the training diverged")
    return tensors


def network_stack(net: Network) -> Stack:
    """Layers of a :class:`training.Network`."""
    if net.config.readout not in EXPORTED:
        raise ModelError(
            f"network readout: expected {' or '.join(EXPORTED)}, which a file can say, got "
            f"{net.config.readout!r}; a chip sums over all steps of a sample: train with "
            "readout='mean', or run its layers without the readout"
        )
    if net.config.context != "v*te":
        raise ModelError(
            f"network context: expected v*te, the one that a file can say, got "
            f"{net.config.context!r}"
        )
    if net.config.neuron != "celif" or net.te is None:
        raise ModelError(
            f"network neuron: expected celif, the one that a file can say, got "
            f"{net.config.neuron!r}"
        )
    tensors = finite_tensors(net)
    te, turns = encoding_values(net.te)
    layers: list[FloatLayer] = []
    for i, synapses in enumerate(net.spiking_layers):
        own = net.recurrent_layer(i)
        rows = synapses.out_features
        bias = synapses.bias if own is None else synapses.bias + own.bias
        layers.append(
            FloatLayer(
                name=f"layer {i}",
                weight=_numbers(synapses.weight),
                weight_rec=None if own is None else _numbers(own.weight),
                bias=_numbers(bias),
                te=te[:rows],
                turns=None if turns is None else turns[:rows],
                alpha=net.config.alpha,
                beta=net.config.beta,
                theta0=net.config.theta0,
                lag=i + 1,
                delay_shift=False,
            )
        )
    order = net.config.permutation
    readout = None
    if net.config.readout == "mean":
        readout = _numbers(net.readout.weight), _numbers(net.readout.bias)
    return Stack(layers, readout, net.steps, tensors, None if order is None else np.array(order))


def _numbers(tensor: torch.Tensor) -> np.ndarray:
    return tensor.detach().cpu().double().numpy()


@torch.no_grad()
def encoding_values(te: torch.Tensor | Cosine) -> tuple[np.ndarray, np.ndarray | None]:
    """A temporal encoding's table and, of a cosine, turns a step, in float64."""
    table = temporal_encoding.table(te).cpu().numpy().astype(np.float64)
    return table, te.turns().cpu().numpy() if isinstance(te, Cosine) else None


def requantise_all(stack: Stack, formats: FixedNetwork) -> FixedNetwork:
    """Integers of a network's present values, in the formats that its file has."""
    scale = formats.encoding.scale
    layers: list[Any] = []
    for values, form in zip(stack.layers, formats.layers, strict=True):
        if isinstance(values, FloatLayer) and isinstance(form, CelifLayer):
            layers.append(quantization.requantise(values, form, scale))
        else:
            layers.append(values)  # whose integers are SLAYER's own
        scale = 1.0
    readout = None
    if stack.readout is not None and formats.readout is not None:
        readout = quantization.requantise_readout(*stack.readout, formats.readout)
    return replace(formats, layers=tuple(layers), readout=readout)
