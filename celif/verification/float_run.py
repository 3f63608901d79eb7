"""The float side of the gap: every layer's spikes, membrane and threshold, and the logits."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import nn

from export import ModelError, QuantizedNetwork
from export.convert.float_network import FloatLayer, float_spikes
from export.convert.reading.from_blocks import members
from export.convert.reading.from_module import clone_of
from export.convert.reading.own_forward import require_floats
from export.convert.to_integers import is_followed, read
from export.model import geometry
from export.qat.sources import ModuleLayers
from training import Network
from training.dynamics import Params
from training.functional import WIDTH
from training.kernels import reference
from training.network.synapses import LayerRecord
from training.slayer.neuron import Neuron

Source = Network | QuantizedNetwork | nn.Module | Iterable[nn.Module]
"""What a file may have been exported from."""

OUTPUT_TOLERANCE = 1e-4
"""Relative to the largest output: float32 sums in another order."""


@dataclass(frozen=True)
class FloatStates:
    """A layer's states, each (batch, neuron, time); V and Θ exist for CE-LIF layers only."""

    spikes: np.ndarray
    v: np.ndarray | None = None
    theta: np.ndarray | None = None


@dataclass(frozen=True)
class FloatTrace:
    """What a float network computes: its logits and the states of every layer.

    The logits are (batch, classes); of a network without a readout they are the last layer's
    spike counts.
    """

    logits: np.ndarray
    layers: list[FloatStates]
    otherwise: str | None = None
    """How ``net(x)`` differs from its layers run one after another, as they are in the file."""


@torch.no_grad()
def run_float(source: Source, x: np.ndarray) -> FloatTrace:
    """Run samples (batch, channel, time) through the float network, in evaluation mode.

    The network is called as its user calls it, ``source(x)``. A file holds the layers of a module
    one after another; where the module's own forward pass computes something else, the result says
    so. The blocks of a plain list run in its order, and a quantisation-aware network with the
    floats that it holds, without their rounding.
    """
    source = float_source(source)
    if isinstance(source, Network) and source.config.context != "v*te":
        raise ValueError(
            f"network context: expected v*te, whose V and Θ are looked at here, got "
            f"{source.config.context!r}; training.kernels.adaptive.states has the others"
        )
    modules = [source] if isinstance(source, nn.Module) else members(source)
    modes = [(each, each.training) for module in modules for each in module.modules()]
    for module in modules:
        module.eval()
    try:
        if isinstance(source, nn.Module) and is_followed(source):
            return _run_followed(source, torch.as_tensor(x, dtype=torch.float32))
        if isinstance(source, Network):
            return _run_network(source, torch.as_tensor(x, dtype=source.te_table.dtype))
        return _run_blocks(source, torch.as_tensor(x, dtype=torch.float32))
    finally:
        for module, mode in modes:
            module.training = mode


def float_source(source: Source) -> Source:
    """Return the network that holds the floats: of a quantisation-aware one, its own."""
    if isinstance(source, QuantizedNetwork):
        return source.net.net if isinstance(source.net, ModuleLayers) else source.net
    return source


