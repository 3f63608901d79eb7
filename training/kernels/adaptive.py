"""Neurons with an adaptive threshold: CE-LIF in each context of the paper's ablation, ALIF, LIF.

All are :func:`training.dynamics.advance` with another contextual embedding, which is bilinear in
the temporal encoding and the state::

    CE[t] = γ·S[t-1] + c_v·V[t-1] + TE[t]⊙(c_te + c_ste·S[t-1] + c_vte·V[t-1])

and with α, β, Θ0, γ per neuron, any of which may be learnt. :func:`reference` loops over the step
under autograd; :func:`fused` is a compiled pass forward and one backward, layer by layer, recurrent
or not. With G = ∂L/∂·, CE_s = γ + TE·c_ste and CE_v = c_v + TE·c_vte::

    GS[t] = (from above)[t] + W_recᵀ·G_I[t+1] − GV[t+1]·α·V[t] + GΘ[t+1]·CE_s[t+1]
    GV[t] = GS[t]·g'[t] + GV[t+1]·α·(1 − S[t]) + GΘ[t+1]·CE_v[t+1]
    GΘ[t] = −GS[t]·g'[t] + GΘ[t+1]·β

Slower than :mod:`training.kernels.fused`, which has V⊙TE built in and keeps blocks of samples in
the cache.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import torch
from torch.autograd.function import once_differentiable

from training.dynamics import Params, State, advance
from training.kernels.fused import arrays
from training.kernels.recurrent import feed_back, give_back
from training.kernels.reference import Boxcar
from training.kernels.scans import spike
from training.support import compiled

_prange = compiled.parallel_range()
_GROUPS = 16
"""Of samples, whose sums are made apart: part of the result's bits."""


class Context(NamedTuple):
    """Coefficients of the contextual embedding beside γ."""

    v: Any = 0.0
    te: Any = 0.0
    s_te: Any = 0.0
    v_te: Any = 0.0

    def cast(self, dtype: np.dtype | type) -> Context:
        """The coefficients in the numpy type in which a kernel computes."""
        return Context(*(np.dtype(dtype).type(value) for value in self))


PLAIN = Context()
CONTEXTS: dict[str, tuple[float, Context]] = {
    "s": (1.0, PLAIN),
    "v": (0.0, Context(v=1.0)),
    "te": (0.0, Context(te=1.0)),
    "v+te": (0.0, Context(v=1.0, te=1.0)),
    "s*te": (0.0, Context(s_te=1.0)),
    "v*te": (0.0, Context(v_te=1.0)),
}
"""γ and coefficients of the paper's six embeddings; ``"v*te"`` is CE-LIF itself."""


class AdaptiveParams(NamedTuple):
    """α, β, Θ0 and γ of a layer, each a tensor (neuron,)."""

    alpha: torch.Tensor
    beta: torch.Tensor
    theta0: torch.Tensor
    gamma: torch.Tensor


@compiled.jitable
def embedding(te: Any, state: State, gamma: Any, c: Context) -> Any:
    """CE[t] from TE[t] and the state at t − 1."""
    return gamma * state.s + c.v * state.v + te * (c.te + c.s_te * state.s + c.v_te * state.v)


@compiled.kernel()
def _forward(x, weight, te, alpha, beta, theta0, gamma, c, v, theta):  # type: ignore[no-untyped-def]
    """Fill ``v`` and ``theta``, and turn currents ``x`` into spikes; no ``weight``, no feedback."""
    batch, steps, neurons = x.shape
    for b in _prange(batch):
        theta_now, v_now = theta0.copy(), np.zeros(neurons, x.dtype)
        s_now, own = np.zeros(neurons, x.dtype), np.zeros(neurons, x.dtype)
        for t in range(steps):
            for n in range(neurons):
                old = State(theta_now[n], v_now[n], s_now[n])
                p = Params(alpha[n], beta[n], theta0[n])
                ce = embedding(te[t, n], old, gamma[n], c)
                new = advance(x[b, t, n] + own[n], ce, old, p, spike)
                theta_now[n], v_now[n], s_now[n] = new.theta, new.v, new.s
                v[b, t, n], theta[b, t, n], x[b, t, n] = new.v, new.theta, new.s
            if len(weight):
                feed_back(weight, s_now, own)


@compiled.kernel()
def _backward(  # type: ignore[no-untyped-def]
    grad, weight, te, alpha, beta, theta0, gamma, c, width, v, theta, grad_te, grad_neuron
):
    """Turn gradients of spikes into those of currents; sums of group g go to its row."""
    batch, steps, neurons = grad.shape
    groups = len(grad_te)
    zero = width - width
    for g in _prange(groups):
        first, last = g * batch // groups, (g + 1) * batch // groups
        grad_v = np.zeros((last - first, neurons), grad.dtype)
        grad_theta, returned = np.zeros_like(grad_v), np.zeros_like(grad_v)
        for t in range(steps - 1, -1, -1):
            after = min(t + 1, steps - 1)  # at the end grad_theta is 0, whatever TE is
            for i in range(last - first):
                b = first + i
                for n in range(neurons):
                    now, spiked = v[b, t, n], v[b, t, n] >= theta[b, t, n]
                    by_s = gamma[n] + te[after, n] * c.s_te
                    by_v = c.v + te[after, n] * c.v_te
                    through, back = alpha[n] * grad_v[i, n], grad_theta[i, n]
                    grad_s = grad[b, t, n] + returned[i, n] - through * now + back * by_s
                    boxed = grad_s if abs(now - theta[b, t, n]) < width else zero
                    new_v = boxed + (zero if spiked else through) + back * by_v
                    new_theta = beta[n] * back - boxed
                    grad_v[i, n], grad_theta[i, n], grad[b, t, n] = new_v, new_theta, new_v
                    old_v, old_s, old_theta = zero, zero, theta0[n]
                    if t > 0:
                        old_v, old_theta = v[b, t - 1, n], theta[b, t - 1, n]
                        old_s = spike(old_v, old_theta)
                    grad_te[g, t, n] += new_theta * (c.te + c.s_te * old_s + c.v_te * old_v)
                    grad_neuron[g, 0, n] += new_v * (old_v - old_v * old_s)
                    grad_neuron[g, 1, n] += new_theta * (old_theta - theta0[n])
                    # Θ[0] is Θ0, too, so that the first step has no share that β takes away.
                    kept = beta[n] * new_theta if t > 0 else zero
                    grad_neuron[g, 2, n] += new_theta - kept
                    grad_neuron[g, 3, n] += new_theta * old_s
            if len(weight):
                give_back(weight, grad_v, returned)


