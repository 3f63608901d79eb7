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
_GROUPS = 16

DTYPES = (torch.float32, torch.float64)
"""What the kernels compute in."""


@compiled.jitable
def _spike(v: Any, theta: Any) -> Any:
    return v >= theta


@compiled.kernel(__file__, dynamics.__file__)
def _forward(x, te, p, width, spikes, v, gate):  # type: ignore[no-untyped-def]
    batch, steps, neurons = x.shape
    for b in _prange(batch):
        theta = np.full(neurons, p.theta0)
        rest = np.zeros(neurons, x.dtype)
        for t in range(steps):
            v_old = v[b, t - 1] if t > 0 else rest
            s_old = spikes[b, t - 1] if t > 0 else rest
            for n in range(neurons):
                new = step(x[b, t, n], te[t, n], State(theta[n], v_old[n], s_old[n]), p, _spike)
                theta[n] = new.theta
                v[b, t, n] = new.v
                spikes[b, t, n] = new.s
                gate[b, t, n] = abs(new.v - new.theta) < width


@compiled.kernel(__file__, dynamics.__file__)
def _backward(grad, te, p, spikes, v, gate, grad_x, grad_te):  # type: ignore[no-untyped-def]
    batch, steps, neurons = grad.shape
    groups = grad_te.shape[0]
    for g in _prange(groups):
        sum_te = grad_te[g]
        sum_te[:] = 0
        grad_v = np.empty(neurons, grad.dtype)
        grad_theta = np.empty(neurons, grad.dtype)
        for b in range(g * batch // groups, (g + 1) * batch // groups):
            grad_v[:] = 0
            grad_theta[:] = 0
            for t in range(steps - 1, -1, -1):
                # At the last step grad_theta is 0, so any row of te serves as TE[T+1].
                te_next = te[min(t + 1, steps - 1)]
                for n in range(neurons):
                    through_v = grad_v[n] * p.alpha
                    through_s = grad[b, t, n] - through_v * v[b, t, n]
                    boxed = through_s * gate[b, t, n]
                    through_v -= through_v * spikes[b, t, n]
                    grad_v[n] = boxed + through_v + grad_theta[n] * te_next[n]
                    grad_theta[n] = grad_theta[n] * p.beta - boxed
                    grad_x[b, t, n] = grad_v[n]
                if t > 0:
                    for n in range(neurons):
                        sum_te[t, n] += grad_theta[n] * v[b, t - 1, n]


class _Celif(torch.autograd.Function):
    """Memory is (batch, time, neuron) in here; the public layout is a transposed view."""

    @staticmethod
    def forward(
        ctx: Any, x: torch.Tensor, te: torch.Tensor, p: Params, width: float
    ) -> torch.Tensor:
        x, te = x.contiguous(), te.contiguous()
        spikes, v = torch.empty_like(x), torch.empty_like(x)
        gate = torch.empty(x.shape, dtype=torch.bool)
        p = p.cast(x.numpy().dtype)
        width = x.numpy().dtype.type(width)
        _forward(*_arrays(x, te), p, width, *_arrays(spikes, v, gate))
        ctx.p = p
        ctx.save_for_backward(te, spikes, v, gate)
        return spikes

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, None, None]:
        te, spikes, v, gate = ctx.saved_tensors
        grad_x = torch.empty_like(v)
        grad_te = v.new_empty((min(_GROUPS, len(v)), *te.shape))
        _backward(
            *_arrays(grads[0].contiguous(), te), ctx.p, *_arrays(spikes, v, gate, grad_x, grad_te)
        )
        return grad_x, grad_te.sum(0), None, None


def _arrays(*tensors: torch.Tensor) -> tuple[np.ndarray, ...]:
    return tuple(tensor.detach().numpy() for tensor in tensors)


def celif(current: torch.Tensor, te: torch.Tensor, p: Params, width: float) -> torch.Tensor:
    """Spikes of the recurrence; same signature as :func:`training.reference.celif`."""
    return _Celif.apply(current.transpose(1, 2), te.t(), p, width).transpose(1, 2)
