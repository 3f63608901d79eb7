"""``to_netx``: a trained network becomes a netx file, and a report says what that cost."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import h5py
from torch import nn

from export.checks import ModelError
from export.convert import fraction_bits
from export.convert.calibration import Calibration, as_samples
from export.convert.choose import choose_network
from export.convert.convert import convert, digests, encode_inputs
from export.convert.float_network import FloatLayer, FloatNetwork
from export.convert.formats import Bits, Choice, Formats
from export.convert.fraction_bits import Given
from export.convert.reading.from_blocks import read_blocks
from export.convert.report import ExportReport, LayerReport
from export.model.celif import CelifLayer
from export.model.input_coding import TaskLabel
from export.model.lif import LeakyLayer
from export.model.network import FixedNetwork
from export.netx.write import te_array, write_layer, write_netx
from export.qat.network import QuantizedNetwork

if TYPE_CHECKING:
    from training.tasks import Task


def to_netx(
    net: nn.Module | Iterable[nn.Module],
    path: str | os.PathLike[str],
    calibration: Calibration | None = None,
    *,
    weight_bits: Bits = 8,
    te_bits: Bits = 8,
    task: Task | TaskLabel | str | None = None,
    **formats: Any,
) -> ExportReport:
    """Export a network to a netx HDF5 file.

    Parameters
    ----------
    net
        A :class:`training.Network`, or a sequence of blocks, ours and SLAYER's CUBA and
        sigma-delta ones, e.g. an ``nn.Sequential``, with a ``block.Readout`` or ``nn.Linear`` for
        the mean of the last spikes at its end or none. What :func:`export.quantize` made has its
        formats already: it is exported unchanged, and the arguments below are ignored.
    path
        Where to; an existing file is replaced only by a complete new one.
    calibration
        Typical inputs (batch, channel, time) or, for convolutions, (batch, channel, row, column,
        time); a DataLoader or a Dataset of such samples will do, too. Needed by a ``Network``;
        without it, blocks are taken to receive spikes, and
        fractional bits come from proof alone.
    task
        The task that the network was trained for, or its name. The file keeps it, and the commands
        that read the file refuse samples of another task.
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
        floats, fixed, choices = _quantized(net)
    else:
        floats, fixed, choices = convert(
            net,
            as_samples(calibration),
            Formats(weight_bits=weight_bits, te_bits=te_bits, **formats),
        )
    if task is not None:
        fixed = replace(fixed, task=_label(task))
    write_netx(fixed, path)
    return _report(fixed, floats, choices, Path(path))


def _label(task: Task | TaskLabel | str) -> TaskLabel:
    return TaskLabel(task) if isinstance(task, str) else TaskLabel(task.name, task.encoding)


def _quantized(net: QuantizedNetwork) -> tuple[FloatNetwork, FixedNetwork, list[Choice | None]]:
    """Read a quantisation-aware network as it is, and prove the bounds of its layers again."""
    fixed, floats = net.fixed(), net.floats()
    input_range = fixed.encoding.range
    choices: list[Choice | None] = []
    for layer in fixed.layers:
        choice = None
        if isinstance(layer, LeakyLayer):
            given = Given(input_range, None, fixed.steps)
            choice = fraction_bits.judge(layer, given)
        choices.append(choice)
        input_range = layer.output_range
    return floats, replace(fixed, digests=digests(floats)), choices


def write_block(module: Any, handle: h5py.Group) -> None:
    """Write one CE-LIF block on its own, with its own TE, for spiking input of lag 1."""
    floats = read_blocks(module, None)
    first = floats.layers[0]
    if isinstance(first, FloatLayer) and not issubclass(first.kind, CelifLayer):
        expected = "CE-LIF neurons, whose TE says how long samples are"
        remedy = "export the whole stack with to_netx"
        raise ModelError.about(first.name, "neuron", expected, first.kind.kind, remedy)
    fixed, _ = choose_network(floats, encode_inputs(floats, None, 1), None, Formats())
    write_layer(handle, fixed.layers[0], te_array)


def _report(
    fixed: FixedNetwork, floats: FloatNetwork, choices: list[Choice | None], path: Path
) -> ExportReport:
    scaled = floats.with_input_scale(fixed.encoding.scale)
    layers = [
        LayerReport.of(layer, values, choice)
        for layer, values, choice in zip(fixed.layers, scaled.layers, choices, strict=True)
        if isinstance(layer, LeakyLayer) and isinstance(values, FloatLayer) and choice
    ]
    return ExportReport(path, path.stat().st_size, fixed.encoding, tuple(layers))
