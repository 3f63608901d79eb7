"""A module of any kind as a network, read from its own forward pass."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.func import functional_call

from export.checks import ModelError
from export.convert.float_network import (
    FloatLayer,
    FloatNetwork,
    decay_values,
    finite_tensors,
    float64,
    layer_kind,
    require_finite,
)
from export.graph.blocks import is_block, is_flatten, synapses_of
from export.graph.follow import record
from export.graph.lower import Chain, lower
from training.slayer.neuron import Neuron
from training.slayer.readout import Readout

_CONSTANTS = "all parameters are finite: look for a constant of the forward pass that is not"

SAMPLES = 2
"""Samples of the recorded pass: more than one, so that what mixes samples is noticed."""


def is_chain(net: Any) -> bool:
    """Whether ``net`` is a chain of blocks by construction."""
    if not isinstance(net, nn.Module) or is_block(net) or isinstance(net, nn.ModuleList):
        return True
    if type(net).forward is not nn.Sequential.forward:
        return False
    return has_only_blocks(net, Readout)


def has_only_blocks(net: nn.Module, last: type[nn.Module]) -> bool:
    """Whether the children of ``net`` are blocks, but for a ``last`` one that reads them out."""
    members = list(net.children())
    if members and isinstance(members[-1], last):
        members.pop()
    return all(is_block(each) or is_flatten(each) for each in members)


def has_slayer_neurons(net: nn.Module) -> bool:
    """Whether ``net`` has SLAYER blocks, which can only be read from a chain."""
    return any(is_block(m) and not isinstance(m.neuron, Neuron) for m in net.modules())


def clone_of(net: nn.Module) -> Any:
    """A copy of ``net`` in evaluation mode, which may be shown inputs and cast."""
    for module in net.modules():
        for synapse in synapses_of(module):
            if getattr(synapse, "weight_norm_enabled", False):
                # It may hang on a graph, which cannot be copied; every forward pass makes it again.
                synapse.weight = synapse.weight.detach()
    return copy.deepcopy(net).eval()


def read_module(net: nn.Module, x: np.ndarray) -> FloatNetwork:
    """Read the layers of ``net`` from its forward pass on samples ``x`` (batch, channel, …).

    Constants are folded into weights in float64, so that what is read is what the pass computes,
    but for float64's rounding. A module that only runs in float32 is read in that.
    """
    clone = clone_of(net)
    # Before all else: NaN makes anything look wrong.
    finite_tensors(clone)
    for name, buffer in clone.named_buffers():
        if name.endswith(("running_mean", "running_var")):  # others may well be infinite
            require_finite("network", name, buffer.cpu().numpy(), "the training diverged")
    few = torch.as_tensor(x[:SAMPLES], dtype=torch.float32)
    few = few if len(few) > 1 else few.repeat(2, *[1] * (x.ndim - 1))
    with torch.random.fork_rng(devices=[]):
        return chain_floats(follow(clone, few), clone)


def follow(net: nn.Module, x: torch.Tensor) -> Chain:
    """The chain of layers of ``net``, in float64, with the graph to its float32 parameters.

    A module that only runs in float32 is followed in that.
    """
    given = {
        f"net.{name}": tensor.double()
        for name, tensor in (*net.named_parameters(), *net.named_buffers())
        if tensor.is_floating_point()
    }
    try:
        return functional_call(_Followed(net), given, (x.double(),))
    except ModelError:  # it stands if it is about the network, not about float64
        return lower(record(net, x))


class _Followed(nn.Module):
    """A module that can be followed with other tensors in place of its parameters."""

    def __init__(self, net: nn.Module) -> None:
        super().__init__()
        self.net = net

    def forward(self, x: torch.Tensor) -> Chain:
        return lower(record(self.net, x))


def chain_floats(chain: Chain, net: nn.Module) -> FloatNetwork:
    """The values of a chain's layers in float64, and the parameters of ``net``."""
    tensors = finite_tensors(net)
    layers = []
    for i, layer in enumerate(chain.layers):
        alpha, beta, theta0, gamma = layer.params
        own, turns = layer.weight_rec, layer.turns
        layers.append(
            FloatLayer(
                name=f"layer {i}",
                weight=float64(layer.weight),
                geometry=layer.geometry,
                weight_rec=None if own is None else float64(own),
                bias=float64(layer.bias),
                te=float64(layer.te),
                turns=None if turns is None else float64(turns),
                table=layer.table,
                alpha=decay_values(alpha),
                beta=decay_values(beta),
                theta0=theta0,
                gamma=gamma,
                kind=layer_kind(layer.kind),
                relays=layer.relays,
                lag=i + 1,
                delay_shift=False,
                delay=layer.delay,
                weight_bits=layer.weight_bits,
            )
        )
    readout = None
    if chain.readout is not None:
        readout = float64(chain.readout[0]), float64(chain.readout[1])
    for each in layers:
        for what in ("weight", "bias", "te"):
            require_finite(each.name, what, getattr(each, what), _CONSTANTS)
    for what, values in zip(("weight", "bias"), readout or (), strict=False):
        require_finite("readout", what, values, _CONSTANTS)
    return FloatNetwork(layers, readout, chain.steps, tensors, relays_input=chain.relays_input)
