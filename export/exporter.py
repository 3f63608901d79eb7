"""``to_netx``: a trained network becomes a netx file, and a report says what that cost."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import torch
from torch import nn

from export import bounds, loihi2, quantization
from export.checks import ModelError
from export.encoding import Encoding
from export.model import CelifLayer, CubaLayer, FixedNetwork
from export.netx import te_array, write_layer, write_netx
from export.qat import QuantizedNetwork
from export.quantization import Choice, FloatLayer
from export.report import ExportReport, LayerReport
from export.scans import run_layer
from export.stacks import Stack, block_stack, network_stack
from export.synapses import sent
from export.twin import arriving_sums
from training.network import Network

CALIBRATION_SAMPLES = 256
"""Calibration uses at most this many samples, spread over those it is given."""


def to_netx(
    net: nn.Module | Iterable[nn.Module],
    path: str | os.PathLike[str],
    calibration: torch.Tensor | np.ndarray | None = None,
    *,
    weight_bits: int = 8,
    te_bits: int = 8,
    input_bits: int = 8,
) -> ExportReport:
    """Export a network to a netx HDF5 file.

    Parameters
    ----------
    net
        A :class:`training.Network`, or a sequence of blocks (``block.Dense`` and SLAYER's CUBA
        ``Dense``), e.g. an ``nn.ModuleList``. What :func:`export.quantize` made has its formats
        already: it is exported as it is, and the arguments below have no say.
    path
        Where to; an existing file is replaced only by a complete new one.
    calibration
        Typical inputs (batch, channel, time). Needed by a ``Network``; without it, blocks are
        taken to receive spikes, and fractional bits come from proof alone.
    weight_bits, te_bits
        Bits of the mantissas: weights 2..8, TE 2..16. Blocks bring their own weight bits.
    input_bits
        Most bits of a graded input spike, 1..16.

    Returns
    -------
    ExportReport
        Formats, errors and bounds of every layer, memory.
    """
    if isinstance(net, QuantizedNetwork):
        stack, fixed, choices = _quantized(net)
    else:
        stack, fixed, choices = convert(
            net,
            calibration,
            weight_bits=weight_bits,
            te_bits=te_bits,
            input_bits=input_bits,
        )
    write_netx(fixed, path)
    return _report(fixed, stack, choices, Path(path))


def _quantized(net: QuantizedNetwork) -> tuple[Stack, FixedNetwork, list[Choice | None]]:
    """A quantisation-aware network as it is, its bounds proven anew."""
    fixed = net.fixed()
    first = fixed.layers[0]
    assert isinstance(first, CelifLayer)  # a Network has no others
    stack = network_stack(net.net, first.weight_bits, first.te_bits)
    input_range = fixed.encoding.range
    choices: list[Choice | None] = []
    for layer in fixed.layers:
        assert isinstance(layer, CelifLayer)
        bound = bounds.worst_case(layer, *input_range)
        choices.append(Choice(layer.fraction_bits, bound.safe, max(bound)))
        input_range = 0, 1
    digests = {name: digest(tensor) for name, tensor in stack.tensors.items()}
    return stack, replace(fixed, digests=digests), choices


def convert(
    net: nn.Module | Iterable[nn.Module],
    calibration: torch.Tensor | np.ndarray | None,
    *,
    weight_bits: int = 8,
    te_bits: int = 8,
    input_bits: int = 8,
) -> tuple[Stack, FixedNetwork, list[Choice | None]]:
    """Integers of a network, beside the floats they came from and how their formats were chosen.

    Arguments are those of :func:`to_netx`.
    """
    if not 2 <= weight_bits <= loihi2.WEIGHT_BITS:
        raise ModelError(f"weight_bits: expected 2..{loihi2.WEIGHT_BITS}, got {weight_bits}")
    if not 2 <= te_bits <= loihi2.TE_BITS_MAX:
        raise ModelError(f"te_bits: expected 2..{loihi2.TE_BITS_MAX}, got {te_bits}")
    x = None if calibration is None else _calibration(calibration)
    if isinstance(net, Network):
        if x is None:
            raise ModelError(
                "calibration: expected typical inputs (batch, channel, time), got None; pass some "
                "of the training data"
            )
        stack = network_stack(net, weight_bits, te_bits)
    else:
        stack = block_stack(net, x, te_bits)
    encoding = _encoding(stack, x, input_bits)
    fixed, choices = _integers(stack, encoding, x, weight_bits)
    return stack, fixed, choices


def _calibration(x: torch.Tensor | np.ndarray) -> np.ndarray:
    x = x.detach().cpu().numpy() if isinstance(x, torch.Tensor) else np.asarray(x)
    if x.ndim and len(x) > CALIBRATION_SAMPLES:
        # Spread over all of them: data are often sorted by class.
        x = x[np.linspace(0, len(x) - 1, CALIBRATION_SAMPLES).astype(int)]
    values = np.asarray(x, np.float64)
    if values.ndim != 3 or values.size == 0:
        raise ModelError(
            f"calibration: expected non-empty (batch, channel, time), got shape {values.shape}; "
            "add the missing axis, e.g. x[:, None, :] for one channel"
        )
    quantization.require_finite("calibration", "x", values, "clean the data")
    return values


def _encoding(stack: Stack, x: np.ndarray | None, bits: int) -> Encoding:
    inputs = stack.layers[0].weight.shape[1]
    if x is None:
        return Encoding(inputs, 1.0, 1, signed=False)
    if x.shape[1] != inputs or x.shape[2] > stack.steps:
        raise ModelError(
            f"calibration: expected (batch, {inputs}, time) with up to {stack.steps} time steps, "
            f"as the network's TE has, got shape {x.shape}; time is the last axis; shorten longer "
            "samples, or build the network with more steps"
        )
    # The weights of a CUBA layer are what they are: no scale can be folded into them.
    whole = isinstance(stack.layers[0], CubaLayer)
    return quantization.choose_encoding(x, bits, stack.permutation, whole=whole)


def digest(tensor: torch.Tensor) -> str:
    """Checksum of a float tensor, by which a file knows what it was exported from."""
    content = np.ascontiguousarray(tensor.numpy().astype("<f4"))
    return hashlib.sha256(str(content.shape).encode() + content.tobytes()).hexdigest()


def _integers(
    stack: Stack, encoding: Encoding, x: np.ndarray | None, weight_bits: int
) -> tuple[FixedNetwork, list[Choice | None]]:
    """Convert layer by layer; each is calibrated on what the integer layers before it send."""
    scale, input_range = encoding.scale, encoding.range
    inputs = None
    if x is not None:
        inputs = encoding.encode(x, stack.steps).transpose(0, 2, 1)
    layers: list[CelifLayer | CubaLayer] = []
    choices: list[Choice | None] = []
    for values in stack.layers:
        layer: CelifLayer | CubaLayer
        choice = None
        if isinstance(values, FloatLayer):
            layer, choice = quantization.choose_layer(values, scale, input_range, inputs)
        else:
            layer = values
        layers.append(layer)
        choices.append(choice)
        if inputs is not None:
            sums = arriving_sums(layer, inputs, max(map(abs, input_range)))
            inputs = sent(run_layer(layer, sums, keep=False).spikes, layer.late)
        scale, input_range = 1.0, (0, 1)
    last = layers[-1]
    readout = None
    if stack.readout is not None:
        readout = quantization.integer_readout(
            f"layer {len(layers)}",
            *stack.readout,
            lag=last.lag + 1 - last.delay_shift,
            bits=weight_bits,
            steps=stack.steps,
        )
    gap = int(any(layer.delay_shift for layer in layers))
    digests = {name: digest(tensor) for name, tensor in stack.tensors.items()}
    fixed = FixedNetwork(tuple(layers), readout, stack.steps, gap, encoding, digests)
    return fixed, choices


def write_block(module: Any, handle: h5py.Group) -> None:
    """Write one CE-LIF block on its own, with its own TE, for spiking input of lag 1."""
    (values,) = block_stack(module, None, te_bits=8).layers
    assert isinstance(values, FloatLayer)
    layer, _ = quantization.choose_layer(values, 1.0, (0, 1), None)
    write_layer(handle, layer, te_array)


def _report(
    fixed: FixedNetwork, stack: Stack, choices: list[Choice | None], path: Path
) -> ExportReport:
    layers = []
    scale = fixed.encoding.scale
    for layer, values, choice in zip(fixed.layers, stack.layers, choices, strict=True):
        if isinstance(layer, CelifLayer) and isinstance(values, FloatLayer) and choice:
            layers.append(LayerReport.of(layer, values, scale, choice))
        scale = 1.0
    return ExportReport(path, path.stat().st_size, fixed.encoding, tuple(layers))
