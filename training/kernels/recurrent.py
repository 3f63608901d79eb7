"""Recurrent CE-LIF: a layer whose spikes return to its own neurons one step later.

::

    I[t] = (from the layer below)[t] + W_rec·S[t−1] + b

:func:`reference` loops over :func:`training.dynamics.step` under autograd; :func:`fused` is one
compiled pass forward and one backward, with the adjoint of :mod:`training.kernels.scans` and::

    GS[t] = (from above)[t] + W_recᵀ·G_I[t+1] − GV[t+1]·α·V[t]
    G_W_rec = Σ_batch,t G_I[t]·S[t−1]ᵀ
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch.autograd.function import once_differentiable

from training.dynamics import Params, State, step
from training.kernels import fused as feedforward
from training.kernels.reference import scan
from training.kernels.scans import adjoint, spike
from training.kernels.spike_products import add_rows
from training.support import compiled

_prange = compiled.parallel_range()
# Groups of samples whose TE gradients are summed apart: part of the result's bits.
_GROUPS = 16


@compiled.jitable
def feed_back(weight: Any, spikes: Any, out: Any) -> None:
    """Set ``out`` to the sum of the rows of ``weight`` (from, to) whose neurons spiked."""
    active = np.empty(len(spikes) + 1, np.int64)
    count = 0
    for m in range(len(spikes)):
        active[count] = m
        count += spikes[m] != 0
    add_rows(weight, active, count, out)


@compiled.jitable
def give_back(weight: Any, grads: Any, out: Any) -> None:
    """Set ``out`` to ``grads`` (sample, to) times ``weight`` (to, from), each sum in order.

    Four rows of the weight serve all samples while they are in the cache.
    """
    out[:] = 0
    neurons = len(weight)
    fours = neurons - neurons % 4
    for n in range(0, fours, 4):
        a, b, c, d = weight[n], weight[n + 1], weight[n + 2], weight[n + 3]
        for i in range(len(out)):
            by_a, by_b, by_c, by_d = grads[i, n], grads[i, n + 1], grads[i, n + 2], grads[i, n + 3]
            row = out[i]
            for m in range(neurons):
                row[m] = row[m] + a[m] * by_a + b[m] * by_b + c[m] * by_c + d[m] * by_d
    for n in range(fours, neurons):
        for i in range(len(out)):
            for m in range(neurons):
                out[i, m] += weight[n, m] * grads[i, n]


@compiled.kernel()
def _forward(x, weight, bias, te, p, width, spikes, v, flags):  # type: ignore[no-untyped-def]
    batch, steps, neurons = x.shape
    for b in _prange(batch):
        theta = np.full(neurons, p.theta0)
        v_now, s_now = np.zeros(neurons, x.dtype), np.zeros(neurons, x.dtype)
        own = np.zeros(neurons, x.dtype)
        for t in range(steps):
            for n in range(neurons):
                # The bias comes last, so that there is one rounding, the same in Lava.
                current = x[b, t, n] + own[n] + bias[n]
                old = State(theta[n], v_now[n], s_now[n])
                new = step(current, te[t, n], old, p, spike)
                theta[n], v_now[n], s_now[n] = new.theta, new.v, new.s
                v[b, t, n] = new.v
                spikes[b, t, n] = new.s
                boxed = abs(new.v - new.theta) < width
                flags[b, t, n] = np.uint8(boxed) | np.uint8(new.s) << 1
            feed_back(weight, s_now, own)


@compiled.kernel()
def _backward(grad, weight, te, p, v, flags, grad_x, grad_te):  # type: ignore[no-untyped-def]
    batch, steps, neurons = v.shape
    groups = grad_te.shape[0]
    zero = p.alpha - p.alpha
    for g in _prange(groups):
        sum_te = grad_te[g]
        sum_te[:] = 0
        first, last = g * batch // groups, (g + 1) * batch // groups
        grad_v = np.zeros((last - first, neurons), v.dtype)
        grad_theta, returned = np.zeros_like(grad_v), np.zeros_like(grad_v)
        for t in range(steps - 1, -1, -1):
            te_next = te[min(t + 1, steps - 1)]
            for i in range(last - first):
                b = first + i
                for n in range(neurons):
                    new_v, new_theta = adjoint(
                        grad[b, t, n] + returned[i, n], grad_v[i, n], grad_theta[i, n], te_next[n],
                        v[b, t, n], flags[b, t, n], p, zero,
                    )  # fmt: skip
                    grad_v[i, n], grad_theta[i, n] = new_v, new_theta
                    grad_x[b, t, n] = new_v
                    if t > 0:
                        sum_te[t, n] += new_theta * v[b, t - 1, n]
            give_back(weight, grad_v, returned)


class _Recurrent(torch.autograd.Function):
    """Memory is (batch, time, neuron), as in :mod:`training.kernels.fused`."""

    @staticmethod
    def forward(
        ctx: Any,
        x: torch.Tensor,
        weight: torch.Tensor,
        bias: torch.Tensor,
        te: torch.Tensor,
        p: Params,
        width: float,
    ) -> torch.Tensor:
        x, bias, te = x.contiguous(), bias.contiguous(), te.contiguous()
        from_to, weight = weight.t().contiguous(), weight.contiguous()
        spikes, v = torch.empty_like(x), torch.empty_like(x)
        flags = torch.empty(x.shape, dtype=torch.uint8)
        p, width = p.cast(x.numpy().dtype), x.numpy().dtype.type(width)
        arrays = feedforward.arrays(x, from_to, bias, te)
        _forward(*arrays, p, width, *feedforward.arrays(spikes, v, flags))
        ctx.p = p
        ctx.save_for_backward(weight, te, v, flags, spikes)
        return spikes

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        weight, te, v, flags, spikes = ctx.saved_tensors
        return (*gradients(grads[0], weight, te, v, flags, spikes, ctx.p), None, None)


def gradients(
    grad: torch.Tensor,
    weight: torch.Tensor,
    te: torch.Tensor,
    v: torch.Tensor,
    flags: torch.Tensor,
    spikes: torch.Tensor,
    p: Params,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """Gradients of current, recurrent weight (to, from), bias and TE, from that of the spikes.

    Memory is (batch, time, neuron), and ``flags`` are those of
    :func:`training.kernels.fused.gradients`.
    """
    grad_x = torch.empty_like(v)
    grad_te = v.new_empty((min(_GROUPS, len(v)), *te.shape))
    given = feedforward.arrays(grad.contiguous(), weight.contiguous(), te)
    _backward(*given, p, *feedforward.arrays(v, flags, grad_x, grad_te))
    grad_weight = grad_x[:, 1:].flatten(0, 1).t() @ spikes[:, :-1].flatten(0, 1)
    return grad_x, grad_weight, grad_x.sum((0, 1)), grad_te.sum(0)


def fused(
    current: torch.Tensor,
    te: torch.Tensor,
    p: Params,
    width: float,
    bias: torch.Tensor | None,
    weight: torch.Tensor,
) -> torch.Tensor:
    """Spikes (batch, neuron, time); ``weight`` (to, from) is what feeds them back."""
    if bias is None:
        bias = current.new_zeros(current.shape[1])
    spikes = _Recurrent.apply(current.transpose(1, 2), weight, bias, te.t(), p, width)
    return spikes.transpose(1, 2)


def reference(
    current: torch.Tensor,
    te: torch.Tensor,
    p: Params,
    width: float,
    bias: torch.Tensor | None,
    weight: torch.Tensor,
) -> torch.Tensor:
    """Same signature as :func:`fused`; slow and plain."""

    def drive(x: torch.Tensor, s: torch.Tensor) -> torch.Tensor:
        x = x + s @ weight.t()
        return x if bias is None else x + bias

    return scan(current, te, p, width, drive).s
