"""``to_netx``: a trained network becomes a netx file, and a report says what that cost."""

from __future__ import annotations

import copy
import hashlib
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import torch
from torch import nn

from export import loihi2, quantize
from export.model import CelifLayer, CubaLayer, Encoding, FixedNetwork, ModelError
from export.netx import read_layer, te_array, write_layer, write_netx
from export.quantize import Choice, FloatLayer
from export.report import ExportReport, LayerReport
from export.twin import delayed, run_layer, synaptic_sums
from training.network import Network
from training.neuron import Neuron

CALIBRATION_SAMPLES = 256
"""Calibration uses at most this many samples; more would only cost time and memory."""


@dataclass(frozen=True)
class _Stack:
    """A network as a list of layers to convert: CE-LIF in float, others as they export."""

    layers: list[FloatLayer | CubaLayer]
    readout: tuple[np.ndarray, np.ndarray] | None
    steps: int
    tensors: dict[str, torch.Tensor]


def to_netx(
    net: nn.Module | Iterable[nn.Module],
    path: str | os.PathLike[str],
    calibration: torch.Tensor | np.ndarray | None = None,
    *,
    weight_bits: int = 8,
    te_bits: int = 8,
    input_bits: int = 8,
    permutation: Iterable[int] | None = None,
) -> ExportReport:
    """Export a network to a netx HDF5 file.

    Parameters
    ----------
    net
        A :class:`training.Network`, or a sequence of blocks (``block.Dense`` and SLAYER's CUBA
        ``Dense``), e.g. an ``nn.ModuleList``.
    path
        Where to; an existing file is replaced only by a complete new one.
    calibration
        Typical inputs (batch, channel, time). Needed by a ``Network``; without it, blocks are
        taken to receive spikes, and fractional bits come from proof alone.
    weight_bits, te_bits
        Bits of the mantissas: weights 2..8, TE 2..16. Blocks bring their own weight bits.
    input_bits
        Most bits of a graded input spike, 1..16.
    permutation
        Order of the time steps that ``encode`` applies, for networks trained on permuted data;
        ``calibration`` is taken as permuted already.

    Returns
    -------
    ExportReport
        Formats, errors and bounds of every layer, memory.
    """
    if not 2 <= weight_bits <= loihi2.WEIGHT_BITS:
        raise ModelError(f"weight_bits: expected 2..{loihi2.WEIGHT_BITS}, got {weight_bits}")
    if not 2 <= te_bits <= loihi2.TE_BITS_MAX:
        raise ModelError(f"te_bits: expected 2..{loihi2.TE_BITS_MAX}, got {te_bits}")
    x = None if calibration is None else _calibration(calibration)
    stack = (
        _network_stack(net, weight_bits, te_bits)
        if isinstance(net, Network)
        else _block_stack(net, x, te_bits)
    )
    for name, tensor in stack.tensors.items():
        quantize.require_finite("network", name, tensor.numpy())
    if x is not None:
        _check_calibration(x, stack)
        order = None if permutation is None else np.asarray(list(permutation), np.int64)
        encoding = quantize.choose_encoding(x, input_bits, order)
    elif isinstance(net, Network):
        raise ModelError("calibration: expected typical inputs (batch, channel, time), got None")
    else:
        encoding = Encoding(stack.layers[0].weight.shape[1], 1.0, 1, signed=False)
    fixed, choices = _integers(stack, encoding, x, weight_bits)
    write_netx(fixed, path)
    return _report(fixed, stack, choices, Path(path))


def _calibration(x: torch.Tensor | np.ndarray) -> np.ndarray:
    values = np.asarray(x.detach().cpu() if isinstance(x, torch.Tensor) else x, np.float64)
    if values.ndim != 3 or values.size == 0:
        raise ModelError(
            f"calibration: expected non-empty (batch, channel, time), got shape {values.shape}"
        )
    return values[:CALIBRATION_SAMPLES]


