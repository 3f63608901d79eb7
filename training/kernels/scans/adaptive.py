"""Neurons whose threshold has another context than V⊙TE: CE-LIF's ablation, LIF, ALIF, PLIF, LTMD.

Forward runs :func:`training.dynamics.advance` with α, β, Θ0 and γ per neuron and the embedding::

    CE[t] = γ·S[t-1] + c_v·V[t-1] + TE[t]⊙(c_te + c_ste·S[t-1] + c_vte·V[t-1])

Backward, with G = ∂L/∂·, CE_s = γ + TE·c_ste and CE_v = c_v + TE·c_vte::

    GS[t] = (from above)[t] − GV[t+1]·α·V[t] + GΘ[t+1]·CE_s[t+1]
    GV[t] = GS[t]·g'[t] + GV[t+1]·α·(1 − S[t]) + GΘ[t+1]·CE_v[t+1]
    GΘ[t] = −GS[t]·g'[t] + GΘ[t+1]·β
    Gα = Σ GV[t+1]·V[t]·(1 − S[t])          Gγ = Σ GΘ[t+1]·S[t]
    Gβ = Σ GΘ[t+1]·(Θ[t] − Θ0)              GΘ0 = (1 − β)·Σ GΘ[t+1] + GΘ[1]

GV is taken to be zero once it has faded below 1e-30
(:data:`training.kernels.scans.celif.NOTHING`).

Arrays are (group, time, sample, neuron) as in :mod:`training.kernels.scans.celif`; the state of a
tile, (group, sample, neuron), is the caller's, so that a recurrent layer can go back by one step at
a time. Arguments that a layer does not need are None, and numba compiles a kernel without
them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from training.dynamics import Params, State, advance
from training.kernels.scans.celif import BOXED, NOTHING, SPIKED, spike
from training.kernels.scans.row_sums import feed_back
from training.support import compiled

_prange = compiled.parallel_range()


class Context(NamedTuple):
    """Coefficients of the contextual embedding, besides γ."""

    v: Any = 0.0
    te: Any = 0.0
    s_te: Any = 0.0
    v_te: Any = 0.0

    def cast(self, dtype: np.dtype | type) -> Context:
        """Return the coefficients in the numpy type in which a kernel computes."""
        return Context(*(np.dtype(dtype).type(value) for value in self))


@compiled.jitable
def embedding(te: Any, state: State, gamma: Any, c: Context) -> Any:
    """Return CE[t] for TE[t] and the state at t − 1."""
    return gamma * state.s + c.v * state.v + te * (c.te + c.s_te * state.s + c.v_te * state.v)


@compiled.kernel()
def forward(  # type: ignore[no-untyped-def]
    x, bias, te, neuron, c, width, v, flags, theta, theta_now, v_now, s_now, fed, each
):
    """Turn the currents ``x`` into spikes.

    ``neuron`` (4, neuron) holds α, β, Θ0 and γ. ``theta`` receives Θ of every step, or is None.
    ``fed`` is a recurrent layer's packed weight, or None. A thread takes ``each`` neurons of a
    group, of a recurrent layer ``each`` samples.
    """
    groups, steps, size, neurons = x.shape
    shared = neurons if fed is None else size
    parts = (shared + each - 1) // each
    for task in _prange(groups * parts):
        g, begin = task // parts, task % parts * each
        end = min(begin + each, shared)
        low, high = (begin, end) if fed is None else (0, neurons)
        first, last = (0, size) if fed is None else (begin, end)
        for t in range(steps):
            if fed is not None and t > 0:
                feed_back(flags, fed, g, t, first, last, x)
            for i in range(first, last):
                for n in range(np.uint64(low), np.uint64(high)):
                    old = State(theta_now[g, i, n], v_now[g, i, n], s_now[g, i, n])
                    p = Params(neuron[0, n], neuron[1, n], neuron[2, n])
                    if te is None:
                        ce = neuron[3, n] * old.s + c.v * old.v
                    else:
                        ce = embedding(te[t, n], old, neuron[3, n], c)
                    new = advance(x[g, t, i, n] + bias[n], ce, old, p, spike)
                    theta_now[g, i, n], v_now[g, i, n], s_now[g, i, n] = new.theta, new.v, new.s
                    v[g, t, i, n] = new.v
                    x[g, t, i, n] = new.s
                    if theta is not None:
                        theta[g, t, i, n] = new.theta
                    boxed = abs(new.v - new.theta) < width
                    flags[g, t, i, n] = np.uint8(boxed) | np.uint8(new.s) << 1


@compiled.kernel()
def backward(  # type: ignore[no-untyped-def]
    grad, te, neuron, c, v, flags, theta, grad_v, grad_theta, grad_bias, grad_te,
    grad_alpha, grad_beta, grad_theta0, grad_gamma, first, last, each,
):  # fmt: skip
    """Turn gradients of spikes into those of currents, from step ``last`` − 1 down to ``first``.

    Adds to the sums of group g, each (group, neuron) or None: of Θ0 it sums GΘ[t+1] alone, and
    what the first step adds to those of Θ0 and TE is left to the caller.
    """
    groups, steps, size, neurons = grad.shape
    parts = (neurons + each - 1) // each
    for task in _prange(groups * parts):
        g, low = task // parts, task % parts * each
        high = min(low + each, neurons)
        for t in range(last - 1, first - 1, -1):
            after = min(t + 1, steps - 1)  # at the end grad_theta is 0, whatever TE is
            for i in range(size - 1, -1, -1):
                for k in range(np.uint64(high - low)):
                    n = np.uint64(high - 1) - np.uint64(k)
                    now, flag = v[g, t, i, n], flags[g, t, i, n]
                    alpha, beta, theta0, gamma = (
                        neuron[0, n],
                        neuron[1, n],
                        neuron[2, n],
                        neuron[3, n],
                    )
                    zero = alpha - alpha
                    back, through = grad_theta[g, i, n], alpha * grad_v[g, i, n]
                    by_s, by_v = gamma, c.v
                    if te is not None:
                        by_s, by_v = gamma + te[after, n] * c.s_te, c.v + te[after, n] * c.v_te
                        s_te = c.s_te if flag & SPIKED else zero
                        grad_te[g, after, n] += back * (c.te + s_te + c.v_te * now)
                    if grad_alpha is not None:
                        grad_alpha[g, n] += zero if flag & SPIKED else grad_v[g, i, n] * now
                    if grad_beta is not None:
                        grad_beta[g, n] += back * (theta[g, t, i, n] - theta0)
                    if grad_theta0 is not None:
                        grad_theta0[g, n] += back
                    if grad_gamma is not None:
                        grad_gamma[g, n] += back if flag & SPIKED else zero
                    grad_s = grad[g, t, i, n] - through * now + back * by_s
                    boxed = grad_s if flag & BOXED else zero
                    new_v = boxed + (zero if flag & SPIKED else through) + back * by_v
                    new_v = zero if abs(new_v) < NOTHING else new_v
                    grad_v[g, i, n], grad_theta[g, i, n] = new_v, beta * back - boxed
                    grad[g, t, i, n] = new_v
                    grad_bias[g, n] += new_v
