"""Quantisation-aware training: the forward pass is the integer one, exactly.

:func:`quantize` fixes the formats (exponents, fractional bits, input encoding) as
:func:`export.to_netx` chooses them and returns a module with the network's float parameters. Its
forward pass rounds them to mantissas and runs the twin's integer scan, see
:mod:`export.qat_layer`.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import nn

from export.file_layers import FileLayers
from export.formats import Formats
from export.model import CelifLayer, FixedNetwork, ReadoutLayer
from export.qat_layer import Part, Rounded, scan
from export.scans import Run
from export.stacks import Stack, network_stack, requantise_all
from export.trace import Trace
from training.network import Network


class QuantizedNetwork(nn.Module):
    """A network whose forward pass computes what its export will; see :func:`quantize`.

    ``net`` holds the float parameters, which an optimiser trains; ``formats`` the formats of the
    integers and the decays and thresholds, which stay as they were chosen.
    """

    def __init__(self, net: Network | FileLayers, formats: FixedNetwork) -> None:
        super().__init__()
        self.net, self.formats = net, formats

    @classmethod
    def of(cls, fixed: FixedNetwork) -> QuantizedNetwork:
        """The network of a file, with the floats that its integers stand for."""
        return cls(FileLayers(fixed), fixed)

    def stack(self) -> Stack:
        """The present values, layer by layer."""
        net = self.net
        return network_stack(net) if isinstance(net, Network) else net.stack(self.formats)

    def fixed(self) -> FixedNetwork:
        """The integers that the present parameters stand for."""
        new = requantise_all(self.stack(), self.formats)
        return replace(new, layers=tuple(map(_same_dynamics, new.layers, self.formats.layers)))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Logits (batch, classes) of ``x`` (batch, channel, time): the integers' sums, scaled."""
        spikes, fixed = self._scan(x, [])
        form, linear = self._readout(fixed), self.net.readout
        unit = 2.0**-form.weight_exp
        weight, bias = (
            Rounded.apply(value, torch.from_numpy((whole * unit).astype(np.float32)), 1.0)
            for value, whole in ((linear.weight, form.weight), (linear.bias, form.bias))
        )
        return spikes.sum(1) / spikes.shape[1] @ weight.t() + bias

    @torch.no_grad()
    def trace(self, x: torch.Tensor) -> Trace:
        """Every state of the forward pass, as :func:`export.simulate` gives them."""
        runs: list[Run] = []
        spikes, fixed = self._scan(x, runs)
        form = self._readout(fixed)
        counts = spikes.sum(1, dtype=torch.float64).numpy().astype(np.int64)
        states = (
            [getattr(run, name).astype(dtype).transpose(0, 2, 1) for run in runs]
            for name, dtype in (("spikes", np.int8), ("v", np.int32), ("theta", np.int32))
        )
        return Trace(counts @ form.weight.T + form.bias * x.shape[2], *states)

    def _scan(self, x: torch.Tensor, runs: list[Run]) -> tuple[torch.Tensor, FixedNetwork]:
        """Spikes (batch, time, neuron) of the last layer, and the integers that gave them."""
        fixed = self.fixed()
        graded = fixed.encode(x.detach().numpy())
        h = torch.from_numpy(graded.astype(np.float32)).transpose(1, 2)
        largest = max(map(abs, fixed.encoding.range))
        for layer, part in zip(fixed.layers, self._parts(), strict=True):
            assert isinstance(layer, CelifLayer)
            h, largest = scan(layer, part, h, largest, runs), 1
        return h, fixed

    def _parts(self) -> Iterator[Part]:
        """The float tensors of every layer."""
        scale = self.formats.encoding.scale
        if isinstance(self.net, FileLayers):
            yield from self.net.parts(scale)
            return
        te, width = self.net.te_table, self.net.config["width"]
        for synapses in self.net.layers:
            yield Part(synapses.weight, synapses.bias, te, scale, width)
            scale = 1.0

    @staticmethod
    def _readout(network: FixedNetwork) -> ReadoutLayer:
        assert network.readout is not None  # a Network has one
        return network.readout


def _same_dynamics(new: Any, form: Any) -> Any:
    """A layer with the decays and the threshold of its format: training leaves them alone."""
    names = ("alpha_mant", "beta_mant", "theta0_int")
    return replace(new, **{name: getattr(form, name) for name in names})


def quantize(
    net: Network, calibration: torch.Tensor | np.ndarray, **formats: Any
) -> QuantizedNetwork:
    """Make a trained network quantisation-aware, to be trained further.

    Parameters
    ----------
    net
        A float network; a copy of it is trained.
    calibration, **formats
        As in :func:`export.to_netx`, which chooses formats in the same way.

    Returns
    -------
    QuantizedNetwork
        :func:`export.to_netx` exports it with the very integers that its forward pass uses.
    """
    from export.exporter import convert  # which imports this module, to export such networks

    if not isinstance(net, Network):
        raise TypeError(f"quantize: expected a training.Network, got {type(net).__name__}")
    _, fixed, _ = convert(net, calibration, Formats(**formats))
    return QuantizedNetwork(copy.deepcopy(net), fixed)