def _check_calibration(x: np.ndarray, stack: _Stack) -> None:
    inputs = stack.layers[0].weight.shape[1]
    if x.shape[1] != inputs or x.shape[2] > stack.steps:
        raise ModelError(
            f"calibration: expected (batch, {inputs}, time) with up to {stack.steps} time steps, "
            f"as the network's TE has, got shape {x.shape}"
        )


def digest(tensor: torch.Tensor) -> str:
    """Checksum of a float tensor, by which a file knows what it was exported from."""
    content = np.ascontiguousarray(tensor.numpy().astype("<f4"))
    return hashlib.sha256(str(content.shape).encode() + content.tobytes()).hexdigest()


def _network_stack(net: Network, weight_bits: int, te_bits: int) -> _Stack:
    tensors = {name: p.detach().cpu() for name, p in net.named_parameters()}
    te = tensors["te"].numpy().astype(np.float64)
    quantize.require_finite("network", "te", te)
    neuron = {name: net.config[name] for name in ("alpha", "beta", "theta0")}
    layers: list[FloatLayer | CubaLayer] = []
    for i in range(len(net.layers)):
        weight, bias = tensors[f"layers.{i}.weight"], tensors[f"layers.{i}.bias"]
        layers.append(
            FloatLayer(
                name=f"layer {i}",
                weight=weight.numpy().astype(np.float64),
                bias=bias.numpy().astype(np.float64),
                te=te[: len(weight)],
                lag=i + 1,
                delay_shift=False,
                weight_bits=weight_bits,
                te_bits=te_bits,
                te_exp=quantize.table_exponent(te, te_bits),
                **neuron,
            )
        )
    readout = tuple(tensors[f"readout.{n}"].numpy().astype(np.float64) for n in ("weight", "bias"))
    return _Stack(layers, readout, net.steps, tensors)


def _block_stack(
    blocks: nn.Module | Iterable[nn.Module], x: np.ndarray | None, te_bits: int
) -> _Stack:
    modules = list(blocks.children()) if isinstance(blocks, nn.Module) else list(blocks)
    if not modules:
        raise ModelError("network: expected at least one block, got none")
    if x is not None:
        _forward(modules, x)  # SLAYER's neurons learn their shape from their first input
    layers: list[FloatLayer | CubaLayer] = []
    tensors: dict[str, torch.Tensor] = {}
    lag, steps = 1, 0
    for i, module in enumerate(modules):
        layer = _block_layer(module, i, lag, te_bits)
        tensors |= {f"{i}.{n}": p.detach().cpu() for n, p in module.named_parameters()}
        layers.append(layer)
        lag += 1 - layer.delay_shift
        steps = max(steps, layer.te.shape[1]) if isinstance(layer, FloatLayer) else steps
    if steps == 0:
        raise ModelError(
            "network: expected at least one CELIF block, got none; export a stock network with "
            "its blocks' own export_hdf5"
        )
    return _Stack(layers, None, steps, tensors)


@torch.no_grad()
def _forward(modules: list[nn.Module], x: np.ndarray) -> None:
    h = torch.as_tensor(x, dtype=torch.float32)
    for module in modules:
        h = copy.deepcopy(module).eval()(h) if _knows_shape(module) else module(h)


def _knows_shape(module: nn.Module) -> bool:
    return getattr(getattr(module, "neuron", None), "shape", None) is not None


def _block_layer(module: nn.Module, i: int, lag: int, te_bits: int) -> FloatLayer | CubaLayer:
    name = f"layer {i}"
    neuron = getattr(module, "neuron", None)
    if neuron is None or not hasattr(module, "export_hdf5") or not hasattr(module, "synapse"):
        raise ModelError(
            f"{name}: expected a CELIF or SLAYER CUBA Dense block, got {type(module).__name__}"
        )
    if isinstance(neuron, Neuron):
        return _celif_values(module, name, lag, te_bits)
    if not _knows_shape(module):
        raise ModelError(f"{name}: run a forward pass, or pass calibration data, before exporting")
    # A copy, because SLAYER's export removes weight normalisation from what it exports.
    with h5py.File("block", "w", driver="core", backing_store=False) as f:
        copy.deepcopy(module).export_hdf5(f.create_group("layer/0"))
        if "delay" in f["layer/0"]:
            raise ModelError(f"{name} delay: axonal delays are not supported")
        f["layer/0/lag"], f["layer/0/delayShift"] = lag, bool(module.delay_shift)
        layer = read_layer(f, 0, name)
    if not isinstance(layer, CubaLayer):
        raise ModelError(f"{name}: expected a CUBA block, got a {layer.kind} one")
    return layer


