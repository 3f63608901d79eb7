"""A trained network becomes integers: read, compared with its forward pass, given formats."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import torch
from torch import nn

from export.checks import ModelError
from export.convert.choose import choose_network
from export.convert.float_network import FloatNetwork, read_network, require_finite
from export.convert.formats import Choice, Formats
from export.convert.reading.from_blocks import read_blocks, require_own_forward
from export.convert.reading.from_module import clone_of, has_slayer_neurons, is_chain, read_module
from export.convert.reading.own_forward import require_floats
from export.convert.round import choose_encoding
from export.model.input_coding import Encoding
from export.model.network import FixedNetwork
from export.model.slayer import SlayerLayer
from training.functional import hooked
from training.network.network import Network
from training.network.synapses import Synapses
from training.network.temporal_encoding import Cosine

CALIBRATION_SAMPLES = 256
"""Calibration uses at most this many samples, spread over those it is given."""


def convert(
    net: nn.Module | Iterable[nn.Module],
    calibration: torch.Tensor | np.ndarray | None,
    formats: Formats,
) -> tuple[FloatNetwork, FixedNetwork, list[Choice | None]]:
    """Return a network in float as it was read, in integers, and why it has its fractional bits."""
    x = None if calibration is None else _calibration(calibration)
    if isinstance(net, Network) and x is None:
        raise ModelError(
            "calibration: expected typical inputs (batch, channel, time), got None; pass some "
            "of the training data"
        )
    floats = read(net, x)
    flat = x
    if x is not None and x.ndim == 5:  # as the file numbers pixels
        flat = x.reshape(len(x), -1, x.shape[4])
    encoding = encode_inputs(floats, flat, formats.input_bits)
    _require_relays(floats, encoding)
    if x is not None and isinstance(net, nn.Module) and is_followed(net):
        require_floats(clone_of(net), floats, x, type(net).__name__)
    elif not isinstance(net, Network):
        require_own_forward(net, x)
    fixed, choices = choose_network(floats, encoding, flat, formats)
    return floats, replace(fixed, digests=digests(floats)), choices


def read(net: nn.Module | Iterable[nn.Module], x: np.ndarray | None) -> FloatNetwork:
    """Read a network in float: a plain Network, a chain of blocks, or any module's forward pass.

    ``x`` are a few samples as the network takes them; only a chain of blocks can do without.
    """
    if isinstance(net, Network) and _is_plain(net):
        return read_network(net)
    if x is not None and isinstance(net, nn.Module) and is_followed(net):
        return read_module(net, x)
    return read_blocks(net, x)


def is_followed(net: nn.Module) -> bool:
    """Whether the layers of ``net`` are read from its forward pass, not by construction."""
    if isinstance(net, Network):
        return not _is_plain(net)
    return not is_chain(net) and not has_slayer_neurons(net)


def _require_relays(floats: FloatNetwork, encoding: Encoding) -> None:
    if floats.relays_input and encoding.range != (0, 1):
        raise ModelError(
            f"network forward: expected spikes, 0 or 1, as input, because it reaches layers beyond "
            f"the first one, got values in {encoding.range[0]}..{encoding.range[1]} units of "
            f"{encoding.scale:g}; encode the data as spikes, or add the input to the first layer "
            "only"
        )


def _is_plain(net: Network) -> bool:
    """Whether ``net`` is a Network through and through, whose forward pass is known."""
    kinds = (Network, Synapses, Cosine, nn.Linear, nn.ModuleList, nn.ModuleDict)
    return all(
        type(module) in kinds and not hooked(module) and "forward" not in vars(module)
        for module in net.modules()
    )


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
    require_finite("calibration", "x", values, "clean the data")
    return values


def encode_inputs(floats: FloatNetwork, x: np.ndarray | None, bits: int) -> Encoding:
    """Choose how inputs like ``x`` become graded spikes; without data they are spikes already."""
    inputs = floats.inputs
    if x is None:
        return Encoding(inputs, 1.0, 1, signed=False)
    if x.shape[1] != inputs or x.shape[2] > floats.steps:
        raise ModelError(
            f"calibration: expected (batch, {inputs}, time) with up to {floats.steps} time steps, "
            f"as the network's TE has, got shape {x.shape}; time is the last axis; shorten longer "
            "samples, or build the network with more steps"
        )
    # SLAYER's weights are what they are: no scale can be folded into them.
    whole = isinstance(floats.layers[0], SlayerLayer)
    return choose_encoding(x, bits, floats.permutation, whole=whole)


def digest(tensor: torch.Tensor) -> str:
    """Return the checksum of a float tensor, by which a file knows what it was exported from."""
    content = np.ascontiguousarray(tensor.numpy().astype("<f4"))
    return hashlib.sha256(str(content.shape).encode() + content.tobytes()).hexdigest()


def digests(floats: FloatNetwork) -> dict[str, str]:
    """Return the checksums of all tensors that a network was made of."""
    return {name: digest(tensor) for name, tensor in floats.tensors.items()}
