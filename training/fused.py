"""The CE-LIF scan as one pass over memory, forward and backward, on the CPU.

Forward runs :func:`training.dynamics.step` itself, compiled. The backward pass is the one
mirror written by hand; with G = ∂L/∂· and G[T+1] = 0::

    GS[t] = (from above)[t] − GV[t+1]·α·V[t]
    GV[t] = GS[t]·g'[t] + GV[t+1]·α·(1 − S[t]) + GΘ[t+1]·TE[t+1]
    GΘ[t] = −GS[t]·g'[t] + GΘ[t+1]·β
    G_TE[t] = Σ_batch GΘ[t]·V[t-1]          G_I[t] = GV[t]

Samples are independent, so threads share the batch. The sum over the batch in G_TE is taken
over a fixed number of groups, in order, so that results do not depend on the number of threads.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch.autograd.function import once_differentiable

from training import compiled, dynamics
from training.dynamics import Params, State, step

_prange = compiled.parallel_range()
# Groups of samples whose TE gradients are summed apart; more would cost memory, fewer would idle
# the threads of a large machine. Part of the result's bits: it must not follow the thread count.
GROUPS = 16
# Samples that a thread advances together: a row of TE, and of its gradient, is then fetched once
# for all of them. More would be too many streams for the hardware to prefetch.
_BLOCK = 4

DTYPES = (torch.float32, torch.float64)
"""What the kernels compute in."""


@compiled.jitable
def spike(v: Any, theta: Any) -> Any:
    """Spike where v ≥ theta; the surrogate stands in the backward pass."""
    return v >= theta


@compiled.kernel(__file__, dynamics.__file__)
def _forward(x, bias, te, p, width, spikes, v, flags):  # type: ignore[no-untyped-def]
    batch, steps, neurons = x.shape
    for block in _prange((batch + _BLOCK - 1) // _BLOCK):
        first = block * _BLOCK
        size = min(_BLOCK, batch - first)
        # The state has arrays of its own. Read back from the rows of v and spikes just written,
        # it would fail LLVM's check for overlap, made once for all steps, and run unvectorised.
        theta = np.full((size, neurons), p.theta0)
        v_now = np.zeros((size, neurons), x.dtype)
        s_now = np.zeros((size, neurons), x.dtype)
        for t in range(steps):
            for i in range(size):
                b = first + i
                for n in range(neurons):
                    old = State(theta[i, n], v_now[i, n], s_now[i, n])
                    new = step(x[b, t, n] + bias[n], te[t, n], old, p, spike)
                    theta[i, n], v_now[i, n], s_now[i, n] = new.theta, new.v, new.s
                    v[b, t, n] = new.v
                    spikes[b, t, n] = new.s
                    boxed = abs(new.v - new.theta) < width
                    flags[b, t, n] = np.uint8(boxed) | np.uint8(new.s) << 1


@compiled.jitable
def adjoint(
    from_above: Any, grad_v: Any, grad_theta: Any, te: Any, v: Any, flags: Any, p: Any, zero: Any
) -> tuple[Any, Any]:
    """GV and GΘ of a step, from those of the step after it, whose TE is ``te``."""
    through_v = grad_v * p.alpha
    through_s = from_above - through_v * v
    boxed = through_s if flags & 1 else zero
    kept = zero if flags & 2 else through_v
    return boxed + kept + grad_theta * te, grad_theta * p.beta - boxed


@compiled.kernel(__file__, dynamics.__file__)
def _backward(grad, te, p, v, flags, grad_x, grad_bias, grad_te):  # type: ignore[no-untyped-def]
    batch, steps, neurons = v.shape
    stride = min(grad.shape[1] - 1, 1)  # 0: one gradient serves every step
    groups = grad_te.shape[0]
    zero = p.alpha - p.alpha
    for g in _prange(groups):
        sum_te, sum_bias = grad_te[g], grad_bias[g]
        sum_te[:] = 0
        sum_bias[:] = 0
        grad_v = np.empty((_BLOCK, neurons), v.dtype)
        grad_theta = np.empty((_BLOCK, neurons), v.dtype)
        rest = np.zeros(neurons, v.dtype)
        end = (g + 1) * batch // groups
        for first in range(g * batch // groups, end, _BLOCK):
            grad_v[:] = 0
            grad_theta[:] = 0
            for t in range(steps - 1, -1, -1):
                # At the last step grad_theta is 0, so any row of te serves as TE[T+1].
                te_next = te[min(t + 1, steps - 1)]
                for i in range(min(_BLOCK, end - first)):
                    b = first + i
                    v_old = v[b, t - 1] if t > 0 else rest
                    for n in range(neurons):
                        new_v, new_theta = adjoint(
                            grad[b, t * stride, n], grad_v[i, n], grad_theta[i, n], te_next[n],
                            v[b, t, n], flags[b, t, n], p, zero,
                        )  # fmt: skip
                        grad_v[i, n], grad_theta[i, n] = new_v, new_theta
                        grad_x[b, t, n] = new_v
                        sum_bias[n] += new_v
                        sum_te[t, n] += new_theta * v_old[n]


class _Celif(torch.autograd.Function):
    """Memory is (batch, time, neuron) in here; the public layout is a transposed view."""

    @staticmethod
    def forward(
        ctx: Any, x: torch.Tensor, bias: torch.Tensor, te: torch.Tensor, p: Params, width: float
    ) -> torch.Tensor:
        x, bias, te = x.contiguous(), bias.contiguous(), te.contiguous()
        spikes, v = torch.empty_like(x), torch.empty_like(x)
        flags = torch.empty(x.shape, dtype=torch.uint8)
        p = p.cast(x.numpy().dtype)
        width = x.numpy().dtype.type(width)
        _forward(*arrays(x, bias, te), p, width, *arrays(spikes, v, flags))
        ctx.p = p
        ctx.save_for_backward(te, v, flags)
        return spikes

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        te, v, flags = ctx.saved_tensors
        return (*gradients(grads[0], te, v, flags, ctx.p), None, None)


def gradients(
    grad: torch.Tensor, te: torch.Tensor, v: torch.Tensor, flags: torch.Tensor, p: Params
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Gradients of current, bias and TE, from that of the spikes and the states of a scan.

    Memory is (batch, time, neuron). ``flags`` has bit 0 set inside the surrogate's box and bit 1
    where there was a spike: a byte, where spikes would be four.
    """
    grad_x = torch.empty_like(v)
    grad_te = v.new_empty((min(GROUPS, len(v)), *te.shape))
    grad_bias = v.new_empty((len(grad_te), te.shape[1]))
    # The gradient of a sum over time is one row, repeated by a stride of 0.
    rows = grad[:, :1] if grad.stride(1) == 0 else grad
    _backward(*arrays(rows.contiguous(), te), p, *arrays(v, flags, grad_x, grad_bias, grad_te))
    return grad_x, grad_bias.sum(0), grad_te.sum(0)


def arrays(*tensors: torch.Tensor) -> tuple[np.ndarray, ...]:
    """The tensors as the kernels take them."""
    return tuple(tensor.detach().numpy() for tensor in tensors)


def celif(
    current: torch.Tensor,
    te: torch.Tensor,
    p: Params,
    width: float,
    bias: torch.Tensor | None = None,
) -> torch.Tensor:
    """Spikes of the recurrence; same signature as :func:`training.reference.celif`."""
    if bias is None:
        bias = current.new_zeros(current.shape[1])
    return _Celif.apply(current.transpose(1, 2), bias, te.t(), p, width).transpose(1, 2)