def _celif_values(module: Any, name: str, lag: int, te_bits: int) -> FloatLayer:
    neuron: Neuron = module.neuron
    if getattr(module.synapse, "weight_norm_enabled", False):
        module = copy.deepcopy(module)
        module.synapse.disable_weight_norm()
    weight = module.synapse.weight.detach().cpu()
    table = neuron.te.detach().cpu().numpy().astype(np.float64)
    quantize.require_finite(name, "te", table)
    bias = torch.zeros(neuron.num_neurons) if neuron.bias is None else neuron.bias.detach().cpu()
    return FloatLayer(
        name=name,
        weight=weight.reshape(weight.shape[:2]).numpy().astype(np.float64),
        bias=bias.numpy().astype(np.float64),
        te=table[: neuron.num_neurons],
        alpha=neuron.alpha,
        beta=neuron.beta,
        theta0=neuron.theta0,
        lag=lag,
        delay_shift=bool(module.delay_shift),
        weight_bits=neuron.weight_bits,
        te_bits=te_bits,
        te_exp=quantize.table_exponent(table, te_bits),
    )


def _integers(
    stack: _Stack, encoding: Encoding, x: np.ndarray | None, weight_bits: int
) -> tuple[FixedNetwork, list[Choice | None]]:
    """Convert layer by layer; each is calibrated on what the integer layers before it send."""
    scale, input_range = encoding.scale, encoding.range
    inputs = None
    if x is not None:
        inputs = np.clip(np.rint(x.transpose(0, 2, 1) / scale), *input_range)
    layers: list[CelifLayer | CubaLayer] = []
    choices: list[Choice | None] = []
    for values in stack.layers:
        layer: CelifLayer | CubaLayer
        choice = None
        if isinstance(values, FloatLayer):
            layer, choice = quantize.choose_layer(values, scale, input_range, inputs)
        else:
            layer = values
        layers.append(layer)
        choices.append(choice)
        if inputs is not None:
            sums = synaptic_sums(layer, inputs, max(map(abs, input_range)))
            spikes = run_layer(layer, sums, keep=False).spikes
            inputs = delayed(spikes) if layer.delay_shift else spikes
        scale, input_range = 1.0, (0, 1)
    last = layers[-1]
    readout = None
    if stack.readout is not None:
        readout = quantize.integer_readout(
            f"layer {len(layers)}",
            *stack.readout,
            lag=last.lag + 1 - last.delay_shift,
            bits=weight_bits,
        )
    gap = int(any(layer.delay_shift for layer in layers))
    digests = {name: digest(tensor) for name, tensor in stack.tensors.items()}
    fixed = FixedNetwork(tuple(layers), readout, stack.steps, gap, encoding, digests)
    return fixed, choices


def write_block(module: Any, handle: h5py.Group) -> None:
    """Write one CE-LIF block on its own, with its own TE, for spiking input of lag 1."""
    values = _celif_values(module, "block", lag=1, te_bits=8)
    layer, _ = quantize.choose_layer(values, 1.0, (0, 1), None)
    write_layer(handle, layer, te_array)


def _report(
    fixed: FixedNetwork, stack: _Stack, choices: list[Choice | None], path: Path
) -> ExportReport:
    layers = []
    scale = fixed.encoding.scale
    for layer, values, choice in zip(fixed.layers, stack.layers, choices, strict=True):
        if isinstance(layer, CelifLayer) and isinstance(values, FloatLayer) and choice:
            layers.append(LayerReport.of(layer, values, scale, choice))
        scale = 1.0
    return ExportReport(path, path.stat().st_size, fixed.encoding, tuple(layers))
