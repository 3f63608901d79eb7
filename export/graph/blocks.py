"""What a block is made of: its synapses, whether it takes images, the weights that it uses."""

from __future__ import annotations

from typing import Any

import torch


def synapses_of(module: Any) -> list[Any]:
    """The synapses of a block that have weights: from the layer before, and its own."""
    names = ("synapse", "input_synapse", "recurrent_synapse")
    found = (getattr(module, name, None) for name in names)
    return [synapse for synapse in found if synapse is not None]


def is_convolution(module: Any) -> bool:
    """Whether a block takes images."""
    return type(getattr(module, "synapse", None)).__name__ in ("Conv", "Pool")


def is_flatten(module: Any) -> bool:
    """Whether a member of a stack only makes vectors of images, SLAYER's or ours."""
    return any(kind.__name__ == "AbstractFlatten" for kind in type(module).__mro__)


def is_block(module: Any) -> bool:
    """Whether a module is a block, SLAYER's or ours."""
    return hasattr(module, "neuron") and hasattr(module, "export_hdf5")


def used_weight(module: Any, synapse: Any) -> torch.Tensor:
    """Weights as the forward pass uses them, with the graph behind them."""
    for hook in synapse._forward_pre_hooks.values():  # weight normalisation
        if hasattr(hook, "name"):
            hook(synapse, ())
    weight = synapse.weight
    if getattr(module, "mask", None) is not None:
        weight = weight * module.mask
    return weight if synapse.pre_hook_fx is None else synapse.pre_hook_fx(weight)
