"""Intervals that hold every V and Θ of a CE-LIF layer, whatever its input: the proof's arithmetic.

Claim. For each neuron n and step t, and every sequence of inputs in range, the values of V and Θ
before saturation lie in [v_low, v_high] and [theta_low, theta_high] of (n, t).

Proof, by induction over t. Write [·] for the ends of step t − 1, put into their registers.

1. rz and sat are monotone and α, β ≥ 0, so :func:`export.steps.celif.unsaturated` rises with Θ,
   with the sum, and with V in the membrane; in the threshold it rises or falls with V by the sign
   of TE. The step itself, taken at the right corner of the box, is therefore its extreme.
2. A membrane that decays did not spike: V < Θ ≤ theta_high, so it is at most theta_high − 1. One
   that spiked (only possible if v_high ≥ theta_low) restarts from 0. Where only one of the two
   can happen, only that one counts. This holds V near its threshold, not near drive / (1 − α).
3. The box forgets that a V that was high cannot be low a step later. Where nothing has saturated
   so far, D = Θ − Θ0 is a linear form of the past, up to rounding, and can be unrolled. With
   w = TE[t], c = β, and j from t − 1 downwards::

       D[t] ≤ c·D[j] + w·V[j] + drives so far + roundings so far
       V[j] = α·V[j−1] + I[j]    if the neuron was silent at j − 1:  w ← c·TE[j] + α·w,  c ← β·c
       V[j] = I[j]               if it spiked: what remains is c·D[j]

   Each I[j] is taken at the end that w points to. Unrolling may stop at any j, with what is known
   of V[j] and D[j] by induction; the best stop counts, and the worst of the spikes passed on the
   way: the bound is ``min over stops of max(stop, spikes passed)``. From the second round on it is
   also known that V[j] < Θ[j], as the neuron was silent at j, and for a spike that V ≥ Θ where it
   happened: a Θ far above every V cannot be passed, and one far below cannot be survived, so the
   ends of Θ and V are not reached together (:func:`_together`).
   Each rz moves a value by less than 1: two in D and one in V cost 2c + |w| a round. Sums are in
   float64; 2^−45 of their magnitude, more than their rounding, is added. The lower end is the same
   with the signs of D and w turned.

A bound within the registers at every step proves that saturation never acts, and so that it was
right to leave it out of 3. Past the first step that may saturate, 1 and 2 alone go on, with
saturated ends.

What is not used: that the inputs of two steps, or of two neurons, may exclude each other where
they come from one network. Each neuron meets its own worst input at each step.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from export.loihi2 import DECAY_ONE, SAFE_STATE_MAX, STATE_MAX
from export.model.celif import CelifLayer
from export.model.layer import RegisterEnds, SpikingLayer
from export.model.lif import LeakyLayer
from export.steps import arithmetic, celif
from export.steps.celif import IntParams, State
from training.support import compiled

_prange = compiled.parallel_range()
_next = celif.unsaturated
_saturate = arithmetic.saturate

_FORGOTTEN = 2.0**-10
"""A V whose share has decayed below this need not be unrolled further."""
_DEPTH_MAX = 64


class Intervals(NamedTuple):
    """Ends of V and Θ before saturation, (lane, step) each.

    Neurons that cannot differ share a lane, as the inner positions of a convolution's channel do.
    """

    v_low: np.ndarray
    v_high: np.ndarray
    theta_low: np.ndarray
    theta_high: np.ndarray
    lane: np.ndarray
    """The lane of each neuron."""

    @property
    def v(self) -> np.ndarray:
        """Largest |V|, (lane, step)."""
        return np.maximum(np.abs(self.v_low), np.abs(self.v_high))

    @property
    def theta(self) -> np.ndarray:
        """Largest |Θ|, (lane, step)."""
        return np.maximum(np.abs(self.theta_low), np.abs(self.theta_high))


@compiled.jitable
def _together(sign, spiked, c, w, largest, v_low, v_high, theta0):  # type: ignore[no-untyped-def]
    """Largest c·sign·D + w·V with sign·D ≤ ``largest``, and V ≥ Θ if ``spiked``, else V < Θ.

    Where D and V pull against each other, sign·D is at most a line in V, so that the form is
    concave in V: its maximum is at an end, or where the line meets ``largest``.
    """
    if sign > 0 and spiked:  # Θ ≤ V, hence D ≤ V − Θ0
        slope, reach = 1, -theta0
    elif sign < 0 and not spiked:  # Θ ≥ V + 1, hence −D ≤ Θ0 − 1 − V
        slope, reach = -1, theta0 - 1
    elif sign > 0:  # V < Θ ≤ Θ0 + largest
        return c * largest + max(w * v_low, w * min(v_high, theta0 + largest - 1))
    else:  # V ≥ Θ ≥ Θ0 − largest
        return c * largest + max(w * max(v_low, theta0 - largest), w * v_high)
    meet = min(max(slope * (largest - reach), v_low), v_high)
    at_low = c * min(largest, slope * v_low + reach) + w * v_low
    at_high = c * min(largest, slope * v_high + reach) + w * v_high
    return max(at_low, at_high, c * min(largest, slope * meet + reach) + w * meet)


@compiled.jitable
def _unrolled(sign, t, te, scale, p, depth, least, most, rows):  # type: ignore[no-untyped-def]
    """Upper bound of sign · (Θ[t] − Θ0) by point 3; ``rows`` are those of Intervals."""
    v_low, v_high, theta_low, theta_high = rows
    theta0 = p.theta0_int
    alpha, beta = p.alpha_mant / DECAY_ONE, p.beta_mant / DECAY_ONE
    c, w = beta, sign * te[t] * scale
    drives, roundings, magnitude = 0.0, 2.0, 0.0
    spiked, best = -np.inf, np.inf
    for j in range(t - 1, max(t - 2 - depth, -2), -1):
        if j < 0:  # before the first step: V = 0 and Θ = Θ0
            best = min(best, max(spiked, drives + roundings))
            break
        largest = theta_high[j] - theta0 if sign > 0 else theta0 - theta_low[j]
        if j == t - 1:
            stop = c * largest + max(w * v_low[j], w * v_high[j])
        else:
            stop = _together(sign, False, c, w, largest, v_low[j], v_high[j], theta0)
        best = min(best, max(spiked, drives + roundings + stop))
        drive = max(w * least, w * most)
        magnitude += abs(drive) + abs(c * largest) + abs(stop)
        earlier = c * sign * te[j] * scale
        if j > 0 and v_high[j - 1] >= theta_low[j - 1]:
            before = theta_high[j - 1] - theta0 if sign > 0 else theta0 - theta_low[j - 1]
            ends = v_low[j - 1], v_high[j - 1]
            rest = 2 * c + _together(sign, True, c * beta, earlier, before, *ends, theta0)
            magnitude += abs(rest)
            spiked = max(spiked, drives + roundings + drive + min(c * largest, rest))
        if spiked >= best:  # no further stop is better; always so where it cannot have been silent
            break
        drives += drive
        roundings += 2 * c + abs(w)
        w, c = earlier + alpha * w, c * beta
    return best + magnitude * 2.0**-45


@compiled.kernel()
def _scan(te, least_acc, most_acc, p, depth, v_low, v_high, theta_low, theta_high):  # type: ignore[no-untyped-def]
    neurons, steps = te.shape
    for n in _prange(neurons):
        own = IntParams(
            p.alpha_mant[n], p.beta_mant[n], p.theta0_int[n], p.te_exp[n], p.shift[n], p.bias[n]
        )
        least = (least_acc[n] << own.shift) + own.bias
        most = (most_acc[n] << own.shift) + own.bias
        scale = 2.0**-own.te_exp
        rows = v_low[n], v_high[n], theta_low[n], theta_high[n]
        low_v = high_v = own.theta0_int * 0
        low_theta = high_theta = own.theta0_int
        within = True
        for t in range(steps):
            # Point 1: the corner of V that makes Θ small, and the one that makes it large.
            for_low, for_high = (high_v, low_v) if te[n, t] < 0 else (low_v, high_v)
            lower, _ = _next(least_acc[n], te[n, t], State(low_theta, for_low, 0), own)
            upper, _ = _next(most_acc[n], te[n, t], State(high_theta, for_high, 0), own)
            # Point 2: V of those that were silent, and of those that spiked.
            below, above = most, least
            if low_v < high_theta:
                silent = min(high_v, high_theta - 1)
                _, below = _next(least_acc[n], te[n, t], State(low_theta, low_v, 0), own)
                _, above = _next(most_acc[n], te[n, t], State(high_theta, silent, 0), own)
            if high_v >= low_theta:
                below, above = min(below, least), max(above, most)
            if within:
                up = _unrolled(1, t, te[n], scale, own, depth, least, most, rows)
                down = _unrolled(-1, t, te[n], scale, own, depth, least, most, rows)
                upper = min(upper, own.theta0_int + int(np.floor(up)))
                lower = max(lower, own.theta0_int - int(np.floor(down)))
            v_low[n, t], v_high[n, t] = below, above
            theta_low[n, t], theta_high[n, t] = lower, upper
            within = within and max(-below, above, -lower, upper) <= STATE_MAX
            low_v, high_v = _saturate(below), _saturate(above)
            low_theta, high_theta = _saturate(lower), _saturate(upper)


def _depth(alpha_mant: int | np.ndarray) -> int:
    """Rounds of unrolling after which the V of every neuron is forgotten, within reason."""
    alpha = int(np.max(alpha_mant)) / DECAY_ONE
    return min(_DEPTH_MAX, math.ceil(math.log(_FORGOTTEN) / math.log(alpha))) if alpha > 0 else 1


def _lanes(layer: CelifLayer, least: np.ndarray, most: np.ndarray) -> np.ndarray:
    """Number neurons (neuron,) so that those with the same row and sums have the same number."""
    if layer.positions == 1:
        return np.arange(layer.neurons)
    row = layer.per_neuron(np.arange(layer.rows))
    return np.unique(np.stack([row, least, most]), axis=1, return_inverse=True)[1].reshape(-1)


def intervals(layer: CelifLayer, low: int, high: int, depth: int | None = None) -> Intervals:
    """Intervals of a layer for every sequence of inputs in ``low``..``high``.

    ``depth`` is for how many steps Θ is unrolled: if None, until V is forgotten; at 0, points 1 and
    2 of the proof stand alone.
    """
    least, most = layer.arriving(low, high)
    lane = _lanes(layer, least, most)
    neuron = np.unique(lane, return_index=True)[1]

    def each(values: Any) -> np.ndarray:
        whole = np.broadcast_to(np.asarray(values, np.int64), layer.neurons)
        return np.ascontiguousarray(whole[neuron])

    p = IntParams(*map(each, layer.params))
    te = np.ascontiguousarray(layer.te[neuron // layer.positions], np.int64)
    v_low, v_high, theta_low, theta_high = (np.empty(te.shape, np.int64) for _ in range(4))
    ends = Intervals(v_low, v_high, theta_low, theta_high, lane)
    rounds = _depth(layer.alpha_mant) if depth is None else depth
    _scan(te, each(least), each(most), p, rounds, *ends[:4])
    return ends


class Bounds(NamedTuple):
    """Largest |V| and |Θ| over neurons and steps, before saturation."""

    v: int
    theta: int

    @property
    def safe(self) -> bool:
        """Whether neither register can ever saturate."""
        return max(self) <= SAFE_STATE_MAX


def worst_case(layer: LeakyLayer, low: int, high: int, steps: int = 0) -> Bounds:
    """Bounds of ``layer`` for every sequence of ``steps`` inputs with values in ``low``..``high``.

    Those of a CE-LIF layer are :func:`intervals`' over the whole of its TE; other layers bring
    their own proof.
    """
    if isinstance(layer, CelifLayer):
        ends = intervals(layer, low, high)
        v, theta = int(ends.v.max()), int(ends.theta.max())
    else:
        found = {end.register: int(end.values.max()) for end in _own(layer, low, high, steps)}
        v, theta = found["V"], found.get("Θ", 0)
    # A network at rest has Θ = Θ0, before the first step.
    return Bounds(v, max(theta, abs(layer.theta0_int)))


def _own(layer: SpikingLayer, low: int, high: int, steps: int) -> tuple[RegisterEnds, ...]:
    return layer.bounds(*layer.arriving(low, high), steps)
