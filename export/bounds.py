"""How large V and Θ can become, whatever the input: interval analysis of a layer's integers.

rz and sat are monotone, so the ends of an interval, sent through the integer operations, bound
everything between them. A neuron that spiked restarts its membrane from 0, so 0 is always among
the values that decay. Saturation is left out: a bound within the register proves it never acts.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from export.fixed_point import shift_to_zero
from export.loihi2 import DECAY_BITS, STATE_MAX
from export.model import CelifLayer


class Bounds(NamedTuple):
    """Largest |V| and |Θ| over neurons and steps."""

    v: int
    theta: int

    @property
    def safe(self) -> bool:
        """Whether neither register can ever saturate."""
        return max(self) <= STATE_MAX


def _drive(layer: CelifLayer, low: int, high: int) -> tuple[np.ndarray, np.ndarray]:
    """Smallest and largest input to V at a step, for inputs in low..high."""
    positive = np.maximum(layer.weight, 0).sum(1)
    negative = np.minimum(layer.weight, 0).sum(1)
    least, most = positive * low + negative * high, positive * high + negative * low
    return (least << layer.shift) + layer.bias, (most << layer.shift) + layer.bias


def worst_case(layer: CelifLayer, low: int, high: int) -> Bounds:
    """Bounds of ``layer`` for every input sequence with values in ``low``..``high``."""
    least, most = _drive(layer, low, high)
    v_low = v_high = np.zeros(layer.neurons, np.int64)
    t_low = t_high = np.full(layer.neurons, layer.theta0_int, np.int64)
    v_worst, theta_worst = 0, abs(layer.theta0_int)
    for te in layer.te.T:
        ends = te * v_low, te * v_high
        change_low = shift_to_zero(np.minimum(*ends), layer.te_exp)
        change_high = shift_to_zero(np.maximum(*ends), layer.te_exp)
        t_low, t_high = (
            shift_to_zero(layer.beta_mant * (theta - layer.theta0_int), DECAY_BITS)
            + change
            + layer.theta0_int
            for theta, change in ((t_low, change_low), (t_high, change_high))
        )
        v_low = shift_to_zero(layer.alpha_mant * np.minimum(v_low, 0), DECAY_BITS) + least
        v_high = shift_to_zero(layer.alpha_mant * np.maximum(v_high, 0), DECAY_BITS) + most
        v_worst = max(v_worst, int(np.maximum(-v_low, v_high).max()))
        theta_worst = max(theta_worst, int(np.maximum(-t_low, t_high).max()))
        if max(v_worst, theta_worst) > STATE_MAX:
            break  # already unsafe: the rest cannot make it safe, and may outgrow int64
    return Bounds(v_worst, theta_worst)
