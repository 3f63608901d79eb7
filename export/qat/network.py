"""Quantisation-aware training: the forward pass is the integer one, exactly.

:func:`quantize` fixes the formats (exponents, fractional bits, input encoding) as
:func:`export.to_netx` chooses them and returns a module with the network's float parameters. Its
forward pass rounds them to mantissas and runs the twin's integer scan, see
:mod:`export.qat.layer`.
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import nn

from export.convert.calibration_data import Calibration, as_samples
from export.convert.float_network import FloatNetwork
from export.convert.formats import Formats
from export.convert.reading.from_blocks import members
from export.convert.reading.from_module import clone_of
from export.convert.to_integers import convert, is_followed, requantise
from export.model import geometry
from export.model.lif import LeakyLayer
from export.model.network import CelifLayer, FixedNetwork, ModelError
from export.model.trace import Run, Trace
from export.qat.checkpoint import described, from_letters
from export.qat.layer import LayerTensors, Rounded, delay, scan
from export.qat.sources import BlockLayers, FileLayers, ModuleLayers, source_of
from export.twin.scans import arriving_sums, run_layer
from training import checkpoint
from training.network.network import Network
from training.support.uncompiled import uncompiled


class QuantizedNetwork(nn.Module):
    """A network whose forward pass computes what its export will; see :func:`quantize`.

    ``net`` holds the float parameters, which an optimiser trains, learnt decays among them;
    ``formats`` the formats of the integers, thresholds and delays, which stay as they were chosen.
    """

    def __init__(
        self, net: Network | BlockLayers | FileLayers | ModuleLayers, formats: FixedNetwork
    ) -> None:
        super().__init__()
        self.net, self.formats = net, formats

    @classmethod
    def of(cls, fixed: FixedNetwork) -> QuantizedNetwork:
        """The network of a file, with the floats that its integers stand for."""
        return cls(FileLayers(fixed), fixed)

    @functools.cached_property
    def config(self) -> dict[str, Any] | None:
        """What a checkpoint keeps to build this network again; None for one of blocks."""
        if not isinstance(self.net, Network):
            return None
        return described(self.net.config.plain(), self.formats)

    def floats(self) -> FloatNetwork:
        """The present values, layer by layer."""
        return source_of(self.net).floats(self.formats)

    def fixed(self) -> FixedNetwork:
        """The integers that the present parameters stand for."""
        new = requantise(self.floats(), self.formats)
        return replace(new, layers=tuple(map(_same_dynamics, new.layers, self.formats.layers)))

    @uncompiled
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Logits (batch, classes) of ``x`` (batch, channel, time): the integers' sums, scaled.

        Without a readout, the firing rates of a ``Network``'s last layer, or what the last of a
        stack of blocks sends, (batch, …, time).
        """
        sent, fixed = self._scan(x, [])
        if fixed.readout is None:
            if isinstance(self.net, Network):
                return sent.sum(1) / sent.shape[1]
            last = fixed.layers[-1]
            shape = last.output_shape if last.geometry is not None else (last.neurons,)
            return sent.transpose(1, 2).reshape(len(sent), *shape, -1) * 2.0**-last.output_exp
        form, found = fixed.readout, source_of(self.net).classifier()
        assert found is not None  # or the file would have no readout
        (weight, bias), unit = found, 2.0**-form.weight_exp
        weight = Rounded.apply(weight, _tensor(form.weight * unit), 1.0)
        logits = sent.sum(1) / sent.shape[1] @ weight.t()
        if bias is None:
            return logits
        return logits + Rounded.apply(bias, _tensor(form.bias * unit), 1.0)

    @torch.no_grad()
    def trace(self, x: torch.Tensor) -> Trace:
        """Every state of the forward pass, as :func:`export.simulate` gives them."""
        runs: list[Run] = []
        sent, fixed = self._scan(x, runs, integers=True)
        logits = sent.sum(1, dtype=torch.float64).numpy().astype(np.int64)
        if fixed.readout is not None:
            logits = logits @ fixed.readout.weight.T + fixed.readout.bias * sent.shape[1]

        def states(name: str) -> list[Any]:
            found = [getattr(run, name) for run in runs]
            return [
                None if each is None else each.astype(np.int32).transpose(0, 2, 1) for each in found
            ]

        return Trace(logits, states("spikes"), states("v"), states("theta"))

    def _scan(
        self, x: torch.Tensor, runs: list[Run], integers: bool = False
    ) -> tuple[torch.Tensor, FixedNetwork]:
        """What the last layer sends, (batch, time, neuron), and the integers that gave it.

        SLAYER's blocks run as they are, whose forward pass is the integer one and trainable, or
        else as their ``integers``.
        """
        fixed = self.fixed()
        graded = fixed.encode(x.detach().numpy())
        h = torch.from_numpy(graded.astype(np.float32)).transpose(1, 2)
        input_max = max(map(abs, fixed.encoding.range))
        source = source_of(self.net).tensors(self.formats)
        for layer, tensors in zip(fixed.layers, source, strict=True):
            if isinstance(layer, CelifLayer):
                assert isinstance(tensors, LayerTensors)
                h = delay(scan(layer, tensors, h, input_max, runs), layer.output_delay)
            elif integers or tensors is None:
                sums = arriving_sums(layer, h.detach().numpy(), input_max)
                runs.append(run_layer(layer, sums, keep=True))
                h = torch.from_numpy(geometry.delayed(runs[-1].spikes, layer.output_delay)).float()
            else:
                assert not isinstance(tensors, LayerTensors)
                h = tensors(h)
            input_max = max(map(abs, layer.output_range))
        return h, fixed


