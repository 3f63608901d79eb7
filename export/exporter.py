"""``to_netx``: a trained network becomes a netx file, and a report says what that cost."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import h5py
import numpy as np
from torch import nn

from export.checks import ModelError
from export.convert.calibration_data import Calibration, as_samples
from export.convert.choose import choose_network
from export.convert.float_network import FloatLayer, FloatNetwork
from export.convert.formats import Bits, Choice, Formats, LayerInputs, judge_fraction_bits
from export.convert.reading.from_blocks import read_blocks
from export.convert.round import scales
from export.convert.to_integers import convert, digests, encode_inputs
from export.loihi2 import STATE_MAX
from export.model.celif import CelifLayer
from export.model.lif import LeakyLayer
from export.model.network import Encoding, FixedNetwork
from export.model.task_label import TaskLabel
from export.netx.hdf5_kinds import NETX
from export.netx.write import te_array, write_layer, write_netx
from export.qat.network import QuantizedNetwork
from training.support.replaceable import require_replaceable
from training.support.summary import Summarised, Summary

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
        A :class:`training.Network`, any module whose forward pass is made of layers of neurons and
        weighted sums between them, or a sequence of blocks, ours and SLAYER's CUBA and
        sigma-delta ones, e.g. an ``nn.Sequential``, with a ``block.Readout`` or ``nn.Linear`` for
        the mean of the last spikes at its end or none. What :func:`export.quantize` made has its
        formats already: it is exported unchanged, and the arguments below are ignored.
    path
        Where to; an existing HDF5 file is replaced, by a complete new one, and no other file.
    calibration
        Typical inputs (batch, channel, time) or, for convolutions, (batch, channel, row, column,
        time); a DataLoader or a Dataset of such samples will do, too. Needed by a ``Network``
        and by a module, whose forward pass is followed on them; without it, blocks are taken to
        receive spikes, and fractional bits come from proof alone.
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
    require_replaceable(path, NETX)
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
            given = LayerInputs(input_range, None, fixed.steps)
            choice = judge_fraction_bits(layer, given)
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


def plain(value: int | np.ndarray) -> int | list[int]:
    """Return one exponent, or a list of them, for JSON."""
    return value.tolist() if isinstance(value, np.ndarray) else int(value)


@dataclass(frozen=True)
class LayerReport:
    """Formats and errors of a layer; errors are the largest, in the float's own unit.

    A layer without TE has 0 for its bits, exponent and bytes, and ``none`` for its encoding.
    """

    name: str
    neurons: int
    inputs: int
    fraction_bits: int
    proven: bool
    """Whether saturation is excluded for every input, not only in calibration."""
    verdict: str
    """If it is not: which register can overflow, and what to change."""
    headroom_bits: float
    """Bits between the largest state (proven, or seen) and the end of the register."""
    weight_bits: int
    te_bits: int
    te_encoding: str
    """``table``, ``packed`` or ``cosine``, see :mod:`export.model.te`."""
    te_hold: int
    weight_exp: int | list[int]
    te_exp: int | list[int]
    """Exponents: one for all, or one per output channel."""
    bias_exp: int
    weight_error: float
    te_error: float
    bias_error: float
    alpha_error: float
    beta_error: float
    weight_bytes: int
    te_bytes: int

    @classmethod
    def of(cls, layer: LeakyLayer, values: FloatLayer, choice: Choice) -> LayerReport:
        """Compare a layer's integers with the floats they came from."""

        def largest(integers: np.ndarray, unit: np.ndarray | float, floats: np.ndarray) -> float:
            return float(np.abs(integers * unit - floats).max())

        unit = 1 / scales(layer.weight_exp, layer.weight.ndim)
        worth = values.input_scale * 2.0**layer.input_exp
        te: dict[str, Any] = dict.fromkeys(
            ("te_bits", "te_hold", "te_exp", "te_error", "te_bytes"), 0
        )
        te["te_encoding"] = "none"
        if isinstance(layer, CelifLayer):
            te = {
                "te_bits": layer.te_bits,
                "te_encoding": layer.te_form.encoding,
                "te_hold": layer.te_form.hold,
                "te_exp": plain(layer.te_exp),
                "te_error": largest(layer.te, 1 / scales(layer.te_exp, 2), values.te),
                "te_bytes": layer.te_form.bytes(layer.rows, layer.te.shape[1], layer.te_bits),
            }
        exact = layer.floats

        return cls(
            name=layer.name,
            neurons=layer.neurons,
            inputs=layer.inputs,
            fraction_bits=layer.fraction_bits,
            proven=choice.proven,
            verdict=choice.verdict,
            headroom_bits=float(np.log2(STATE_MAX / max(choice.largest_state, 1))),
            weight_bits=layer.weight_bits,
            weight_exp=plain(layer.weight_exp),
            bias_exp=layer.bias_exp,
            weight_error=largest(layer.weight, unit, values.folded_weight(layer.input_exp)) / worth,
            bias_error=largest(layer.bias, 2.0**-layer.fraction_bits, values.bias),
            alpha_error=float(np.abs(exact["alpha"] - values.alpha).max()),
            beta_error=float(np.abs(exact.get("beta", values.beta) - values.beta).max()),
            weight_bytes=layer.weight.size * layer.weight_bits // 8,
            **te,
        )


@dataclass(frozen=True)
class ExportReport(Summarised):
    """Result of :func:`export.to_netx`: formats and errors, layer by layer."""

    path: Path
    file_bytes: int
    encoding: Encoding
    layers: tuple[LayerReport, ...]

    def summary(self) -> Summary:
        """Return the formats and the largest rounding errors of every CE-LIF layer."""
        rows = tuple(
            (
                layer.name,
                f"{layer.neurons}×{layer.inputs}",
                str(layer.fraction_bits),
                "proven" if layer.proven else "calibrated",
                f"{layer.weight_bits} bits ± {layer.weight_error:.0e}",
                f"{layer.te_bits} bits ± {layer.te_error:.0e}",
            )
            for layer in self.layers
        )
        columns = ("layer", "shape", "F", "range", "weights", "TE")
        return Summary(f"{self.path} ({self.file_bytes:,} bytes)", columns, rows)

    @property
    def proven(self) -> bool:
        """Whether no register of any CE-LIF layer can saturate, whatever the input."""
        return all(layer.proven for layer in self.layers)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        code = self.encoding
        return {
            "path": str(self.path),
            "file_bytes": self.file_bytes,
            "proven": self.proven,
            "input": {"scale": code.scale, "bits": code.bits, "signed": code.signed},
            "layers": [asdict(layer) for layer in self.layers],
        }
