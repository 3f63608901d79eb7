"""Where a quantisation-aware network has its float parameters: a Network, blocks, or a file.

Each is a :class:`FloatSource`: it reads its present values layer by layer, and gives the tensors
behind them, with the graph that gradients go through.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, Protocol

import numpy as np
import torch
from torch import nn

from export.convert.float_network import (
    FloatLayer,
    FloatNetwork,
    encoding_values,
    float64,
    read_network,
)
from export.convert.reading.from_blocks import read_blocks
from export.convert.reading.from_module import chain_floats, follow
from export.convert.round import scales
from export.graph.blocks import is_convolution, is_flatten, synapses_of, used_weight
from export.graph.lower import Chain
from export.loihi2 import DECAY_ONE
from export.model.geometry import Shape
from export.model.layer import SpikingLayer
from export.model.network import CelifLayer, FixedNetwork
from export.model.te import PHASE_ONE, CosineTable
from export.qat.layer import LayerTensors
from training.functional import WIDTH
from training.network import temporal_encoding
from training.network.network import Network
from training.network.temporal_encoding import Cosine
from training.slayer.neuron import Neuron

Classifier = tuple[torch.Tensor, torch.Tensor | None]

Runner = Callable[[torch.Tensor], torch.Tensor]
"""Runs a SLAYER block, whose own forward pass is the integer one, on (batch, time, input)."""


class FloatSource(Protocol):
    """What a quantisation-aware network asks of the module that holds its float parameters."""

    def classifier(self) -> Classifier | None:
        """Weight and bias of the classifier of mean firing rates, if there is one."""

    def floats(self, formats: FixedNetwork) -> FloatNetwork:
        """The present values, layer by layer."""

    def tensors(self, formats: FixedNetwork) -> Iterator[LayerTensors | Runner | None]:
        """The tensors of every CE-LIF layer; for SLAYER's, how it runs, or None."""


def source_of(net: Any) -> FloatSource:
    """Return how ``net``, the module of a quantisation-aware network, is read."""
    return NetworkSource(net) if isinstance(net, Network) else net


class NetworkSource:
    """A :class:`training.Network`, which knows nothing of integers."""

    def __init__(self, net: Network) -> None:
        self.net = net

    def classifier(self) -> Classifier | None:
        """Weight and bias of the classifier, unless it spikes."""
        if self.net.config.readout == "spikes":
            return None
        return self.net.readout.weight, self.net.readout.bias

    def floats(self, formats: FixedNetwork) -> FloatNetwork:
        """The present values, layer by layer."""
        return read_network(self.net)

    def tensors(self, formats: FixedNetwork) -> Iterator[LayerTensors]:
        """The tensors of every layer."""
        net, scale = self.net, formats.encoding.scale
        for i, layer in enumerate(net.spiking_layers):
            own = net.recurrent_layer(i)
            bias = layer.bias if own is None else layer.bias + own.bias
            feedback = None if own is None else own.weight
            own_params = net.neuron_params(i)
            given = (layer.weight, bias, net.te_table, scale, net.config.width, feedback)
            yield LayerTensors(*given, own_params.alpha, own_params.beta)
            scale = 1.0