def _tensor(values: np.ndarray) -> torch.Tensor:
    return torch.from_numpy(values.astype(np.float32))


def _same_dynamics(new: Any, form: Any) -> Any:
    """A layer with the threshold of its format: training leaves it alone."""
    if not isinstance(form, CelifLayer):
        return new
    return replace(new, theta0_int=form.theta0_int)


def build(net: dict[str, Any], formats: str) -> QuantizedNetwork:
    """A network as its ``config`` describes it."""
    return QuantizedNetwork(Network(**net), from_letters(formats))


checkpoint.BUILDERS[QuantizedNetwork.__name__] = build


def quantize(
    net: Network | nn.Module | Iterable[nn.Module],
    calibration: Calibration,
    **formats: Any,
) -> QuantizedNetwork:
    """Make a trained network quantisation-aware, to be trained further.

    Parameters
    ----------
    net
        A float network, or a stack of blocks as :func:`export.to_netx` takes it; a copy of it is
        trained.
    calibration, **formats
        As in :func:`export.to_netx`, which chooses formats in the same way.

    Returns
    -------
    QuantizedNetwork
        :func:`export.to_netx` exports it with the very integers that its forward pass uses.
    """
    calibration = as_samples(calibration)
    _, fixed, _ = convert(net, calibration, Formats(**formats))
    for layer in fixed.layers:
        if isinstance(layer, LeakyLayer) and not isinstance(layer, CelifLayer):
            raise ModelError.about(
                layer.name,
                "neuron",
                "CE-LIF or SLAYER's neurons, whose integer forward pass can be trained",
                layer.kind,
                "train the network in float and export it with to_netx",
            )
    if isinstance(net, nn.Module) and is_followed(net):
        few = torch.as_tensor(calibration[:2], dtype=torch.float32)
        few = few if len(few) > 1 else torch.cat([few, few])
        return QuantizedNetwork(ModuleLayers(clone_of(net), few), fixed)
    if isinstance(net, Network):
        return QuantizedNetwork(copy.deepcopy(net), fixed)
    blocks = BlockLayers(*copy.deepcopy(members(net)))
    blocks.show(torch.as_tensor(calibration[:1], dtype=torch.float32))
    return QuantizedNetwork(blocks, fixed)
