"""Neurons with a leak and a reset of their own: GLIF, and ALIF with a soft reset.

::

    Θ[t] = β·(Θ[t-1] − Θ0) + γ·S[t-1] + Θ0
    V[t] = a·V[t-1] − S[t-1]·(h·V[t-1] + r·Θ[t] + q) + k[t]·I[t] − l

With h = a a spike resets V to zero; q and r·Θ are what a soft reset subtracts, l a linear leak and
k[t] a gain of the input that may differ from step to step. All but r, one number of a layer, and k
are given per neuron. Backward, with G = ∂L/∂·::

    GS[t] = (from above)[t] − GV[t+1]·(h·V[t] + r·Θ[t+1] + q) + GΘ[t+1]·γ
    GV[t] = GS[t]·g'[t] + GV[t+1]·(a − h·S[t])
    GΘ[t] = −GS[t]·g'[t] + GΘ[t+1]·β − r·S[t-1]·GV[t]
    GI[t] = k[t]·GV[t]

GV is taken to be zero once it has faded below 1e-30
(:data:`training.kernels.scans.celif.NOTHING`).

The layout of arrays, the state and None as an argument are as in
:mod:`training.kernels.scans.adaptive`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from training.dynamics import State
from training.kernels.scans.celif import BOXED, NOTHING, SPIKED, spike
from training.kernels.scans.row_sums import feed_back
from training.support import compiled

_prange = compiled.parallel_range()


class Gates(NamedTuple):
    """Constants of the step, each per neuron; ``r`` is one number."""

    a: Any
    h: Any
    q: Any
    leak: Any
    beta: Any
    theta0: Any
    gamma: Any


@compiled.jitable
def fired(
    x: Any, theta: Any, v: Any, s: Any, p: Gates, r: Any, spikes: Callable[[Any, Any], Any]
) -> State:
    """The state with a threshold of ``theta``, after ``v`` and ``s``."""
    new = p.a * v - s * (p.h * v + r * theta + p.q) + x - p.leak
    return State(theta, new, spikes(new, theta))


@compiled.jitable
def step(x: Any, state: State, p: Gates, r: Any, spikes: Callable[[Any, Any], Any]) -> State:
    """Advance a layer by one time step with the scaled current ``x`` = k[t]·I[t]."""
    theta = p.beta * (state.theta - p.theta0) + p.gamma * state.s + p.theta0
    return fired(x, theta, state.v, state.s, p, r, spikes)


@compiled.kernel()
def forward(  # type: ignore[no-untyped-def]
    x, bias, gain, neuron, r, width, v, flags, theta, theta_now, v_now, s_now, fed, each
):
    """Turn the currents ``x`` into spikes.

    ``neuron`` (7, neuron) holds :class:`Gates`; ``gain`` (time,) and ``theta``, which receives Θ of
    every step, may be None. ``theta_now`` is None where β = γ = 0, so that Θ = Θ0. ``fed`` and
    ``each`` are as in :func:`training.kernels.scans.adaptive.forward`.
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
                    p = Gates(neuron[0, n], neuron[1, n], neuron[2, n], neuron[3, n], neuron[4, n],
                              neuron[5, n], neuron[6, n])  # fmt: skip
                    current = x[g, t, i, n] + bias[n]
                    if gain is not None:
                        current = gain[t] * current
                    if theta_now is None:
                        new = fired(current, p.theta0, v_now[g, i, n], s_now[g, i, n], p, r, spike)
                    else:
                        old = State(theta_now[g, i, n], v_now[g, i, n], s_now[g, i, n])
                        new = step(current, old, p, r, spike)
                        theta_now[g, i, n] = new.theta
                    v_now[g, i, n], s_now[g, i, n] = new.v, new.s
                    v[g, t, i, n] = new.v
                    x[g, t, i, n] = new.s
                    if theta is not None:
                        theta[g, t, i, n] = new.theta
                    boxed = abs(new.v - new.theta) < width
                    flags[g, t, i, n] = np.uint8(boxed) | np.uint8(new.s) << 1


@compiled.kernel()
def backward(  # type: ignore[no-untyped-def]
    grad, gain, neuron, r, v, flags, theta, slope, grad_v, grad_theta, grad_bias, grad_gain,
    grad_a, grad_h, grad_q, grad_leak, grad_beta, grad_theta0, grad_gamma, first, last, each,
):  # fmt: skip
    """Turn gradients of spikes into those of currents, from step ``last`` − 1 down to ``first``.

    ``slope`` is g'[t] where the surrogate is no box. ``grad_gain`` (group, time, neuron) receives
    GV[t]·k[t]·I[t], the other sums are (group, neuron) or None. ``theta`` is None where r = β = 0.
    ``grad_theta`` is None where β = γ = r = 0, so that Θ = Θ0 and GΘ0 = −Σ GS[t]·g'[t]. What the
    first step adds to the sums of Θ0 and k is else left to the caller.
    """
    groups, steps, size, neurons = grad.shape
    parts = (neurons + each - 1) // each
    for task in _prange(groups * parts):
        g, low = task // parts, task % parts * each
        high = min(low + each, neurons)
        for t in range(last - 1, first - 1, -1):
            after = min(t + 1, steps - 1)  # at the end grad_v and grad_theta are 0
            before = max(t - 1, 0)
            for i in range(size - 1, -1, -1):
                for k in range(np.uint64(high - low)):
                    n = np.uint64(high - 1) - np.uint64(k)
                    now, flag = v[g, t, i, n], flags[g, t, i, n]
                    a, h, q = neuron[0, n], neuron[1, n], neuron[2, n]
                    zero = a - a
                    later = grad_v[g, i, n]
                    reset = h * now + q
                    if theta is not None:
                        reset += r * theta[g, after, i, n]
                    if grad_a is not None:
                        grad_a[g, n] += later * now
                    if grad_h is not None:
                        grad_h[g, n] -= later * now if flag & SPIKED else zero
                    if grad_q is not None:
                        grad_q[g, n] -= later if flag & SPIKED else zero
                    if grad_leak is not None:
                        grad_leak[g, n] -= later
                    if grad_gain is not None:
                        drop = reset if flag & SPIKED else zero
                        driven = v[g, after, i, n] - a * now + drop + neuron[3, n]
                        grad_gain[g, after, n] += later * driven
                    grad_s = grad[g, t, i, n] - later * reset
                    if grad_theta is not None:
                        back = grad_theta[g, i, n]
                        if grad_beta is not None:
                            grad_beta[g, n] += back * (theta[g, t, i, n] - neuron[5, n])
                        if grad_theta0 is not None:
                            grad_theta0[g, n] += back
                        if grad_gamma is not None:
                            grad_gamma[g, n] += back if flag & SPIKED else zero
                        grad_s += back * neuron[6, n]
                    if slope is None:
                        through = grad_s if flag & BOXED else zero
                    else:
                        through = grad_s * slope[g, t, i, n]
                    new_v = through + later * (a - (h if flag & SPIKED else zero))
                    new_v = zero if abs(new_v) < NOTHING else new_v
                    grad_v[g, i, n] = new_v
                    if grad_theta is not None:
                        new_theta = back * neuron[4, n] - through
                        if theta is not None:
                            spiked = flags[g, before, i, n] & SPIKED and t > 0
                            new_theta -= r * new_v if spiked else zero
                        grad_theta[g, i, n] = new_theta
                    elif grad_theta0 is not None:
                        grad_theta0[g, n] -= through
                    if gain is not None:
                        new_v = new_v * gain[t]
                    grad[g, t, i, n] = new_v
                    grad_bias[g, n] += new_v
