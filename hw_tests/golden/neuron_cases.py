"""Unit neurons: rounding, the rules of the step, and the ends of every range."""

from __future__ import annotations

import numpy as np

from export import loihi2
from hw_tests.golden.case import FRACTION_BITS, KitCase, one_layer

_HIGH = 1 << 15
"""A threshold that no input of the quiet cases reaches."""


def _pulse(value: int, steps: int) -> list[int]:
    return [value] + [0] * (steps - 1)


def rounding() -> list[KitCase]:
    """Cases of terms that are rounded towards zero."""
    quiet = {"theta0_int": _HIGH}
    values = (5, -5, 1, -1, 4095, -4095)
    moved = [_pulse(v, 8) for v in (640, -640, 17, -17)]
    return [
        one_layer(
            "decay",
            "α·V is rounded towards zero: 5 → 2 → 1 → 0 and −5 → −2 → −1 → 0. No neuron fires.",
            [_pulse(v, 6) for v in values],
            **quiet,
        ),
        one_layer(
            "threshold-decay",
            "Θ moves once by TE·V, then returns to Θ0 by β from either side, rounded towards zero.",
            moved,
            [[0, 3, *[0] * 6]] * 4,
            alpha_mant=0,
        ),
        one_layer(
            "te-product",
            "TE·V is shifted right by the exponent, rounded towards zero for both signs.",
            [[7, 0, -7, 0, 15, 0, -15, 0]] * 2,
            [[0, 3, 0, 3, 0, 3, 0, 3], [0, -3, 0, -3, 0, -3, 0, -3]],
            alpha_mant=0,
            beta_mant=0,
        ),
    ]


def rules() -> list[KitCase]:
    """Cases of the comparison, the reset, signs and biases."""
    return [
        one_layer(
            "equality",
            "V = Θ is a spike; one less is none.",
            [[100, 0, 99, 0, 101, 0, 100, 99]],
            alpha_mant=0,
        ),
        one_layer(
            "reset",
            "After a spike nothing of V is kept, yet TE multiplies the V that spiked.",
            [[150, 10, 10, 10, 150, 150, 10, 10], [90, 50, 30, 20, 10, 5, 3, 2]],
            [[0, 16, 16, 16, 0, 0, 16, 16]] * 2,
        ),
        one_layer(
            "negative-te",
            "A negative TE lowers the threshold below Θ0, and below 0.",
            [[90, 30, 30, 30, 30, 30, 30, 30], [60, -200, 5, 5, 5, 5, 5, 5]],
            [[0, -8, -16, -32, -64, -127, -127, -1]] * 2,
        ),
        one_layer(
            "negative-theta0",
            "A resting threshold below zero: a neuron at rest fires.",
            [[0, -5, -6, 0, -4, -9, 0, 0]],
            theta0_int=-5,
            alpha_mant=0,
        ),
        one_layer(
            "bias-smallest-shift",
            "Biases from one end to the other, not shifted.",
            np.zeros((4, 6)),
            bias_mant=np.array([loihi2.BIAS_MANT_MIN, -1, 60, loihi2.BIAS_MANT_MAX]),
        ),
        one_layer(
            "bias-largest-shift",
            "The same biases, shifted as far as they can be.",
            np.zeros((4, 6)),
            bias_mant=np.array([loihi2.BIAS_MANT_MIN, -1, 60, loihi2.BIAS_MANT_MAX]),
            bias_exp=loihi2.BIAS_EXP_MAX,
        ),
    ]


def extremes() -> list[KitCase]:
    """Cases of saturation and of the ends of decays, TE and exponents."""
    most = loihi2.DECAY_ONE - 1
    loud = [[1, 1, -1, -1, 0, 0, 1, -1], [-1, -1, -1, 1, 1, 1, 0, 0]]
    full = {"fraction_bits": loihi2.FRACTION_BITS_MAX, "weight_exp": loihi2.WEIGHT_EXP_MIN}
    steep = [[0, 127, 127, 127, 127, 127, 127, 127], [0, *[-127] * 7]]
    wide = np.array(loud) * 60_000
    return [
        one_layer(
            "saturation-v",
            "V stops at both ends of its register: inputs shifted by 24 bits pass it at once.",
            loud,
            alpha_mant=most,
            **full,
        ),
        one_layer(
            "saturation-theta",
            "Θ stops at both ends of its register, and comes back from there.",
            wide,
            steep,
            te_exp=0,
            beta_mant=most,
            alpha_mant=most,
        ),
        one_layer(
            "largest-decays",
            "α = β = 4095/4096: what is kept shrinks by the rounding alone in the end.",
            [_pulse(3000, 12), _pulse(-3000, 12), _pulse(90, 12)],
            [[0, 5, *[0] * 10]] * 3,
            alpha_mant=most,
            beta_mant=most,
        ),
        one_layer(
            "no-memory",
            "α = β = 0: V is the input, and Θ − Θ0 is TE·V of the step before.",
            [[120, 50, 200, -50, 100, 0, 150, 90]],
            [[9, -9, 9, -9, 9, -9, 9, -9]],
            alpha_mant=0,
            beta_mant=0,
        ),
        one_layer(
            "te-2-bits",
            "Mantissas of TE in −1..1.",
            [[120, 50, 90, 100, 40, 110, 150, 90]],
            [[1, -1, 0, 1, 1, -1, -1, 1]],
            te_bits=2,
            te_exp=0,
        ),
        one_layer(
            "te-16-bits",
            "Mantissas of TE over 16 bits, with the largest exponent and with a small one.",
            [[120, 60_000, 90, 60_000, 40, -60_000, 150, 90]] * 2,
            [[0, 32767, -32767, 12345, -1, 1, 32767, -32767]] * 2,
            te_bits=16,
            te_exp=np.array([loihi2.TE_EXP_MAX, 9]),
        ),
        one_layer(
            "exponents-of-each-neuron",
            "Weights and TE with an exponent for every neuron.",
            [[30, 40, 50, -20, 30, 10, 60, 0]] * 3,
            [[4, -4, 8, -8, 16, -16, 32, -32]] * 3,
            weight_exp=np.array([FRACTION_BITS, FRACTION_BITS - 1, FRACTION_BITS - 3]),
            te_exp=np.array([2, 4, 6]),
        ),
        one_layer(
            "decays-of-each-neuron",
            "α and β for every neuron: none, a slow one, and the largest.",
            [[30, 90, 50, -20, 130, 10, 60, 0]] * 3,
            [[4, -4, 8, -8, 16, -16, 32, -32]] * 3,
            alpha_mant=np.array([0, 3500, most]),
            beta_mant=np.array([most, 0, 2048]),
        ),
    ]
