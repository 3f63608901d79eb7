"""Quantisation-aware training: the forward pass is the integer one, exactly.

:func:`quantize` fixes the formats (exponents, fractional bits, input encoding) as
:func:`export.to_netx` chooses them and returns a module with the network's float parameters. Its
forward pass rounds them to mantissas and runs the twin's integer scan; its backward pass goes
straight through every rounding and takes the float recurrence's gradient at the integer states.
"""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.autograd.function import once_differentiable

from export.checks import ModelError
from export.loihi2 import DECAY_ONE
from export.model import CelifLayer, FixedNetwork, ReadoutLayer
from export.quantization import bias_mantissas, mantissas, scales
from export.scans import Run, run_layer
from export.trace import Trace
from export.twin import exact_type
from training import fused
from training.dynamics import Params
from training.network import Network


class _Rounded(torch.autograd.Function):
    """``rounded`` in place of ``value``; the gradient goes straight through, times ``scale``."""

    @staticmethod
    def forward(ctx: Any, value: torch.Tensor, rounded: torch.Tensor, scale: Any) -> torch.Tensor:
        ctx.scale = scale
        return rounded

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor) -> tuple[torch.Tensor, None, None]:
        return grads[0] * ctx.scale, None, None


class _IntegerScan(torch.autograd.Function):
    """The integer scan forward, the float recurrence's gradient at its states backward.

    Memory is (batch, time, neuron). ``te`` and ``bias`` are there for their gradients: the scan
    takes their mantissas from ``layer``.
    """

    @staticmethod
    def forward(
        ctx: Any,
        sums: torch.Tensor,
        bias: torch.Tensor,
        te: torch.Tensor,
        layer: CelifLayer,
        width: float,
        runs: list[Run],
    ) -> torch.Tensor:
        run = run_layer(layer, sums.detach().numpy(), keep=True)
        assert run.theta is not None  # as every CELIF layer's run
        runs.append(run)
        unit = np.float32(2.0**-layer.fraction_bits)
        v, spikes = torch.from_numpy(run.v * unit), torch.from_numpy(run.spikes)
        inside = (v - torch.from_numpy(run.theta * unit)).abs() < width
        flags = inside.byte() | spikes.byte() << 1
        te_unit = 2.0 ** -layer.te_shift.astype(np.float64)
        rounded = (layer.te[:, : sums.shape[1]].T * te_unit).astype(np.float32)
        ctx.params = Params(layer.alpha_mant / DECAY_ONE, layer.beta_mant / DECAY_ONE, 0.0)
        ctx.unit = torch.as_tensor(1 / scales(layer.weight_exp, 1)).float()
        ctx.dtype = sums.dtype
        ctx.save_for_backward(torch.from_numpy(rounded), v, flags)
        return spikes

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        te, v, flags = ctx.saved_tensors
        current, bias, table = fused.gradients(grads[0], te, v, flags, ctx.params.cast(np.float32))
        return (current * ctx.unit).to(ctx.dtype), bias, table, None, None, None


