"""One CE-LIF layer of quantisation-aware training: the integer scan forward, trainable.

The forward pass takes the integers of :class:`export.model.CelifLayer`, made from the present float
parameters, and runs the twin's scan on them. The backward pass goes straight through every
rounding and takes the float recurrence's gradient at the integer states, in float units.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from torch.autograd.function import once_differentiable

from export.loihi2 import DECAY_ONE
from export.model import CelifLayer
from export.quantization import scales
from export.scans import Run, run_layer
from export.twin import exact_type
from training import fused
from training.dynamics import Params


class Part(NamedTuple):
    """The float tensors behind a layer's integers, for their gradients."""

    weight: torch.Tensor
    bias: torch.Tensor
    te: torch.Tensor
    """(row, step), of at least as many rows and steps as are used."""
    scale: float
    """What one unit of an input is worth."""
    width: float
    """Of the surrogate gradient."""


class Rounded(torch.autograd.Function):
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
        v, spikes = torch.from_numpy(run.v * unit), torch.from_numpy(run.spikes).float()
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


def scan(
    layer: CelifLayer, part: Part, inputs: torch.Tensor, largest: int, runs: list[Run]
) -> torch.Tensor:
    """Spikes (batch, time, neuron) of whole-numbered ``inputs`` (batch, time, input).

    Parameters
    ----------
    layer, part
        Integers, and the tensors that they were made of.
    largest
        Largest magnitude of an input.
    runs
        Gets the states of the scan.
    """
    whole = torch.from_numpy(layer.weight.astype(np.float32))
    unit = torch.as_tensor(part.scale * scales(layer.weight_exp, 2)).float()
    weight = Rounded.apply(part.weight, whole, unit)
    dtype = exact_type(layer, largest)
    sums = inputs.to(dtype) @ weight.to(dtype).t()
    te = part.te[: layer.rows, : inputs.shape[1]]
    if layer.te_form.hold > 1:
        te = held(te, layer.te_form.hold)
    return _IntegerScan.apply(sums, part.bias, te.t(), layer, part.width, runs)


def held(te: torch.Tensor, hold: int) -> torch.Tensor:
    """A table (row, step) with the mean of every ``hold`` steps at each of them, differentiable."""
    column = torch.arange(te.shape[1], device=te.device) // hold
    counts = torch.bincount(column)
    means = te.new_zeros(len(te), len(counts)).index_add(1, column, te) / counts
    return means[:, column]
