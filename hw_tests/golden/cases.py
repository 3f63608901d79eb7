"""Unit neurons and corner cases: small networks, each about one rule of the specification.

The membrane is driven directly: a weight of 1 and no shift put the input's integer into V.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from export import loihi2
from export.model import CelifLayer, Encoding, FixedNetwork, ReadoutLayer
from export.slayer_layers import CubaLayer, SigmaDeltaLayer
from export.synapses import Geometry, Shape
from export.te import Cosine, Form, Table

_F = 12
_HIGH = 1 << 15
"""A threshold that no input of the quiet cases reaches."""


@dataclass(frozen=True)
class Case:
    """A network, its samples (batch, channel, time) and what they show."""

    name: str
    about: str
    net: FixedNetwork
    x: np.ndarray


def celif(te: Any, **fields: Any) -> CelifLayer:
    """A CE-LIF layer of one neuron for each row of ``te``, driven by one input each."""
    te = np.array(te, np.int64)
    rows = len(te)
    registers: dict[str, Any] = {
        "name": "layer 0",
        "weight": np.eye(rows, dtype=np.int64),
        "lag": 1,
        "delay_shift": False,
        "te": te,
        "te_exp": 4,
        "te_bits": 8,
        "weight_exp": _F,
        "weight_bits": 8,
        "fraction_bits": _F,
        "alpha_mant": loihi2.DECAY_ONE // 2,
        "beta_mant": loihi2.DECAY_ONE * 3 // 4,
        "theta0_int": 100,
        "bias_mant": np.zeros(rows, np.int64),
        "bias_exp": 0,
    }
    return CelifLayer(**{**registers, **fields})


def network(layers: Sequence[Any], channels: int, steps: int, gap: int = 0) -> FixedNetwork:
    """Layers without a readout, for 16-bit inputs of either sign."""
    encoding = Encoding(channels, 1.0, loihi2.MESSAGE_BITS_MAX, signed=True)
    readout = None
    if isinstance(layers[-1], ReadoutLayer):
        *layers, readout = layers
    return FixedNetwork(tuple(layers), readout, steps, gap, encoding, {})


def _case(name: str, about: str, x: Any, te: Any = None, **fields: Any) -> Case:
    """A case of one layer; ``x`` is (channel, time) of its only sample, or has samples first."""
    x = np.array(x, np.int64)
    x = x[None] if x.ndim == 2 else x
    te = np.zeros(x.shape[1:]) if te is None else te
    layer = celif(te, **fields)
    return Case(name, about, network([layer], x.shape[1], layer.te.shape[1], layer.gap), x)


def _pulse(value: int, steps: int) -> list[int]:
    return [value] + [0] * (steps - 1)


def _rounding() -> list[Case]:
    quiet = {"theta0_int": _HIGH}
    values = (5, -5, 1, -1, 4095, -4095)
    moved = [_pulse(v, 8) for v in (640, -640, 17, -17)]
    return [
        _case(
            "decay",
            "α·V is rounded towards zero: 5 → 2 → 1 → 0 and −5 → −2 → −1 → 0. No neuron fires.",
            [_pulse(v, 6) for v in values],
            **quiet,
        ),
        _case(
            "threshold-decay",
            "Θ moves once by TE·V, then returns to Θ0 by β from either side, rounded towards zero.",
            moved,
            [[0, 3, *[0] * 6]] * 4,
            alpha_mant=0,
        ),
        _case(
            "te-product",
            "TE·V is shifted right by the exponent, rounded towards zero for both signs.",
            [[7, 0, -7, 0, 15, 0, -15, 0]] * 2,
            [[0, 3, 0, 3, 0, 3, 0, 3], [0, -3, 0, -3, 0, -3, 0, -3]],
            alpha_mant=0,
            beta_mant=0,
        ),
    ]


def _rules() -> list[Case]:
    return [
        _case(
            "equality",
            "V = Θ is a spike; one less is none.",
            [[100, 0, 99, 0, 101, 0, 100, 99]],
            alpha_mant=0,
        ),
        _case(
            "reset",
            "After a spike nothing of V is kept, yet TE multiplies the V that spiked.",
            [[150, 10, 10, 10, 150, 150, 10, 10], [90, 50, 30, 20, 10, 5, 3, 2]],
            [[0, 16, 16, 16, 0, 0, 16, 16]] * 2,
        ),
        _case(
            "negative-te",
            "A negative TE lowers the threshold below Θ0, and below 0.",
            [[90, 30, 30, 30, 30, 30, 30, 30], [60, -200, 5, 5, 5, 5, 5, 5]],
            [[0, -8, -16, -32, -64, -127, -127, -1]] * 2,
        ),
        _case(
            "negative-theta0",
            "A resting threshold below zero: a neuron at rest fires.",
            [[0, -5, -6, 0, -4, -9, 0, 0]],
            theta0_int=-5,
            alpha_mant=0,
        ),
        _case(
            "bias-smallest-shift",
            "Biases from one end to the other, not shifted.",
            np.zeros((4, 6)),
            bias_mant=np.array([loihi2.BIAS_MANT_MIN, -1, 60, loihi2.BIAS_MANT_MAX]),
        ),
        _case(
            "bias-largest-shift",
            "The same biases, shifted as far as they can be.",
            np.zeros((4, 6)),
            bias_mant=np.array([loihi2.BIAS_MANT_MIN, -1, 60, loihi2.BIAS_MANT_MAX]),
            bias_exp=loihi2.BIAS_EXP_MAX,
        ),
    ]


def _extremes() -> list[Case]:
    most = loihi2.DECAY_ONE - 1
    loud = [[1, 1, -1, -1, 0, 0, 1, -1], [-1, -1, -1, 1, 1, 1, 0, 0]]
    full = {"fraction_bits": loihi2.FRACTION_BITS_MAX, "weight_exp": loihi2.WEIGHT_EXP_MIN}
    steep = [[0, 127, 127, 127, 127, 127, 127, 127], [0, *[-127] * 7]]
    wide = np.array(loud) * 60_000
    return [
        _case(
            "saturation-v",
            "V stops at both ends of its register: inputs shifted by 24 bits pass it at once.",
            loud,
            alpha_mant=most,
            **full,
        ),
        _case(
            "saturation-theta",
            "Θ stops at both ends of its register, and comes back from there.",
            wide,
            steep,
            te_exp=0,
            beta_mant=most,
            alpha_mant=most,
        ),
        _case(
            "largest-decays",
            "α = β = 4095/4096: what is kept shrinks by the rounding alone in the end.",
            [_pulse(3000, 12), _pulse(-3000, 12), _pulse(90, 12)],
            [[0, 5, *[0] * 10]] * 3,
            alpha_mant=most,
            beta_mant=most,
        ),
        _case(
            "no-memory",
            "α = β = 0: V is the input, and Θ − Θ0 is TE·V of the step before.",
            [[120, 50, 200, -50, 100, 0, 150, 90]],
            [[9, -9, 9, -9, 9, -9, 9, -9]],
            alpha_mant=0,
            beta_mant=0,
        ),
        _case(
            "te-2-bits",
            "Mantissas of TE in −1..1.",
            [[120, 50, 90, 100, 40, 110, 150, 90]],
            [[1, -1, 0, 1, 1, -1, -1, 1]],
            te_bits=2,
            te_exp=0,
        ),
        _case(
            "te-16-bits",
            "Mantissas of TE over 16 bits, with the largest exponent and with a small one.",
            [[120, 60_000, 90, 60_000, 40, -60_000, 150, 90]] * 2,
            [[0, 32767, -32767, 12345, -1, 1, 32767, -32767]] * 2,
            te_bits=16,
            te_exp=np.array([loihi2.TE_EXP_MAX, 9]),
        ),
        _case(
            "exponents-of-each-neuron",
            "Weights and TE with an exponent for every neuron.",
            [[30, 40, 50, -20, 30, 10, 60, 0]] * 3,
            [[4, -4, 8, -8, 16, -16, 32, -32]] * 3,
            weight_exp=np.array([_F, _F - 1, _F - 3]),
            te_exp=np.array([2, 4, 6]),
        ),
    ]


def _held(columns: Any, form: Table, steps: int) -> np.ndarray:
    return form.held(np.array(columns, np.int64), steps)


def _te_forms() -> list[Case]:
    drive = [[90, 70, 80, 60, 90, 50, 70, 90, 80, 70, 60, 90]] * 2
    held, packed = Table(hold=3), Table(packed=True)
    both = Table(hold=2, packed=True)
    wave = np.array([127, 120, 106, 85, 60, 41, 25, 8])
    increment = np.array([123_456, 1_900_000])
    cosine = Cosine(increment, wave)

    def case(name: str, about: str, form: Form, te: np.ndarray, **fields: Any) -> Case:
        return _case(name, about, drive, te, te_form=form, **fields)

    return [
        case(
            "te-held",
            "Each mantissa serves three steps; the last one only some of them.",
            held,
            _held([[20, -30, 40, 50], [-20, 30, -40, 5]], held, 12),
        ),
        case(
            "te-packed",
            "Two mantissas of four bits to a byte, the earlier in the low half.",
            packed,
            np.array([[7, -7, 0, 1, -1, 5, -6, 7, 3, -2, 4, -4], [-7, 7] * 6]),
            te_bits=4,
            te_exp=1,
        ),
        case(
            "te-packed-and-held",
            "Both, with a last byte of which only the low half is used.",
            both,
            _held([[7, -7, 3, -1, 6, 2], [-7, 5, -3, 1, -6, -2]], both, 12),
            te_bits=4,
            te_exp=1,
        ),
        case(
            "te-cosine",
            "A cosine made from a phase and a quarter of a wave, through all four quarters.",
            cosine,
            cosine.decode(increment, 12),
            te_exp=5,
        ),
    ]


def _time() -> list[Case]:
    samples = [[[90, 60, 80, 40, 120, 30]], [[-90, 60, 80, 40, 20, 30]], [[120, 0, 0, 99, 99, 99]]]
    te = [[10, -10, 20, 30, -20, 5]]
    first = celif(te)
    second = celif([[8, 8, -8, 8, 8, 8]], name="layer 1", lag=2, weight=np.array([[100]]))
    late = celif(te, delay_shift=True)
    after = celif([[8, 8, -8, 8, 8, 8]], name="layer 1", lag=1, weight=np.array([[100]]))
    delays = celif(
        te * 3, weight=np.ones((3, 1), np.int64), delay=np.array([0, 2, 5]), theta0_int=60
    )
    sums = celif([[4] * 6], name="layer 1", lag=2, weight=np.array([[40, 50, 60]]))
    x = np.array(samples)
    return [
        Case(
            "back-to-back",
            "Three samples, one right after the other: each starts from V = 0, S = 0, Θ = Θ0.",
            network([first], 1, 6),
            x,
        ),
        Case(
            "short-samples",
            "Samples of four steps use the first four of TE; the period is four.",
            network([first], 1, 6),
            x[:, :, :4],
        ),
        Case(
            "chain",
            "Two layers: the second is one step later, and so is its k.",
            network([first, second], 1, 6),
            x,
        ),
        Case(
            "shifted",
            "A layer whose output moves one step later: k ≥ T is silent, the last spike is lost.",
            network([late, after], 1, 6, gap=1),
            x,
        ),
        Case(
            "delays",
            "Axonal delays of 0, 2 and 5 steps; what would be later than the sample is lost.",
            network([delays, sums], 1, 6, gap=delays.gap),
            x,
        ),
    ]


def _synapses() -> list[Case]:
    rng = np.random.default_rng(20)
    te = rng.integers(-60, 61, (3, 10))
    ring = celif(te, weight_rec=np.array([[0, 70, -90], [-60, 0, 80], [90, -70, 20]]))
    image = Geometry(Shape(1, 4, 4), stride=(2, 1), padding=(1, 0))
    conv = celif(te[:2], weight=rng.integers(-3, 8, (2, 1, 3, 2)), geometry=image)
    out = ReadoutLayer(
        name="layer 1", weight=rng.integers(-127, 128, (2, 3)), lag=2, delay_shift=False,
        weight_exp=7, weight_bits=8, bias=np.array([5, -9]),
    )  # fmt: skip
    cuba = CubaLayer(
        name="layer 1", weight=np.array([[64, -32, 96]]), lag=2, delay_shift=False,
        bias_mant=np.array([3]), du=1023, dv=512, vth=40,
    )  # fmt: skip
    changes = SigmaDeltaLayer(
        name="layer 0", weight=np.array([[2, -6, 30], [64, 20, -8]]), lag=1, delay_shift=False,
        bias_mant=np.array([40, -64]), vth=30,
    )  # fmt: skip
    x = rng.integers(20, 90, (2, 3, 10))
    plain = celif(te)
    return [
        Case(
            "recurrent",
            "Spikes of a step reach the layer's own neurons at the next.",
            network([ring], 3, 10, gap=1),
            x,
        ),
        Case(
            "convolution",
            "Kernels over an image; TE and bias are one for each channel.",
            network([conv], 16, 10),
            rng.integers(-10, 30, (2, 16, 10)),
        ),
        Case("readout", "Spikes summed over the sample.", network([plain, out], 3, 10), x),
        Case("cuba", "A CE-LIF layer, then Lava's stock LIF.", network([plain, cuba], 3, 10), x),
        Case(
            "sigma-delta",
            "SLAYER's sigma-delta neurons: graded messages of changes, and what they leave.",
            network([changes], 3, 10),
            rng.integers(-5, 6, (2, 3, 10)),
        ),
    ]


def unit_cases() -> list[Case]:
    """Every case, in the order of the specification."""
    groups = (_rounding, _rules, _extremes, _te_forms, _time, _synapses)
    return [case for group in groups for case in group()]
