"""Trained networks as lists of layers: CE-LIF in float, CUBA in the integers it exports.

Blocks are read from copies, so that an export changes nothing: SLAYER's own removes weight
normalisation, and its neurons learn their shape from their first input.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import h5py
import numpy as np
import torch
from torch import nn

from export import quantization
from export.checks import ModelError
from export.model import CubaLayer
from export.netx import NetxError
from export.netx_read import read_layer
from export.quantization import FloatLayer
from training.network import Network
from training.neuron import Neuron


@dataclass(frozen=True)
class Stack:
    """A network as a list of layers to convert, and the tensors that it was made of."""

    layers: list[FloatLayer | CubaLayer]
    readout: tuple[np.ndarray, np.ndarray] | None
    steps: int
    tensors: dict[str, torch.Tensor]
    permutation: np.ndarray | None = None


def _finite_tensors(net: nn.Module, prefix: str = "") -> dict[str, torch.Tensor]:
    tensors = {f"{prefix}{name}": p.detach().cpu() for name, p in net.named_parameters()}
    for name, tensor in tensors.items():
        quantization.require_finite("network", name, tensor.numpy(), "the training diverged")
    return tensors


def network_stack(net: Network, weight_bits: int, te_bits: int) -> Stack:
    """Layers of a :class:`training.Network`."""
    if net.config["readout"] != "mean":
        raise ModelError(
            f"network readout: expected mean, the one that a file can say, got "
            f"{net.config['readout']!r}"
        )
    tensors = _finite_tensors(net)
    values = {name: tensor.numpy().astype(np.float64) for name, tensor in tensors.items()}
    layers: list[FloatLayer | CubaLayer] = [
        FloatLayer(
            name=f"layer {i}",
            weight=values[f"layers.{i}.weight"],
            bias=values[f"layers.{i}.bias"],
            te=values["te"][: len(values[f"layers.{i}.weight"])],
            alpha=net.config["alpha"],
            beta=net.config["beta"],
            theta0=net.config["theta0"],
            lag=i + 1,
            delay_shift=False,
            weight_bits=weight_bits,
            te_bits=te_bits,
            te_exp=quantization.table_exponent(values["te"], te_bits),
        )
        for i in range(len(net.layers))
    ]
    order = net.config["permutation"]
    return Stack(
        layers,
        (values["readout.weight"], values["readout.bias"]),
        net.steps,
        tensors,
        None if order is None else np.array(order),
    )


def block_stack(
    blocks: nn.Module | Iterable[nn.Module], x: np.ndarray | None, te_bits: int
) -> Stack:
    """Layers of a sequence of blocks; ``x`` (batch, channel, time) shows them their input."""
    modules = members(blocks)
    if not modules:
        raise ModelError(
            "network: expected at least one block, got none; pass the blocks in their order, or a "
            "training.Network"
        )
    tensors: dict[str, torch.Tensor] = {}
    for i, module in enumerate(modules):
        _check_block(module, f"layer {i}")
        tensors |= _finite_tensors(module, f"{i}.")
    modules = _copies(modules)
    if x is not None:
        _show(modules, x)
    layers: list[FloatLayer | CubaLayer] = []
    lag, steps = 1, 0
    for i, module in enumerate(modules):
        if isinstance(module.neuron, Neuron):
            values = celif_values(module, f"layer {i}", lag, te_bits)
            layers.append(values)
            steps = max(steps, values.te.shape[1])
        else:
            layers.append(_cuba_layer(module, f"layer {i}", lag))
        lag += 1 - layers[-1].delay_shift
    if steps == 0:
        raise ModelError(
            "network: expected at least one CELIF block, got none; export a stock network with "
            "its blocks' own export_hdf5"
        )
    return Stack(layers, None, steps, tensors)


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


def _check_block(module: Any, name: str) -> None:
    neuron = getattr(module, "neuron", None)
    # SLAYER's Affine block has all but the last: it sends currents, not spikes.
    parts = ("export_hdf5", "synapse", "delay_shift")
    if neuron is None or not all(hasattr(module, part) for part in parts):
        raise ModelError(
            f"{name}: expected a CELIF or SLAYER CUBA Dense block, got {type(module).__name__}; "
            "pass the blocks themselves, in their order"
        )
    for what, found in (
        ("delay", getattr(module, "delay", None)),
        ("persistent_state", getattr(neuron, "persistent_state", None)),
    ):
        if found:
            raise ModelError(f"{name} {what}: expected none, got {found}; not supported")
    if getattr(module, "mask", None) is not None and module.synapse.weight_norm_enabled:
        raise ModelError(
            f"{name} mask: expected none with weight_norm, which undoes it in SLAYER's forward "
            "pass, got one"
        )


def _copies(modules: list[Any]) -> list[Any]:
    """The blocks as their next forward pass would use them: normalised, masked, in eval mode."""
    for module in modules:
        if module.synapse.weight_norm_enabled:
            # It may hang on a graph, which cannot be copied; every forward pass makes it anew.
            module.synapse.weight = module.synapse.weight.detach()
    copies = copy.deepcopy(modules)  # in one go, so that what they share stays shared
    for module in copies:
        module.eval()
        if module.synapse.weight_norm_enabled:
            module.synapse.disable_weight_norm()
        if getattr(module, "mask", None) is not None:
            module.synapse.weight.data *= module.mask
    return copies


@torch.no_grad()
def _show(modules: list[Any], x: np.ndarray) -> None:
    channels = modules[0].synapse.in_channels
    if x.shape[1] != channels:
        raise ModelError(
            f"calibration: expected (batch, {channels}, time), as many channels as the first "
            f"block has inputs, got shape {x.shape}; time is the last axis, transpose if it is not"
        )
    h = torch.as_tensor(x, dtype=torch.float32)
    for module in modules:
        h = module(h)


def celif_values(module: Any, name: str, lag: int, te_bits: int) -> FloatLayer:
    """Float values of a CE-LIF block, as its forward pass uses them."""
    neuron: Neuron = module.neuron
    weight = module.synapse.weight.detach()
    if module.synapse.pre_hook_fx is not None:
        weight = module.synapse.pre_hook_fx(weight)
    table = neuron.te.detach().cpu().numpy().astype(np.float64)
    bias = torch.zeros(neuron.num_neurons) if neuron.bias is None else neuron.bias.detach().cpu()
    return FloatLayer(
        name=name,
        weight=weight.flatten(1).cpu().numpy().astype(np.float64),
        bias=bias.numpy().astype(np.float64),
        te=table[: neuron.num_neurons],
        alpha=neuron.alpha,
        beta=neuron.beta,
        theta0=neuron.theta0,
        lag=lag,
        delay_shift=bool(module.delay_shift),
        weight_bits=neuron.weight_bits,
        te_bits=te_bits,
        te_exp=quantization.table_exponent(table, te_bits),
    )


def _cuba_layer(module: Any, name: str, lag: int) -> CubaLayer:
    if module.neuron.shape is None:
        raise ModelError(f"{name}: run a forward pass, or pass calibration data, before exporting")
    with h5py.File("block", "w", driver="core", backing_store=False) as f:
        module.export_hdf5(f.create_group("layer/0"))
        f["layer/0/lag"], f["layer/0/delayShift"] = lag, bool(module.delay_shift)
        if "weight_exp" in f["layer/0/neuron"]:
            raise ModelError(
                f"{name} norm: expected none that scales weights, got "
                f"{type(module.neuron.norm).__name__}; netx never reads its scale"
            )
        try:
            layer = read_layer(f, 0, name)
        except NetxError as error:
            raise ModelError(
                f"{name} {error.dataset.removeprefix('/layer/0/')}: expected {error.expected}, "
                f"got {error.found}; only SLAYER's CUBA Dense block is supported"
            ) from None
    if not isinstance(layer, CubaLayer):
        raise ModelError(f"{name}: expected a CUBA block, got a {layer.kind} one")
    return layer
