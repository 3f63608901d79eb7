"""The float side of the gap: every layer's spikes, membrane and threshold, and the logits."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import nn

from export import QuantizedNetwork
from export.convert.from_blocks import members
from training import Network
from training.dynamics import Params
from training.functional import WIDTH
from training.kernels import reference
from training.network.synapses import LayerRecord
from training.slayer.neuron import Neuron

Source = Network | QuantizedNetwork | nn.Module | Iterable[nn.Module]
"""What a file may have been exported from."""


@dataclass(frozen=True)
class FloatStates:
    """A layer's states, each (batch, neuron, time); V and Θ of CE-LIF layers only."""

    spikes: np.ndarray
    v: np.ndarray | None = None
    theta: np.ndarray | None = None


@dataclass(frozen=True)
class FloatRun:
    """Logits (batch, classes), or the last layer's spike counts, and every layer's states."""

    logits: np.ndarray
    layers: list[FloatStates]


@torch.no_grad()
def run_float(source: Source, x: np.ndarray) -> FloatRun:
    """Run samples (batch, channel, time) through the float network, in evaluation mode.

    A quantisation-aware network is run with the floats that it holds, without their rounding.
    """
    if isinstance(source, QuantizedNetwork):
        source = source.net
    if isinstance(source, Network) and source.config.context != "v*te":
        raise ValueError(
            f"network context: expected v*te, whose V and Θ are looked at here, got "
            f"{source.config.context!r}; training.kernels.adaptive.states has the others"
        )
    modules = [source] if isinstance(source, Network) else members(source)
    modes = [module.training for module in modules]
    for module in modules:
        module.eval()
    try:
        if isinstance(source, Network):
            return _run_network(source, torch.as_tensor(x, dtype=source.te_table.dtype))
        return _run_blocks(modules, torch.as_tensor(x, dtype=torch.float32))
    finally:
        for module, mode in zip(modules, modes, strict=True):
            module.train(mode)


def _run_network(net: Network, x: torch.Tensor) -> FloatRun:
    hidden = net.hidden_states(x)
    p = Params(net.config.alpha, net.config.beta, net.config.theta0)
    layers = [_states(layer, net.te_table, p) for layer in hidden]
    return FloatRun(net.read(hidden[-1].spikes).numpy(), layers)


def _run_blocks(blocks: list[Any], x: torch.Tensor) -> FloatRun:
    neurons = [block.neuron for block in blocks if getattr(block, "neuron", None) is not None]
    calls: dict[Any, tuple[tuple[torch.Tensor, ...], torch.Tensor]] = {}

    def watch(neuron: Any, inputs: tuple[torch.Tensor, ...], spikes: torch.Tensor) -> None:
        calls[neuron] = inputs, spikes  # of calls within calls, the outermost stays

    hooks = [neuron.register_forward_hook(watch) for neuron in neurons]
    try:
        for block in blocks:
            x = block(x)
    finally:
        for hook in hooks:
            hook.remove()
    layers = [_block_states(neuron, *calls[neuron]) for neuron in neurons]
    return FloatRun(x.numpy() if x.ndim == 2 else _flat(x).sum(-1), layers)


def _block_states(
    neuron: Any, inputs: tuple[torch.Tensor, ...], spikes: torch.Tensor
) -> FloatStates:
    if not isinstance(neuron, Neuron):
        return FloatStates(_flat(spikes))
    synaptic, *own = inputs
    bias = torch.zeros(neuron.num_neurons) if neuron.bias is None else neuron.bias
    p = Params(neuron.alpha, neuron.beta, neuron.theta0)
    if synaptic.ndim == 3:
        return _states(LayerRecord(synaptic, bias, spikes, *own), neuron.te_table, p)
    batch, channels, *image, steps = synaptic.shape
    # As the neuron itself has it: the pixels of a channel are samples to the scan.
    pixels = (part.movedim(1, -2).reshape(-1, channels, steps) for part in (synaptic, spikes))
    states = _states(LayerRecord(next(pixels), bias, next(pixels)), neuron.te_table, p)

    def images(values: np.ndarray) -> np.ndarray:
        restored = np.moveaxis(values.reshape(batch, *image, channels, steps), -2, 1)
        return restored.reshape(batch, -1, steps)

    assert states.v is not None  # of a CE-LIF layer
    assert states.theta is not None
    return FloatStates(images(states.spikes), images(states.v), images(states.theta))


def _states(hidden: LayerRecord, te: torch.Tensor, p: Params) -> FloatStates:
    """V and Θ by the reference loop over what a layer received."""
    current = hidden.current
    table = te[: current.shape[1], : current.shape[2]]
    states = reference.scan(current, table, p, WIDTH)
    return FloatStates(hidden.spikes.numpy(), states.v.numpy(), states.theta.numpy())


def _flat(spikes: torch.Tensor) -> np.ndarray:
    """(batch, neuron, time) of whatever shape a layer has."""
    return spikes.flatten(1, -2).numpy()
