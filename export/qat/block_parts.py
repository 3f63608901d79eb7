"""Blocks in quantisation-aware training: the tensors behind their integers."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch
from torch import nn

from export.convert.block_reader import is_convolution, synapses_of
from export.convert.float_network import Stack
from export.convert.from_blocks import block_stack, is_flatten
from export.model.geometry import Shape
from export.model.network import FixedNetwork
from export.qat.layer import Part
from training.slayer.neuron import Neuron

Runner = Callable[[torch.Tensor], torch.Tensor]
"""Runs a block of SLAYER's, whose own forward pass is the integer one, on (batch, time, input)."""


class BlockLayers(nn.Sequential):
    """A stack of blocks, and how its layers are made of it."""

    @property
    def readout(self) -> nn.Linear | None:
        """What stands at the end, if it is no block."""
        last = list(self)[-1]
        return last if isinstance(last, nn.Linear) else None

    @torch.no_grad()
    def show(self, x: torch.Tensor) -> None:
        """Let SLAYER's blocks see an input, from which they learn their shapes."""
        for module in self:
            if not isinstance(module, nn.Linear):
                x = module(x)

    def stack(self, formats: FixedNetwork) -> Stack:
        """The present values, layer by layer."""
        conv = formats.layers[0].geometry
        return block_stack(list(self), None, None if conv is None else conv.input_shape)

    def parts(self, formats: FixedNetwork) -> Iterator[Part | Runner]:
        """The float tensors of every CE-LIF block, and the others themselves."""
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
                yield _part(module, scale)
            else:
                yield _runner(module, shape, scale, 2.0**layer.output_exp)
            scale, shape = 2.0**-layer.output_exp, layer.output_shape


def _part(module: nn.Module, scale: float) -> Part:
    neuron = module.neuron
    te, width, rows = neuron.te_table, neuron.width, neuron.num_neurons
    bias = neuron.te_table.new_zeros(rows) if neuron.bias is None else neuron.bias
    if not synapses_of(module):  # an Input block: one factor and one offset for all
        factor = bias.new_ones(1) if module.weight is None else module.weight
        weight = neuron.quantize_weight(factor).expand(rows).reshape(rows, 1, 1, 1)
        bias = bias if module.bias is None else bias + module.bias
        return Part(weight, bias, te, scale, width)
    used = [_used(module, synapse) for synapse in synapses_of(module)]
    if is_convolution(module):
        return Part(used[0][..., 0], bias, te, scale, width)
    weight, *own = (each.flatten(1) for each in used)
    return Part(weight, bias, te, scale, width, own[0] if own else None)


def _used(module: nn.Module, synapse: nn.Module) -> torch.Tensor:
    """Weights as the forward pass uses them, with the graph behind them."""
    for hook in synapse._forward_pre_hooks.values():  # weight normalisation
        hook(synapse, ())
    weight = synapse.weight
    if getattr(module, "mask", None) is not None:
        weight = weight * module.mask
    return weight if synapse.pre_hook_fx is None else synapse.pre_hook_fx(weight)


def _runner(module: nn.Module, shape: Shape, scale: float, unit: float) -> Runner:
    axes = tuple(shape) if is_convolution(module) else (shape.size,)

    def run(inputs: torch.Tensor) -> torch.Tensor:
        x = inputs.transpose(1, 2).reshape(len(inputs), *axes, -1) * scale
        # Messages as the whole numbers that the next layer counts.
        return module(x).flatten(1, -2).transpose(1, 2) * unit

    return run
