"""How large the registers of SLAYER's neurons can become, whatever the input; (neuron, step) each.

CUBA. U and V rise with their old values and with the sum, so intervals go through the equations
end by end. A V that decays did not spike: it is at most the threshold; one that spiked restarts
from 0.

Sigma-delta. σ sums the inputs, so its ends are t times those of a step. What has been sent moves
towards the activation A = max(σ + b, 0) and never past it, so it stays in 0..max A, and so does the
difference |Δ| that the next message is made of.
"""

from __future__ import annotations

import numpy as np

from export.loihi2 import CURRENT_SHIFT, STATE_MAX
from export.model.network import CubaLayer, SigmaDeltaLayer
from export.steps import cuba, sigma_delta
from export.steps.celif import saturate


def _magnitude(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    return np.maximum(np.abs(low), np.abs(high))


def cuba_states(
    layer: CubaLayer, least: np.ndarray, most: np.ndarray, steps: int
) -> tuple[np.ndarray, np.ndarray]:
    """Largest |U| before it wraps and |V| before it saturates, for sums in ``least``..``most``."""
    p, threshold = layer.params, layer.vth << CURRENT_SHIFT
    u_low = u_high = v_low = v_high = np.zeros(layer.neurons, np.int64)
    u, v = (np.empty((layer.neurons, steps), np.int64) for _ in range(2))
    for t in range(steps):
        u_low, u_high = cuba.current(least, u_low, p), cuba.current(most, u_high, p)
        u[:, t] = _magnitude(u_low, u_high)
        # Where U may wrap, its bound says so; V goes on with all that one turn can make of it.
        wraps, turn = u[:, t] > STATE_MAX, 2 * cuba.HALF_TURN
        u_low = np.where(wraps, np.minimum(u_low + turn, -STATE_MAX), u_low)
        u_high = np.where(wraps, np.maximum(u_high - turn, cuba.HALF_TURN), u_high)
        v_low = cuba.membrane(u_low, np.minimum(v_low, 0), p)
        v_high = cuba.membrane(u_high, np.clip(v_high, 0, threshold), p)
        v[:, t] = _magnitude(v_low, v_high)
        v_low, v_high = saturate(v_low), saturate(v_high)
    return u, v


def sigma_delta_states(
    layer: SigmaDeltaLayer, least: np.ndarray, most: np.ndarray, steps: int
) -> tuple[np.ndarray, np.ndarray]:
    """Largest |σ|, with and without the bias, and |message| that would be sent if none were cut."""
    p = layer.params
    passed = np.arange(1, steps + 1)
    low, high = ((ends << p.shift)[:, None] * passed for ends in (least, most))
    bias = p.bias[:, None]
    sigma = np.maximum(_magnitude(low, high), _magnitude(low + bias, high + bias))
    # A fall of one unit is sent as −1: a message is shifted right rounding down.
    return sigma, -(-np.maximum(high + bias, 0) >> sigma_delta.STATE_EXP)
