"""``to_netx``: a trained network becomes a netx file, and a report says what that cost."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import torch
from torch import nn

from export.checks import ModelError
from export.convert import fraction_bits
from export.convert import round as quantization
from export.convert.choose import choose_network
from export.convert.float_network import Stack, network_stack
from export.convert.formats import Bits, Formats
from export.convert.fraction_bits import Arriving, Choice
from export.convert.from_blocks import block_stack, require_own_forward
from export.convert.own_forward import require_network
from export.convert.report import ExportReport, LayerReport
from export.convert.round import FloatLayer
from export.model.input_coding import Encoding
from export.model.network import CelifLayer, FixedNetwork
from export.model.slayer import SlayerLayer
from export.netx.te import te_array
from export.netx.write import write_layer, write_netx
from export.qat.network import QuantizedNetwork
from training.network.network import Network

CALIBRATION_SAMPLES = 256
"""Calibration uses at most this many samples, spread over those it is given."""


def to_netx(
    net: nn.Module | Iterable[nn.Module],
    path: str | os.PathLike[str],
    calibration: torch.Tensor | np.ndarray | None = None,
    *,
    weight_bits: Bits = 8,
    te_bits: Bits = 8,
    **formats: Any,
) -> ExportReport:
    """Export a network to a netx HDF5 file.

    Parameters
    ----------
    net
        A :class:`training.Network`, or a sequence of blocks, ours and SLAYER's CUBA and
        sigma-delta ones, e.g. an ``nn.Sequential``, with a ``block.Readout`` or ``nn.Linear`` for
        the mean of the last spikes at its end or none. What :func:`export.quantize` made has its
        formats already: it is exported as it is, and the arguments below have no say.
    path
        Where to; an existing file is replaced only by a complete new one.
    calibration
        Typical inputs (batch, channel, time) or, for convolutions, (batch, channel, row, column,
        time). Needed by a ``Network``; without it, blocks are taken to receive spikes, and
        fractional bits come from proof alone.
    weight_bits, te_bits, **formats
        Formats of the integers, see :class:`export.Formats`: bits of the mantissas for all layers
        or for each, ``per_channel`` exponents, the ``rule`` by which exponents are chosen, how TE
        is kept (``te_encoding``, ``te_hold``), ``input_bits``, and ``fraction_bits`` to force them.

    Returns
    -------
    ExportReport
        Formats, errors and bounds of every layer, memory.
    """
    if isinstance(net, QuantizedNetwork):
        stack, fixed, choices = _quantized(net)
    else:
        stack, fixed, choices = convert(
            net, calibration, Formats(weight_bits=weight_bits, te_bits=te_bits, **formats)
        )
    write_netx(fixed, path)
    return _report(fixed, stack, choices, Path(path))


def _quantized(net: QuantizedNetwork) -> tuple[Stack, FixedNetwork, list[Choice | None]]:
    """A quantisation-aware network as it is, its bounds proven anew."""
    fixed, stack = net.fixed(), net.stack()
    input_range = fixed.encoding.range
    choices: list[Choice | None] = []
    for layer in fixed.layers:
        choice = None
        if isinstance(layer, CelifLayer):
            given = Arriving(input_range, None)
            _, choice = fraction_bits.forced(_always(layer), layer.fraction_bits, given)
        choices.append(choice)
        input_range = layer.output_range
    return stack, replace(fixed, digests=digests(stack)), choices


def _always(layer: CelifLayer) -> Callable[[int], CelifLayer]:
    """The layer as it is, whatever number of fractional bits is asked for."""
    return lambda fraction_bits: layer


def convert(
    net: nn.Module | Iterable[nn.Module],
    calibration: torch.Tensor | np.ndarray | None,
    formats: Formats,
) -> tuple[Stack, FixedNetwork, list[Choice | None]]:
    """Integers of a network, beside the floats they came from and how their formats were chosen."""
    x = None if calibration is None else _calibration(calibration)
    if isinstance(net, Network):
        if x is None:
            raise ModelError(
                "calibration: expected typical inputs (batch, channel, time), got None; pass some "
                "of the training data"
            )
        stack = network_stack(net)
    else:
        stack = block_stack(net, x)
    flat = x
    if x is not None and x.ndim == 5:  # as the file numbers pixels
        flat = x.reshape(len(x), -1, x.shape[4])
    encoding = _encoding(stack, flat, formats.input_bits)
    if isinstance(net, Network):
        assert x is not None
        require_network(net, x)
    else:
        require_own_forward(net, x)
    chosen = choose_network(stack, encoding, flat, formats)
    return stack, replace(chosen.fixed, digests=digests(stack)), chosen.choices


def _calibration(x: torch.Tensor | np.ndarray) -> np.ndarray:
    x = x.detach().cpu().numpy() if isinstance(x, torch.Tensor) else np.asarray(x)
    if x.ndim and len(x) > CALIBRATION_SAMPLES:
        # Spread over all of them: data are often sorted by class.
        x = x[np.linspace(0, len(x) - 1, CALIBRATION_SAMPLES).astype(int)]
    values = np.asarray(x, np.float64)
    if values.ndim not in (3, 5) or values.size == 0:
        raise ModelError(
            f"calibration: expected non-empty (batch, channel, time), got shape {values.shape}; "
            "add the missing axis, e.g. x[:, None, :] for one channel; images have "
            "(batch, channel, row, column, time)"
        )
    quantization.require_finite("calibration", "x", values, "clean the data")
    return values


def _encoding(stack: Stack, x: np.ndarray | None, bits: int) -> Encoding:
    inputs = stack.inputs
    if x is None:
        return Encoding(inputs, 1.0, 1, signed=False)
    if x.shape[1] != inputs or x.shape[2] > stack.steps:
        raise ModelError(
            f"calibration: expected (batch, {inputs}, time) with up to {stack.steps} time steps, "
            f"as the network's TE has, got shape {x.shape}; time is the last axis; shorten longer "
            "samples, or build the network with more steps"
        )
    # SLAYER's weights are what they are: no scale can be folded into them.
    whole = isinstance(stack.layers[0], SlayerLayer)
    return quantization.choose_encoding(x, bits, stack.permutation, whole=whole)


def digest(tensor: torch.Tensor) -> str:
    """Checksum of a float tensor, by which a file knows what it was exported from."""
    content = np.ascontiguousarray(tensor.numpy().astype("<f4"))
    return hashlib.sha256(str(content.shape).encode() + content.tobytes()).hexdigest()


def digests(stack: Stack) -> dict[str, str]:
    """Checksums of all that a network was made of."""
    return {name: digest(tensor) for name, tensor in stack.tensors.items()}


def write_block(module: Any, handle: h5py.Group) -> None:
    """Write one CE-LIF block on its own, with its own TE, for spiking input of lag 1."""
    stack = block_stack(module, None)
    chosen = choose_network(stack, _encoding(stack, None, 1), None, Formats())
    (layer,) = chosen.fixed.layers
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