def _run_followed(net: nn.Module, x: torch.Tensor) -> FloatTrace:
    """Run a module that is no chain of blocks, and the layers that its forward pass was read as."""
    floats = read(net, x.numpy())
    otherwise = None
    try:
        require_floats(clone_of(net), floats, x.numpy(), type(net).__name__)
    except ModelError as error:
        otherwise = str(error)
    inputs = np.ascontiguousarray(x.flatten(1, -2).transpose(1, 2).numpy())
    layers = []
    for layer in floats.layers:
        assert isinstance(layer, FloatLayer)
        spikes = float_spikes(layer, inputs)
        sums = geometry.sums(layer.weight, layer.geometry, inputs, torch.float32)
        own = layer.weight_rec
        rows = [
            torch.from_numpy(np.repeat(each, sums.shape[2] // len(each), axis=0)).float()
            for each in (layer.bias, layer.te)
        ]
        record = LayerRecord(
            torch.from_numpy(sums).transpose(1, 2),
            rows[0],
            torch.from_numpy(spikes).transpose(1, 2),
            None if own is None else torch.from_numpy(own).float(),
        )
        alpha, beta = _decays(layer, sums.shape[2])
        layers.append(_states(record, rows[1], Params(alpha, beta, layer.theta0)))
        inputs = geometry.delayed(spikes, layer.output_delay)
    logits = inputs.sum(1) if floats.readout is None else net(x).numpy()
    return FloatTrace(logits, layers, otherwise)


def _decays(layer: FloatLayer, neurons: int) -> list[float | torch.Tensor]:
    """α and β as the reference loop takes them: a number, or a tensor (neuron,)."""
    return [
        torch.from_numpy(np.repeat(each, neurons // len(each))).float()
        if isinstance(each, np.ndarray)
        else each
        for each in (layer.alpha, layer.beta)
    ]


def _run_network(net: Network, x: torch.Tensor) -> FloatTrace:
    hidden = net.hidden_states(x)
    gamma = net.config.gamma if "gamma" in net.config.kind.uses else 0.0
    layers = []
    for i, layer in enumerate(hidden):
        own = net.neuron_params(i)
        p = Params(own.alpha, own.beta, own.theta0)
        layers.append(_states(layer, net.te_table, p, gamma))
    if type(net).forward is Network.forward:
        return FloatTrace(net.read(hidden[-1].spikes).numpy(), layers)
    ours = net(x)
    return FloatTrace(ours.numpy(), layers, _difference(ours, Network.forward(net, x)))


def _run_blocks(source: nn.Module | Iterable[nn.Module], x: torch.Tensor) -> FloatTrace:
    blocks = members(source)
    neurons = [block.neuron for block in blocks if getattr(block, "neuron", None) is not None]
    output, calls = _watched(_Chain(blocks), neurons, x)
    otherwise = None
    if isinstance(source, nn.Module) and type(source).forward is not nn.Sequential.forward:
        chain, (output, own) = output, _watched(source, neurons, x)
        otherwise = _difference(output, chain)
        again = next((i for i, n in enumerate(neurons) if len(own[n]) != 1), None)
        if again is None:
            calls = own
        elif otherwise is None:
            otherwise = f"layer {again} is called {len(own[neurons[again]])} times, expected once"
    layers = [_block_states(neuron, *calls[neuron][0]) for neuron in neurons]
    return FloatTrace(
        output.numpy() if output.ndim == 2 else _flat(output).sum(-1), layers, otherwise
    )


class _Chain(nn.Module):
    """Blocks that run one after another, without becoming their parent."""

    def __init__(self, blocks: list[Any]) -> None:
        super().__init__()
        self._blocks = tuple(blocks)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for block in self._blocks:
            x = block(x)
        return x


_Call = tuple[tuple[torch.Tensor, ...], torch.Tensor]


def _watched(
    net: nn.Module, neurons: list[Any], x: torch.Tensor
) -> tuple[torch.Tensor, dict[Any, list[_Call]]]:
    """Call ``net`` and record what each neuron received and sent in every outermost call."""
    calls: dict[Any, list[_Call]] = {neuron: [] for neuron in neurons}
    depth = dict.fromkeys(neurons, 0)

    def enter(neuron: Any, inputs: tuple[torch.Tensor, ...]) -> None:
        depth[neuron] += 1

    def leave(neuron: Any, inputs: tuple[torch.Tensor, ...], spikes: torch.Tensor) -> None:
        depth[neuron] -= 1
        if depth[neuron] == 0:
            calls[neuron].append((inputs, spikes))

    hooks = [neuron.register_forward_pre_hook(enter) for neuron in neurons]
    hooks += [neuron.register_forward_hook(leave) for neuron in neurons]
    try:
        return net(x), calls
    finally:
        for hook in hooks:
            hook.remove()


def _difference(found: torch.Tensor, chain: torch.Tensor) -> str | None:
    """Say where the output of a network's forward pass differs from that of its layers in a row."""
    if found.shape != chain.shape:
        return (
            f"its output has shape {tuple(found.shape)}, its layers in a row {tuple(chain.shape)}"
        )
    # The same operations on the same numbers; what is left is the order of float32 sums.
    limit = OUTPUT_TOLERANCE * float(chain.abs().max().clamp(min=1.0))
    wrong = (found - chain).abs() > limit
    if not wrong.any():
        return None
    at = tuple(wrong.nonzero()[0].tolist())
    return (
        f"net(x)[{', '.join(map(str, at))}] is {float(found[at]):.6g}, its layers in a row give "
        f"{float(chain[at]):.6g} ({int(wrong.sum()):,} of {wrong.numel():,} outputs differ)"
    )


def _block_states(
    neuron: Any, inputs: tuple[torch.Tensor, ...], spikes: torch.Tensor
) -> FloatStates:
    if not isinstance(neuron, Neuron):
        return FloatStates(_flat(spikes))
    synaptic, *own = inputs
    bias = torch.zeros(neuron.num_neurons) if neuron.bias is None else neuron.bias
    p = Params(neuron.alpha, neuron.beta, neuron.theta0)
    gamma = neuron.gamma if "gamma" in neuron.kind.uses else 0.0
    if synaptic.ndim == 3:
        return _states(LayerRecord(synaptic, bias, spikes, *own), neuron.te_table, p, gamma)
    batch, channels, *image, steps = synaptic.shape
    # As the neuron itself has it: the pixels of a channel are samples to the scan.
    pixels = (part.movedim(1, -2).reshape(-1, channels, steps) for part in (synaptic, spikes))
    states = _states(LayerRecord(next(pixels), bias, next(pixels)), neuron.te_table, p, gamma)

    def images(values: np.ndarray) -> np.ndarray:
        restored = np.moveaxis(values.reshape(batch, *image, channels, steps), -2, 1)
        return restored.reshape(batch, -1, steps)

    assert states.v is not None  # of a CE-LIF layer
    assert states.theta is not None
    return FloatStates(images(states.spikes), images(states.v), images(states.theta))


def _states(hidden: LayerRecord, te: torch.Tensor, p: Params, gamma: float = 0.0) -> FloatStates:
    """V and Θ by the reference loop over what a layer received."""
    current = hidden.current
    table = te[: current.shape[1], : current.shape[2]]
    states = reference.scan(current, table, p, WIDTH, gamma=gamma)
    return FloatStates(hidden.spikes.numpy(), states.v.numpy(), states.theta.numpy())


def _flat(spikes: torch.Tensor) -> np.ndarray:
    """(batch, neuron, time) of whatever shape a layer has."""
    return spikes.flatten(1, -2).numpy()