class _Adaptive(torch.autograd.Function):
    """Memory is (batch, time, neuron); without feedback the recurrent weight is (0, 0)."""

    @staticmethod
    def forward(
        ctx: Any,
        x: torch.Tensor,
        weight: torch.Tensor,
        te: torch.Tensor,
        c: Context,
        width: float,
        *neuron: torch.Tensor,
    ) -> torch.Tensor:
        spikes = x.detach().clone(memory_format=torch.contiguous_format)
        te, weight = te.contiguous(), weight.contiguous()
        values = [each.contiguous() for each in neuron]
        v, theta = torch.empty_like(spikes), torch.empty_like(spikes)
        ctx.c, ctx.width = c.cast(spikes.numpy().dtype), spikes.numpy().dtype.type(width)
        given = arrays(spikes, weight.t().contiguous(), te, *values)
        _forward(*given, ctx.c, *arrays(v, theta))
        ctx.save_for_backward(weight, te, v, theta, spikes, *values)
        return spikes

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        weight, te, v, theta, spikes, *neuron = ctx.saved_tensors
        grad = grads[0].clone(memory_format=torch.contiguous_format)
        groups = min(_GROUPS, len(grad))
        grad_te = te.new_zeros((groups, *te.shape))
        grad_neuron = te.new_zeros((groups, len(neuron), te.shape[1]))
        given = arrays(grad, weight, te, *neuron)
        _backward(*given, ctx.c, ctx.width, *arrays(v, theta, grad_te, grad_neuron))
        grad_weight = None
        if len(weight):
            grad_weight = grad[:, 1:].flatten(0, 1).t() @ spikes[:, :-1].flatten(0, 1)
        return grad, grad_weight, grad_te.sum(0), None, None, *grad_neuron.sum(0)


def fused(
    current: torch.Tensor,
    te: torch.Tensor,
    neuron: AdaptiveParams,
    context: Context,
    width: float,
    weight: torch.Tensor | None = None,
) -> torch.Tensor:
    """Spikes (batch, neuron, time); ``weight`` (to, from) is what feeds them back."""
    if weight is None:
        weight = current.new_zeros((0, 0))
    x = current.transpose(1, 2)
    return _Adaptive.apply(x, weight, te.t(), context, width, *neuron).transpose(1, 2)


def states(
    current: torch.Tensor,
    te: torch.Tensor,
    neuron: AdaptiveParams,
    context: Context,
    width: float,
    weight: torch.Tensor | None = None,
) -> Iterator[State]:
    """The state after every step, under autograd; what is taken of it stays in the graph."""

    def spike_of(v: torch.Tensor, theta: torch.Tensor) -> torch.Tensor:
        return Boxcar.apply(v, theta, width)

    rest = torch.zeros_like(current[..., 0])
    p = Params(neuron.alpha, neuron.beta, neuron.theta0)
    state = State(rest + neuron.theta0, rest, rest)
    for x, te_t in zip(current.unbind(-1), te.unbind(-1), strict=True):
        if weight is not None:
            x = x + state.s @ weight.t()
        state = advance(x, embedding(te_t, state, neuron.gamma, context), state, p, spike_of)
        yield state


def reference(
    current: torch.Tensor,
    te: torch.Tensor,
    neuron: AdaptiveParams,
    context: Context,
    width: float,
    weight: torch.Tensor | None = None,
) -> torch.Tensor:
    """Same signature as :func:`fused`; slow and plain."""
    steps = states(current, te, neuron, context, width, weight)
    return torch.stack([state.s for state in steps], -1)


def run(
    current: torch.Tensor,
    te: torch.Tensor,
    neuron: AdaptiveParams,
    context: Context,
    width: float,
    weight: torch.Tensor | None = None,
    backend: str = "auto",
) -> torch.Tensor:
    """:func:`fused` where it can run, else :func:`reference`."""
    able = compiled.AVAILABLE and current.device.type == "cpu" and current.dtype.is_floating_point
    able = able and current.dtype in (torch.float32, torch.float64)
    chosen = reference if backend == "reference" or not able else fused
    return chosen(current, te, neuron, context, width, weight)


def neurons_in(
    context: str, like: torch.Tensor, alpha: float, beta: float, theta0: float
) -> tuple[AdaptiveParams, Context]:
    """A layer of CE-LIF neurons with one of :data:`CONTEXTS`, as many as ``like`` (neuron, …)."""
    gamma, coefficients = CONTEXTS[context]
    values = (like.new_full(like.shape[:1], value) for value in (alpha, beta, theta0, gamma))
    return AdaptiveParams(*values), coefficients