class BlockLayers(nn.Sequential):
    """A stack of blocks."""

    def classifier(self) -> Classifier | None:
        """Weight and bias of the last member, if it is no block."""
        last = list(self)[-1]
        return (last.weight, last.bias) if isinstance(last, nn.Linear) else None

    @torch.no_grad()
    def show(self, x: torch.Tensor) -> None:
        """Let SLAYER's blocks see an input, from which they learn their shapes."""
        for module in self:
            if not isinstance(module, nn.Linear):
                x = module(x)

    def floats(self, formats: FixedNetwork) -> FloatNetwork:
        """The present values, layer by layer."""
        conv = formats.layers[0].geometry
        return read_blocks(list(self), None, None if conv is None else conv.input_shape)

    def tensors(self, formats: FixedNetwork) -> Iterator[LayerTensors | Runner]:
        """The tensors of every CE-LIF block, and how the others run."""
        scale = formats.encoding.scale
        shape = Shape(formats.encoding.channels, 1, 1)
        if formats.layers[0].geometry is not None:
            shape = formats.layers[0].geometry.input_shape
        layers = iter(formats.layers)
        for module in self:
            if is_flatten(module) or isinstance(module, nn.Linear):
                continue
            layer = next(layers)
            if isinstance(module.neuron, Neuron):
                found = _block_tensors(module, scale)
                yield found._replace(alpha=module.neuron.alpha, beta=module.neuron.beta)
            else:
                yield _runner(module, shape, scale, 2.0**layer.output_exp)
            scale, shape = 2.0**-layer.output_exp, layer.output_shape


def _block_tensors(module: Any, scale: float) -> LayerTensors:
    neuron = module.neuron
    te, width, rows = neuron.te_table, neuron.width, neuron.num_neurons
    bias = neuron.te_table.new_zeros(rows) if neuron.bias is None else neuron.bias
    if not synapses_of(module):  # an Input block: one factor and one offset for all
        factor = bias.new_ones(1) if module.weight is None else module.weight
        weight = neuron.quantize_weight(factor).expand(rows).reshape(rows, 1, 1, 1)
        bias = bias if module.bias is None else bias + module.bias
        return LayerTensors(weight, bias, te, scale, width)
    used = [used_weight(module, synapse) for synapse in synapses_of(module)]
    if is_convolution(module):
        return LayerTensors(used[0][..., 0], bias, te, scale, width)
    weight, *own = (each.flatten(1) for each in used)
    return LayerTensors(weight, bias, te, scale, width, own[0] if own else None)


def _runner(module: nn.Module, shape: Shape, scale: float, unit: float) -> Runner:
    axes = tuple(shape) if is_convolution(module) else (shape.size,)

    def run(inputs: torch.Tensor) -> torch.Tensor:
        x = inputs.transpose(1, 2).reshape(len(inputs), *axes, -1) * scale
        # Messages as the whole numbers that the next layer counts.
        return module(x).flatten(1, -2).transpose(1, 2) * unit

    return run


class ModuleLayers(nn.Module):
    """A module of any kind, followed through its own forward pass on a few samples."""

    example: torch.Tensor

    def __init__(self, net: nn.Module, example: torch.Tensor) -> None:
        super().__init__()
        self.net = net
        self.register_buffer("example", example, persistent=False)
        self._chain: Chain | None = None

    def __getstate__(self) -> dict[str, Any]:
        # The chain hangs on a graph, which cannot be copied.
        return {**self.__dict__, "_chain": None}

    def floats(self, formats: FixedNetwork) -> FloatNetwork:
        """The present values, as an export reads them; :meth:`tensors` uses those behind them."""
        self._chain = follow(self.net, self.example)
        return chain_floats(self._chain, self.net)

    def tensors(self, formats: FixedNetwork) -> Iterator[LayerTensors]:
        """The tensors of every layer, as :meth:`floats` found them."""
        assert self._chain is not None
        scale = formats.encoding.scale
        for layer in self._chain.layers:
            given = (layer.weight, layer.bias, layer.te, scale, layer.width, layer.weight_rec)
            yield LayerTensors(*given, *layer.params[:2])
            scale = 1.0

    def classifier(self) -> Classifier | None:
        """Weight and bias of the classifier, as :meth:`floats` found them."""
        assert self._chain is not None
        return self._chain.readout


class FileLayer(nn.Module):
    """Weights, biases and temporal encoding of one CE-LIF layer, for inputs worth ``scale``."""

    def __init__(self, layer: CelifLayer, scale: float) -> None:
        super().__init__()
        self.scale = scale
        unit = scales(layer.weight_exp, layer.weight.ndim) * scale * 2.0**layer.input_exp
        self.weight = _parameter(layer.weight / unit)
        own = layer.weight_rec
        self.weight_rec = None if own is None else _parameter(own / scales(layer.weight_exp, 2))
        self.bias = _parameter(layer.bias * 2.0**-layer.fraction_bits)
        self.te = _encoding(layer)