class QuantizedNetwork(nn.Module):
    """A network whose forward pass computes what its export will; see :func:`quantize`.

    ``net`` holds the float parameters, which an optimiser trains; ``formats`` the formats of the
    integers, which stay as they were chosen.
    """

    def __init__(self, net: Network, formats: FixedNetwork) -> None:
        super().__init__()
        self.net, self.formats = net, formats

    @classmethod
    def of(cls, fixed: FixedNetwork) -> QuantizedNetwork:
        """The network of a file, with the floats that its integers stand for."""
        layers = _plain_layers(fixed)
        last, widest = cls._readout(fixed), max(layers, key=lambda layer: layer.neurons)
        first, order = layers[0], fixed.encoding.permutation
        net = Network(
            fixed.encoding.channels,
            tuple(layer.neurons for layer in layers),
            last.neurons,
            fixed.steps,
            alpha=first.alpha_mant / DECAY_ONE,
            beta=first.beta_mant / DECAY_ONE,
            theta0=first.theta0_int * 2.0**-first.fraction_bits,
            permutation=None if order is None else order.tolist(),
        )
        scale = fixed.encoding.scale
        with torch.no_grad():
            _fill(net.te, widest.te, 1 / scales(widest.te_exp, 2))
            for synapses, layer in zip(net.layers, layers, strict=True):
                _fill(synapses.weight, layer.weight, 1 / scales(layer.weight_exp, 2) / scale)
                _fill(synapses.bias, layer.bias, 2.0**-layer.fraction_bits)
                scale = 1.0
            _fill(net.readout.weight, last.weight, 2.0**-last.weight_exp)
            _fill(net.readout.bias, last.bias, 2.0**-last.weight_exp)
        return cls(net, fixed)

    def fixed(self) -> FixedNetwork:
        """The integers that the present parameters stand for."""
        scale, layers = self.formats.encoding.scale, []
        table = _numbers(self.net.te)
        for form, synapses in zip(self.formats.layers, self.net.layers, strict=True):
            assert isinstance(form, CelifLayer)  # a Network has no others
            weight = mantissas(_numbers(synapses.weight) * scale, form.weight_exp, form.weight_bits)
            layers.append(
                replace(
                    form,
                    weight=weight,
                    te=mantissas(table[: form.neurons], form.te_exp, form.te_bits),
                    bias_mant=bias_mantissas(
                        _numbers(synapses.bias), form.fraction_bits, form.bias_exp
                    ),
                )
            )
            scale = 1.0
        last, linear = self._readout(self.formats), self.net.readout
        readout = replace(
            last,
            weight=mantissas(_numbers(linear.weight), last.weight_exp, last.weight_bits),
            bias=np.rint(_numbers(linear.bias) * 2.0**last.weight_exp).astype(np.int64),
        )
        return replace(self.formats, layers=tuple(layers), readout=readout)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Logits (batch, classes) of ``x`` (batch, channel, time): the integers' sums, scaled."""
        spikes, fixed = self._scan(x, [])
        form, linear = self._readout(fixed), self.net.readout
        unit = 2.0**-form.weight_exp
        weight, bias = (
            _Rounded.apply(value, torch.from_numpy((whole * unit).astype(np.float32)), 1.0)
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
        scale, largest = fixed.encoding.scale, max(map(abs, fixed.encoding.range))
        for form, synapses in zip(fixed.layers, self.net.layers, strict=True):
            assert isinstance(form, CelifLayer)
            whole = torch.from_numpy(form.weight.astype(np.float32))
            unit = torch.as_tensor(scale * scales(form.weight_exp, 2)).float()
            weight = _Rounded.apply(synapses.weight, whole, unit)
            te = self.net.te[: form.neurons, : h.shape[1]].t()
            dtype = exact_type(form, largest)
            sums = h.to(dtype) @ weight.to(dtype).t()
            h = _IntegerScan.apply(sums, synapses.bias, te, form, self.net.config["width"], runs)
            scale, largest = 1.0, 1
        return h, fixed

    @staticmethod
    def _readout(network: FixedNetwork) -> ReadoutLayer:
        assert network.readout is not None  # a Network has one
        return network.readout


def _plain_layers(fixed: FixedNetwork) -> list[CelifLayer]:
    """Layers of a file that a ``Network`` can have: CE-LIF, unshifted, one TE table, a readout."""
    layers = [layer for layer in fixed.layers if isinstance(layer, CelifLayer)]
    widest = max(layers, key=lambda layer: layer.neurons, default=None)
    plain = (
        widest is not None
        and len(layers) == len(fixed.layers)
        and fixed.readout is not None
        and not any(layer.delay_shift for layer in layers)
        and all(np.array_equal(layer.te, widest.te[: layer.neurons]) for layer in layers)
    )
    if not plain:
        expected = "unshifted CELIF layers that share one TE table, and a readout"
        raise ModelError.about("network", "layers", expected, "others")
    return layers


def _fill(parameter: torch.Tensor, integers: np.ndarray, unit: Any) -> None:
    parameter.copy_(torch.from_numpy(integers * unit))


def _numbers(tensor: torch.Tensor) -> np.ndarray:
    return tensor.detach().double().numpy()


def quantize(
    net: Network,
    calibration: torch.Tensor | np.ndarray,
    *,
    weight_bits: int = 8,
    te_bits: int = 8,
    input_bits: int = 8,
) -> QuantizedNetwork:
    """Make a trained network quantisation-aware, to be trained further.

    Parameters
    ----------
    net
        A float network; a copy of it is trained.
    calibration, weight_bits, te_bits, input_bits
        As in :func:`export.to_netx`, which chooses formats in the same way.

    Returns
    -------
    QuantizedNetwork
        :func:`export.to_netx` exports it with the very integers that its forward pass uses.
    """
    from export.exporter import convert  # which imports this module, to export such networks

    if not isinstance(net, Network):
        raise TypeError(f"quantize: expected a training.Network, got {type(net).__name__}")
    _, fixed, _ = convert(
        net, calibration, weight_bits=weight_bits, te_bits=te_bits, input_bits=input_bits
    )
    return QuantizedNetwork(copy.deepcopy(net), fixed)
