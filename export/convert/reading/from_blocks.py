"""Stacks of blocks as lists of layers: CE-LIF in float, SLAYER's in the integers they export.

Blocks are read from copies, so that an export changes nothing: SLAYER's own removes weight
normalisation, and its neurons learn their shape from their first input. Images keep their shape
from layer to layer; a file numbers their pixels as torch flattens them.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import Any

import numpy as np
import torch
from torch import nn

from export.checks import ModelError
from export.convert.float_network import FloatNetwork, finite_tensors
from export.convert.reading import own_forward
from export.convert.reading.block_reader import EXPECTED, BlockReader
from export.graph.blocks import is_convolution, is_flatten, synapses_of
from export.model.geometry import Shape
from training.slayer.neuron import Neuron


def read_blocks(
    blocks: nn.Module | Iterable[nn.Module], x: np.ndarray | None, shape: Shape | None = None
) -> FloatNetwork:
    """Layers of a sequence of blocks; ``x``, as the first takes it, shows them their input.

    Without it, ``shape`` is that of the images, if the blocks have not seen any.
    """
    modules = members(blocks)
    readout = None
    if len(modules) > 1 and isinstance(modules[-1], nn.Linear):
        readout = modules.pop()
    if not modules:
        raise ModelError(
            "network: expected at least one block, got none; pass the blocks in their order, or a "
            "training.Network"
        )
    tensors: dict[str, torch.Tensor] = {}
    names = _names(modules)
    for i, (module, name) in enumerate(zip(modules, names, strict=True)):
        if not is_flatten(module):
            _check_block(module, name)
        tensors |= finite_tensors(module, f"{i}.")
    if readout is not None:
        tensors |= finite_tensors(readout, f"{len(modules)}.")
    modules = _copies(modules)
    if x is not None:
        _show(modules, x)
    reader = BlockReader(shape or _first_shape(modules[0], names[0], x))
    for module, name in zip(modules, names, strict=True):
        if not is_flatten(module):
            reader.read(module, name)
    steps = reader.steps or (0 if x is None else x.shape[-1])
    if steps == 0:
        raise ModelError(
            "network: expected calibration data, or a CELIF block, from which the number of time "
            "steps is known, got neither; pass calibration data, or export a stock network with "
            "its blocks' own export_hdf5"
        )
    return FloatNetwork(reader.layers, _linear(readout), steps, tensors)


def require_own_forward(net: Any, x: np.ndarray | None) -> None:
    """Raise ModelError unless a module's forward pass is the chain of its children.

    Without data it runs on spikes made for it.
    """
    if not isinstance(net, nn.Module) or hasattr(net, "export_hdf5"):
        return  # one block, or a list that has no forward pass
    if isinstance(net, nn.ModuleList):
        return
    without_data = x is None
    if x is None:
        first = members(net)[0]
        if type(net).forward is nn.Sequential.forward:
            return
        shape = (
            getattr(first, "input_shape", None) if is_convolution(first) else (_channels(first),)
        )
        if shape is None:
            raise ModelError(
                f"calibration: expected typical inputs, on which {type(net).__name__}.forward can "
                "be compared with the chain of its blocks, got None"
            )
        neurons = (getattr(module, "neuron", None) for module in net.modules())
        steps = max(neuron.steps for neuron in neurons if isinstance(neuron, Neuron))
        x = np.random.default_rng(0).integers(0, 2, (own_forward.SAMPLES, *shape, steps))
    (clone,) = _copies([net])
    slayer = any(not isinstance(each.neuron, Neuron) for each in _nested([net]))
    own_forward.require_chain(clone, members(clone), x, followed=without_data and not slayer)


def members(blocks: nn.Module | Iterable[nn.Module]) -> list[Any]:
    """The blocks of a stack, in their order."""
    if hasattr(blocks, "export_hdf5"):
        return [blocks]
    if isinstance(blocks, nn.Module):
        return list(blocks.children())
    if not isinstance(blocks, Iterable):
        raise ModelError(
            f"network: expected a training.Network or a sequence of blocks, got "
            f"{type(blocks).__name__}; pass the blocks in their order"
        )
    return list(blocks)


def _names(modules: list[Any]) -> list[str]:
    """Layer names, numbered as in the file; Flatten blocks are not counted."""
    names: list[str] = []
    count = 0
    for module in modules:
        names.append(f"layer {count}")
        count += not is_flatten(module)
    return names


def _linear(module: nn.Linear | None) -> tuple[np.ndarray, np.ndarray] | None:
    if module is None:
        return None
    weight = module.weight.detach().cpu().double().numpy()
    if module.bias is None:
        return weight, np.zeros(len(weight))
    return weight, module.bias.detach().cpu().double().numpy()


def _check_block(module: Any, name: str) -> None:
    neuron = getattr(module, "neuron", None)
    # SLAYER's Affine block has all but delay_shift: it sends currents, not spikes.
    whole = hasattr(module, "export_hdf5") and hasattr(module, "delay_shift")
    if neuron is None or not whole or not (synapses_of(module) or isinstance(neuron, Neuron)):
        raise ModelError(
            f"{name}: expected {EXPECTED}, got {type(module).__name__}; pass the blocks "
            "themselves, in their order, and a readout last"
        )
    # SLAYER's Recurrent sets it for its own loop over time; a file resets it for every sample.
    recurrent = hasattr(module, "recurrent_synapse")
    if getattr(neuron, "persistent_state", False) and not recurrent:
        raise ModelError(f"{name} persistent_state: expected none, got True; not supported")
    if getattr(module, "mask", None) is not None and module.synapse.weight_norm_enabled:
        raise ModelError(
            f"{name} mask: expected none with weight_norm, which undoes it in SLAYER's forward "
            "pass, got one"
        )
    # What a sigma-delta neuron can be told and its export does not say.
    for what, found in (
        ("cum_error", getattr(getattr(neuron, "delta", None), "cum_error", False)),
        ("bias", getattr(neuron, "bias_is_set", False)),
    ):
        if found:
            raise ModelError(
                f"{name} {what}: expected none, got {found}; SLAYER does not export it"
            )


def _copies(modules: list[Any]) -> list[Any]:
    """The blocks as their next forward pass would use them: normalised, masked, in eval mode."""
    for module in _nested(modules):
        for synapse in synapses_of(module):
            if synapse.weight_norm_enabled:
                # It may hang on a graph, which cannot be copied; every forward pass remakes it.
                synapse.weight = synapse.weight.detach()
    copies = copy.deepcopy(modules)  # in one go, so that what they share stays shared
    for module in copies:
        module.eval()
    for module in _nested(copies):
        for synapse in synapses_of(module):
            if synapse.weight_norm_enabled:
                synapse.disable_weight_norm()
        if getattr(module, "mask", None) is not None:
            module.synapse.weight.data *= module.mask
    return copies


def _nested(modules: list[Any]) -> list[Any]:
    """The blocks among ``modules`` and inside them."""
    return [each for module in modules for each in module.modules() if hasattr(each, "neuron")]


@torch.no_grad()
def _show(modules: list[Any], x: np.ndarray) -> None:
    first = modules[0]
    channels = _channels(first)
    images = x.ndim == 5
    if x.shape[1] != channels or (is_convolution(first) and not images):
        form = "channel, row, column, time" if is_convolution(first) else "channel, time"
        raise ModelError(
            f"calibration: expected (batch, {form}) with {channels} channel(s), as many as the "
            f"first block has inputs, got shape {x.shape}; time is the last axis, transpose if it "
            "is not"
        )
    h = torch.as_tensor(x, dtype=torch.float32)
    for module in modules:
        h = module(h)


def _channels(module: Any) -> int:
    found = synapses_of(module)
    return found[0].in_channels if found else module.neuron.num_neurons


def _first_shape(module: Any, name: str, x: np.ndarray | None) -> Shape:
    """Shape of the first block's input."""
    if x is not None:
        return Shape(*x.shape[1:4]) if x.ndim == 5 else Shape(x.shape[1], 1, 1)
    if not synapses_of(module):
        return Shape(*(*module.neuron.shape, 1, 1)[:3])
    if not is_convolution(module):
        return Shape(_channels(module), 1, 1)
    shape = getattr(module, "input_shape", None)
    if shape is None:
        raise ModelError(f"{name}: run a forward pass, or pass calibration data, before exporting")
    return Shape(*shape)