class FileLayers(nn.Module):
    """CE-LIF layers and readout of a file; SLAYER's layers keep their integers.

    A :class:`training.Network` cannot express every file: its layers share one encoding, and one
    α, β and Θ0.
    """

    def __init__(self, fixed: FixedNetwork) -> None:
        super().__init__()
        scale = fixed.encoding.scale
        self.layers = nn.ModuleList()
        for layer in fixed.layers:
            made = FileLayer(layer, scale) if isinstance(layer, CelifLayer) else nn.Identity()
            self.layers.append(made)
            scale = 2.0**-layer.output_exp
        last = fixed.readout
        self.readout = None if last is None else nn.Linear(last.inputs, last.neurons)
        if last is not None and self.readout is not None:
            self.readout.weight = _parameter(last.weight * 2.0**-last.weight_exp)
            self.readout.bias = _parameter(last.bias * 2.0**-last.weight_exp)

    def classifier(self) -> Classifier | None:
        """Weight and bias of the classifier, if there is one."""
        last = self.readout
        return None if last is None else (last.weight, last.bias)

    def tensors(self, formats: FixedNetwork) -> Iterator[LayerTensors | None]:
        """The tensors of every layer; None for a SLAYER layer."""
        for layer in self.layers:
            if not isinstance(layer, FileLayer):
                yield None
                continue
            te = temporal_encoding.table(layer.te)
            yield LayerTensors(layer.weight, layer.bias, te, layer.scale, WIDTH, layer.weight_rec)

    @torch.no_grad()
    def floats(self, formats: FixedNetwork) -> FloatNetwork:
        """The layers' values, with the dynamics that their formats have."""
        layers: list[FloatLayer | SpikingLayer] = []
        layer: Any
        for i, (layer, form) in enumerate(zip(self.layers, formats.layers, strict=True)):
            if not isinstance(form, CelifLayer):
                layers.append(form)
                continue
            te, turns = encoding_values(layer.te)
            own = layer.weight_rec
            layers.append(
                FloatLayer(
                    name=form.name,
                    weight=float64(layer.weight),
                    weight_rec=None if own is None else float64(own),
                    geometry=form.geometry,
                    bias=float64(layer.bias),
                    te=te,
                    turns=turns,
                    table=i,
                    alpha=form.alpha_mant / DECAY_ONE,
                    beta=form.beta_mant / DECAY_ONE,
                    theta0=form.theta0_int * 2.0**-form.fraction_bits,
                    lag=form.lag,
                    delay_shift=form.delay_shift,
                    delay=form.delay,
                    input_scale=layer.scale,
                )
            )
        readout = None
        if self.readout is not None:
            readout = float64(self.readout.weight), float64(self.readout.bias)
        tensors = {name: p.detach() for name, p in self.named_parameters()}
        permutation = formats.encoding.permutation
        return FloatNetwork(layers, readout, formats.steps, tensors, permutation)


def _encoding(layer: CelifLayer) -> nn.Parameter | Cosine:
    if not isinstance(layer.te_form, CosineTable):
        return _parameter(layer.te / scales(layer.te_exp, 2))
    wave = Cosine(*layer.te.shape)
    turns = torch.from_numpy(layer.te_form.increment / PHASE_ONE)
    # In float32 a frequency is within a quarter of the 2^−22 turns that phases are counted in.
    wave.omega = nn.Parameter((turns * 2 * math.pi / wave.delta.double()).float())
    return wave


def _parameter(values: np.ndarray) -> nn.Parameter:
    return nn.Parameter(torch.from_numpy(values.astype(np.float32)))
