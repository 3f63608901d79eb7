"""One CE-LIF layer of quantisation-aware training: the integer scan forward, trainable.

The forward pass takes the integers of :class:`export.model.network.CelifLayer`, made from the
present float parameters, and runs the twin's scan on them. The backward pass goes straight through
every rounding and takes the float recurrence's gradient at the integer states, in float units.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from torch.autograd.function import once_differentiable
from torch.nn import functional as F

from export.convert.round import scales
from export.loihi2 import DECAY_ONE
from export.model.network import CelifLayer
from export.model.trace import Run
from export.twin.scans import exact_type, run_layer
from training.decays import Value
from training.dynamics import Params
from training.kernels import fused, recurrent


class LayerTensors(NamedTuple):
    """The float tensors behind a layer's integers, for their gradients."""

    weight: torch.Tensor
    """A matrix, or kernels, as the layer has it."""
    bias: torch.Tensor
    te: torch.Tensor
    """(row, step), of at least as many rows and steps as are used."""
    scale: float
    """The value of one unit of an input."""
    width: float
    """Half-width of the surrogate gradient."""
    weight_rec: torch.Tensor | None = None
    """Weights (to, from) of a recurrent layer."""
    alpha: Value = 0.0
    """Decay of the membrane; a tensor (row,) if it is learnt, and so is ``beta``."""
    beta: Value = 0.0


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

    Memory is (batch, time, neuron). ``te``, ``bias``, the recurrent weights and learnt decays are
    there for their gradients: the scan takes their mantissas from ``layer``.
    """

    @staticmethod
    def forward(
        ctx: Any,
        sums: torch.Tensor,
        own: torch.Tensor | None,
        bias: torch.Tensor,
        te: torch.Tensor,
        alpha: torch.Tensor | None,
        beta: torch.Tensor | None,
        layer: CelifLayer,
        width: float,
        runs: list[Run],
    ) -> torch.Tensor:
        run = run_layer(layer, sums.detach().numpy(), keep=True)
        assert run.theta is not None  # as every CELIF layer's run
        runs.append(run)
        unit, spikes = 2.0**-layer.fraction_bits, torch.from_numpy(run.spikes).float()
        v, theta = (torch.from_numpy(state * unit).float() for state in (run.v, run.theta))
        inside = (v - theta).abs() < width
        flags = inside.byte() | spikes.byte() << 1
        te_unit = 2.0 ** -layer.te_shift.astype(np.float64)
        table = layer.per_neuron((layer.te[:, : sums.shape[1]].T * te_unit).T)
        # What one unit of what arrives adds to V.
        shift = layer.per_neuron(layer.shift - layer.fraction_bits)
        ctx.unit = torch.from_numpy(2.0 ** shift.astype(np.float64)).float()
        decays = (_float_decay(layer.decay(name)) for name in ("alpha_mant", "beta_mant"))
        ctx.params = Params(*decays, layer.theta0_int * unit)  # type: ignore[call-arg]
        ctx.dtype, ctx.recurrent = sums.dtype, layer.weight_rec is not None
        ctx.learnt = alpha is not None or beta is not None
        ctx.simple = not (ctx.recurrent or ctx.learnt or layer.own_decays)
        rounded = torch.from_numpy(np.ascontiguousarray(table.T).astype(np.float32))
        weights = []
        if layer.weight_rec is not None:
            values = layer.weight_rec / scales(layer.weight_exp, 2)
            weights = [torch.from_numpy(values.astype(np.float32)), spikes]
        ctx.save_for_backward(rounded, v, flags, theta if ctx.learnt else None, *weights)
        return spikes

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        te, v, flags, theta, *own = ctx.saved_tensors
        if ctx.simple:
            p = ctx.params.cast(np.float32)
            current, bias, table = fused.gradients(grads[0], te, v, flags, p)
            arrived = (current * ctx.unit).to(ctx.dtype)
            return arrived, None, bias, table, *(None,) * 5
        weight, spikes = own if ctx.recurrent else (None, None)
        found = recurrent.gradients(grads[0], weight, te, v, flags, spikes, ctx.params, theta)
        arrived = (found.current * ctx.unit).to(ctx.dtype)
        given = (arrived, found.weight, found.bias, found.te, found.alpha, found.beta)
        wanted = ctx.needs_input_grad
        return *(g if w else None for g, w in zip(given, wanted, strict=False)), *(None,) * 3


def _float_decay(mantissas: int | np.ndarray) -> Value:
    """What a decay's mantissas stand for."""
    if isinstance(mantissas, np.ndarray):
        return torch.from_numpy((mantissas / DECAY_ONE).astype(np.float32))
    return mantissas / DECAY_ONE


