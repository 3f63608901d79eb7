"""A trained network becomes integers: read, compared with its forward pass, given formats.

Calibration samples decide how its inputs become graded spikes, and which formats suit it.
"""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import nn

from export import loihi2
from export.checks import ModelError
from export.convert.calibration_data import JOIN
from export.convert.choose import choose_network
from export.convert.float_network import (
    FloatLayer,
    FloatNetwork,
    read_network,
    require_finite,
)
from export.convert.formats import Choice, Formats
from export.convert.reading.from_blocks import read_blocks, require_own_forward
from export.convert.reading.from_module import (
    clone_of,
    has_only_blocks,
    has_slayer_neurons,
    is_chain,
    read_module,
)
from export.convert.reading.own_forward import require_floats
from export.convert.round import LayerFormat, integer_layer, mantissas
from export.model.lif import LeakyLayer
from export.model.network import Encoding, FixedNetwork, ReadoutLayer
from export.model.slayer import SlayerLayer
from training.decays import Decay
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
    if isinstance(net, nn.Module):
        _require_one_input(net)
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
    if x is not None and not x.any():
        raise ModelError(
            f"calibration: expected typical inputs, got {len(x)} samples of nothing but zeros, "
            "which tell neither the range of the inputs nor what the neurons do; pass some of the "
            "training data"
        )
    fixed, choices = choose_network(floats, encoding, flat, formats)
    return floats, replace(fixed, digests=digests(floats)), choices


def _require_one_input(net: nn.Module) -> None:
    given = inspect.signature(net.forward).parameters.values()
    needed = [
        p.name
        for p in given
        if p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
    ]
    if len(needed) > 1:
        raise ModelError(
            f"network forward: expected one input, as a file has, got {type(net).__name__}.forward("
            f"{', '.join(needed)}); {JOIN}"
        )


def read(net: nn.Module | Iterable[nn.Module], x: np.ndarray | None) -> FloatNetwork:
    """Read a network in float: a plain Network, a chain of blocks, or any module's forward pass.

    ``x`` are a few samples as the network takes them; only a chain of blocks needs none.
    """
    if isinstance(net, Network) and _is_plain(net):
        return read_network(net)
    if x is not None and isinstance(net, nn.Module) and is_followed(net):
        return read_module(net, x)
    if isinstance(net, nn.Module) and is_followed(net) and not has_only_blocks(net, nn.Linear):
        raise ModelError(
            f"calibration: expected typical inputs (batch, channel, time), on which the forward "
            f"pass of {type(net).__name__} is followed, got None; pass calibration=x with some of "
            "the training data, or a sequence of blocks, which needs none"
        )
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
    kinds = (Network, Synapses, Cosine, Decay, nn.Linear, nn.ModuleList, nn.ModuleDict)
    return all(
        type(module) in kinds and not hooked(module) and "forward" not in vars(module)
        for module in net.modules()
    )


def digest(tensor: torch.Tensor) -> str:
    """Return the checksum of a float tensor, by which a file knows what it was exported from."""
    content = np.ascontiguousarray(tensor.numpy().astype("<f4"))
    return hashlib.sha256(str(content.shape).encode() + content.tobytes()).hexdigest()


def digests(floats: FloatNetwork) -> dict[str, str]:
    """Return the checksums of all tensors that a network was made of."""
    return {name: digest(tensor) for name, tensor in floats.tensors.items()}


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


def choose_encoding(
    x: np.ndarray, bits: int, permutation: np.ndarray | None = None, whole: bool = False
) -> Encoding:
    """Encoding of inputs like ``x`` with at most ``bits`` bits; exact where x lies on a grid.

    With ``whole``, x must be whole numbers, and stays what it is.
    """
    if not 1 <= bits <= loihi2.MESSAGE_BITS_MAX:
        raise ModelError(f"input_bits: expected 1..{loihi2.MESSAGE_BITS_MAX}, got {bits}")
    signed, largest = bool(x.min() < 0), float(np.abs(x).max()) or 1.0
    levels = (1 << bits) - 1
    if whole:
        if largest > levels or not np.array_equal(x, np.rint(x)):
            raise ModelError(
                f"calibration: expected whole numbers up to {levels}, because the first block is a "
                f"CUBA one, got {x.min():g}..{x.max():g}; encode the data as spikes"
            )
        levels = int(largest)
    else:
        levels = _grid(np.unique(x) / largest, levels)
    return Encoding(x.shape[1], largest / levels, levels.bit_length(), signed, permutation)


def _grid(values: np.ndarray, levels: int) -> int:
    """Return the fewest levels on which all ``values`` in −1..1 lie, up to ``levels``."""
    # 0, 1/16, … becomes 16 levels, not 255. Most grids are ruled out by a few of the values.
    few = values[:: -(-len(values) // 64)]

    def holds(grid: int, some: np.ndarray) -> bool:
        return bool(np.abs(some * grid - np.rint(some * grid)).max() < 1e-4)

    fits = (g for g in range(1, levels + 1) if holds(g, few) and holds(g, values))
    return next(fits, levels)


def requantise(net: FloatNetwork, formats: FixedNetwork) -> FixedNetwork:
    """Return the integers of a network's present values in the formats of ``formats``."""
    net = net.with_input_scale(formats.encoding.scale)
    layers: list[Any] = [
        integer_layer(values, LayerFormat.of(form))
        if isinstance(values, FloatLayer) and isinstance(form, LeakyLayer)
        else values  # whose integers are SLAYER's own
        for values, form in zip(net.layers, formats.layers, strict=True)
    ]
    readout = None
    if net.readout is not None and formats.readout is not None:
        readout = requantise_readout(*net.readout, formats.readout)
    return replace(formats, layers=tuple(layers), readout=readout)


def requantise_readout(weight: np.ndarray, bias: np.ndarray, layer: ReadoutLayer) -> ReadoutLayer:
    """Return the integers of a readout's new values in the formats of ``layer``."""
    return replace(
        layer,
        weight=mantissas(weight, layer.weight_exp, layer.weight_bits),
        bias=np.rint(bias * 2.0**layer.weight_exp).astype(np.int64),
    )
