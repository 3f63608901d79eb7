"""Inputs that drive one neuron of a layer to an extreme, found backwards and forwards in time.

The aim is c·(Θ[t] − Θ0) + w·V[t], as large as possible at a step t. Seen backwards, with the
spikes of the last attempt, it is a linear form of every state before it::

    w[j] = c[j+1]·TE[j+1] + α·(1 − S[j])·w[j+1],   c[j] = β·c[j+1]

Forwards, the real integer step is taken with each of a few inputs, and the one whose state has the
largest form is kept: the largest and the smallest sum there can be, that of no input, the largest
that leaves the neuron just below its threshold, and the smallest that takes it there. The spikes
that come of it correct the next attempt. Nothing here is trusted: what counts is what the twin
computes when it is given the inputs.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from export.loihi2 import DECAY_ONE
from export.steps import celif
from export.steps.celif import IntParams, State
from training.support import compiled

_prange = compiled.parallel_range()
_step = celif.step
_ATTEMPTS = 3
_CHOICES = 5
_ANY = 1 << 62


class Aim(NamedTuple):
    """Which neuron is driven where: the largest c·(Θ − Θ0) + w·V at ``step``."""

    neuron: int
    step: int
    c: float
    w: float


@compiled.jitable
def _attain(wanted, weights, order, low, high, inputs):  # type: ignore[no-untyped-def]
    """Put inputs whose sum is at most ``wanted``, and near it, into ``inputs``; return the sum."""
    total = wanted * 0
    for i in range(len(weights)):
        inputs[i] = low[i] if weights[i] > 0 else high[i]
        total += weights[i] * inputs[i]
    for i in order:  # the heaviest first; the light ones fill up what is left
        size = abs(weights[i])
        if size == 0 or total + size > wanted:
            continue
        units = min(high[i] - low[i], (wanted - total) // size)
        inputs[i] += units if weights[i] > 0 else -units
        total += units * size
    return total


@compiled.jitable
def _choice(kind, state, te, p, least, most):  # type: ignore[no-untyped-def]
    """The synaptic sum to try, as a wish: what can be attained is at most that."""
    if kind == 0:
        return most
    if kind == 1:
        return least
    if kind == 2:
        return min(max(least * 0, least), most)
    # Where the threshold will be does not depend on the sum: try it with none.
    rest = _step(least * 0, te, state, p)
    short = (rest.theta - rest.v) >> p.shift  # rounds down: at or below the threshold
    below = short - (((short << p.shift) + rest.v) >= rest.theta)
    wish = below if kind == 3 else below + 1
    return min(max(wish, least), most)


@compiled.jitable
def _copy(source, target):  # type: ignore[no-untyped-def]
    # A loop: numba would compile an assignment of slices to parallel code, for many seconds.
    for i in range(len(source)):
        target[i] = source[i]


@compiled.jitable
def _drive(aim, last, te, synapses, down, p, scratch, inputs):  # type: ignore[no-untyped-def]
    """Fill ``inputs`` (step, input) up to step ``last``; the rest stays as it is."""
    weights, order, low, high = synapses
    spikes, future, trial, tried = scratch
    alpha, beta, scale = p.alpha_mant / DECAY_ONE, p.beta_mant / DECAY_ONE, 2.0**-p.te_exp
    least = _attain(-_ANY, weights, order, low, high, tried) >> down
    most = _attain(_ANY, weights, order, low, high, tried) >> down
    best = -np.inf
    for _ in range(_ATTEMPTS):
        c, w = aim
        for j in range(last, -1, -1):
            future[j] = w
            w = c * te[j] * scale + alpha * (1 - spikes[j - 1]) * w
            c *= beta
        state = State(p.theta0_int, p.theta0_int * 0, p.theta0_int * 0)
        score = -np.inf
        for j in range(last + 1):
            c = aim[0] * beta ** (last - j)
            score, chosen = -np.inf, state
            for kind in range(_CHOICES):
                wish = _choice(kind, state, te[j], p, least, most)
                # The largest sum that arrives as the wish.
                wanted = ((wish + 1) << down) - 1
                acc = _attain(wanted, weights, order, low, high, tried) >> down
                new = _step(acc, te[j], state, p)
                w = aim[1]
                if j < last:
                    later = aim[0] * beta ** (last - j - 1)
                    w = later * te[j + 1] * scale + alpha * (1 - new.s) * future[j + 1]
                value = c * (new.theta - p.theta0_int) + w * new.v
                if value > score:
                    score, chosen = value, new
                    _copy(tried, trial[j])
            state = chosen
            spikes[j] = chosen.s
        if score > best:
            best = score
            for j in range(last + 1):
                _copy(trial[j], inputs[j])


@compiled.kernel()
def _drive_all(  # type: ignore[no-untyped-def]
    aims, neurons, lasts, te, weights, orders, low, high, down, p, scratch, inputs
):
    spikes, future, trial, tried = scratch
    for i in _prange(len(neurons)):
        n = neurons[i]
        own = IntParams(
            p.alpha_mant[n], p.beta_mant[n], p.theta0_int[n], p.te_exp[n], p.shift[n], p.bias[n]
        )
        synapses = weights[n], orders[n], low, high
        own_scratch = spikes[i], future[i], trial[i], tried[i]
        _drive(
            (aims[i, 0], aims[i, 1]), lasts[i], te[n], synapses, down, own, own_scratch, inputs[i]
        )


def driving_inputs(
    aims: list[Aim],
    te: np.ndarray,
    registers: IntParams,
    weight: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    down: int = 0,
) -> np.ndarray:
    """Inputs (aim, step, input) in ``low``..``high`` that go for each aim; after its step, 0.

    ``registers`` hold one value per neuron each, ``weight`` is (neuron, input), sums are shifted
    right by ``down``.
    """
    shape = len(aims), te.shape[1], weight.shape[1]
    inputs = np.zeros(shape, np.int64)
    # One more step than there are: before the first one nothing has spiked.
    scratch = (
        np.zeros((shape[0], shape[1] + 1), np.int64),
        np.zeros(shape[:2]),
        np.zeros_like(inputs),
        np.zeros((shape[0], shape[2]), np.int64),
    )
    orders = np.argsort(-np.abs(weight), axis=1, kind="stable")
    neurons, lasts = (np.array([getattr(a, f) for a in aims], np.int64) for f in ("neuron", "step"))
    objectives = np.array([(a.c, a.w) for a in aims], np.float64)
    matrices = (np.ascontiguousarray(a, np.int64) for a in (te, weight, orders, low, high))
    _drive_all(objectives, neurons, lasts, *matrices, down, registers, scratch, inputs)
    return inputs