def scan(
    layer: CelifLayer, tensors: LayerTensors, inputs: torch.Tensor, input_max: int, runs: list[Run]
) -> torch.Tensor:
    """Spikes (batch, time, neuron) of whole-numbered ``inputs`` (batch, time, input).

    Parameters
    ----------
    layer, tensors
        Integers, and the tensors that they were made of.
    largest
        Largest magnitude of an input.
    runs
        Gets the states of the scan.
    """
    sums = _sums(layer, tensors, inputs, exact_type(layer, input_max))
    if layer.sum_right_shift:
        unit = 2.0**-layer.sum_right_shift
        sums = Rounded.apply(sums, torch.floor(sums.detach() * unit), unit)
    te = tensors.te[: layer.rows, : inputs.shape[1]]
    if layer.te_form.hold > 1:
        te = held(te, layer.te_form.hold)
    # A convolution's pixels share the rows of their channel.
    te, bias = (rows.repeat_interleave(layer.positions, 0) for rows in (te, tensors.bias))
    decays = [
        each.repeat_interleave(layer.positions)
        if isinstance(each, torch.Tensor) and each.requires_grad
        else None
        for each in (tensors.alpha, tensors.beta)
    ]
    given = (sums, tensors.weight_rec, bias, te.t(), *decays)
    return _IntegerScan.apply(*given, layer, tensors.width, runs)


def _sums(
    layer: CelifLayer, tensors: LayerTensors, inputs: torch.Tensor, dtype: torch.dtype
) -> torch.Tensor:
    """Exact sums of mantissas times inputs, differentiable in the weights behind them."""
    whole = torch.from_numpy(layer.weight.astype(np.float32))
    fine = tensors.scale * 2.0**layer.input_exp
    unit = torch.as_tensor(fine * scales(layer.weight_exp, layer.weight.ndim)).float()
    weight, g = Rounded.apply(tensors.weight, whole, unit).to(dtype), layer.geometry
    if g is None:
        return inputs.to(dtype) @ weight.t()
    images = inputs.to(dtype).reshape(-1, *g.input_shape)
    made = F.conv2d(images, weight, None, g.stride, g.padding, g.dilation, g.groups)
    return made.reshape(*inputs.shape[:2], -1)


def delay(spikes: torch.Tensor, steps: np.ndarray) -> torch.Tensor:
    """:func:`export.model.geometry.delayed`, differentiable in the spikes (batch, time, neuron)."""
    if not steps.any():
        return spikes
    columns = []
    for train, delay in zip(spikes.unbind(2), steps.tolist(), strict=True):
        kept = train[:, : max(train.shape[1] - delay, 0)]
        columns.append(F.pad(kept, (train.shape[1] - kept.shape[1], 0)))
    return torch.stack(columns, 2)


def held(te: torch.Tensor, hold: int) -> torch.Tensor:
    """A table (row, step) with the mean of every ``hold`` steps at each of them, differentiable."""
    column = torch.arange(te.shape[1], device=te.device) // hold
    counts = torch.bincount(column)
    means = te.new_zeros(len(te), len(counts)).index_add(1, column, te) / counts
    return means[:, column]
