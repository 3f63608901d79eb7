"""How TE is kept, how time runs, and the kinds of synapses and neurons."""

from __future__ import annotations

from typing import Any

import numpy as np

from export.model.geometry import Geometry, Shape
from export.model.network import ReadoutLayer
from export.model.slayer import CubaLayer, SigmaDeltaLayer
from export.model.te import CosineTable, Form, Table
from hw_tests.golden.case import FRACTION_BITS, KitCase, celif, network, one_layer


def _held(columns: Any, form: Table, steps: int) -> np.ndarray:
    return form.held(np.array(columns, np.int64), steps)


def te_forms() -> list[KitCase]:
    """Cases of every way of keeping TE."""
    drive = [[90, 70, 80, 60, 90, 50, 70, 90, 80, 70, 60, 90]] * 2
    held, packed = Table(hold=3), Table(packed=True)
    both = Table(hold=2, packed=True)
    wave = np.array([127, 120, 106, 85, 60, 41, 25, 8])
    increment = np.array([123_456, 1_900_000])
    cosine = CosineTable(increment, wave)

    def case(name: str, about: str, form: Form, te: np.ndarray, **fields: Any) -> KitCase:
        return one_layer(name, about, drive, te, te_form=form, **fields)

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


def time() -> list[KitCase]:
    """Cases of samples, layers and outputs one after the other."""
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
        KitCase(
            "back-to-back",
            "Three samples, one right after the other: each starts from V = 0, S = 0, Θ = Θ0.",
            network([first], 1, 6),
            x,
        ),
        KitCase(
            "short-samples",
            "Samples of four steps use the first four of TE; the period is four.",
            network([first], 1, 6),
            x[:, :, :4],
        ),
        KitCase(
            "chain",
            "Two layers: the second is one step later, and so is its k.",
            network([first, second], 1, 6),
            x,
        ),
        KitCase(
            "shifted",
            "A layer whose output moves one step later: k ≥ T is silent, the last spike is lost.",
            network([late, after], 1, 6, gap=1),
            x,
        ),
        KitCase(
            "delays",
            "Axonal delays of 0, 2 and 5 steps; what would be later than the sample is lost.",
            network([delays, sums], 1, 6, gap=delays.gap),
            x,
        ),
    ]


def synapses_and_neurons() -> list[KitCase]:
    """Cases of recurrence, convolution, readout, and SLAYER's neurons."""
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
        KitCase(
            "recurrent",
            "Spikes of a step reach the layer's own neurons at the next.",
            network([ring], 3, 10, gap=1),
            x,
        ),
        KitCase(
            "convolution",
            "Kernels over an image; TE and bias are one for each channel.",
            network([conv], 16, 10),
            rng.integers(-10, 30, (2, 16, 10)),
        ),
        KitCase("readout", "Spikes summed over the sample.", network([plain, out], 3, 10), x),
        KitCase("cuba", "A CE-LIF layer, then Lava's stock LIF.", network([plain, cuba], 3, 10), x),
        KitCase(
            "sigma-delta",
            "SLAYER's sigma-delta neurons: graded messages of changes, and what they leave.",
            network([changes], 3, 10),
            rng.integers(-5, 6, (2, 3, 10)),
        ),
    ]


def shifted_sums() -> list[KitCase]:
    """Sums with more fractional bits than V, which the synapses shift right, rounding down."""
    rng = np.random.default_rng(21)
    te = rng.integers(-60, 61, (3, 10))
    x = rng.integers(-200, 400, (2, 3, 10))
    ring = {"weight_rec": np.array([[0, 71, -93], [-61, 0, 83], [97, -77, 21]]), "input_exp": 3}
    changes = SigmaDeltaLayer(
        name="layer 0", weight=np.array([[60, -30, 94], [64, 90, -38]]), lag=1, delay_shift=False,
        bias_mant=np.array([40, 64]), vth=20,
    )  # fmt: skip
    after = CubaLayer(
        name="layer 1", weight=np.array([[90, -50], [-64, 110]]), lag=2, delay_shift=False,
        weight_rec=np.array([[0, 38], [-94, 0]]), bias_mant=np.array([3, 9]), du=1023, dv=512,
        vth=40, input_exp=changes.output_exp,
    )  # fmt: skip

    def recurrent(name: str, about: str, weight_exp: int) -> KitCase:
        layer = celif(te, weight=np.eye(3, dtype=np.int64) * 13, weight_exp=weight_exp, **ring)
        return KitCase(name, about, network([layer], 3, 10, gap=layer.gap), x)

    return [
        one_layer(
            "sums-shifted-right",
            "A sum is shifted right as a whole, rounding down: −1 » 3 is −1.",
            [[800, -1, -9, 7, 8, 900, -800, 1]],
            weight_exp=FRACTION_BITS + 3,
            alpha_mant=0,
        ),
        one_layer(
            "sums-of-each-neuron",
            "The right shift is one for the layer, by its largest exponent; the left ones differ.",
            x,
            te,
            weight=np.array([[5, -3, 7], [2, 2, -1], [-3, 9, 4]]),
            weight_exp=FRACTION_BITS + np.array([2, 0, -1]),
        ),
        recurrent(
            "recurrent-graded",
            "Own spikes together with graded inputs: their sums are shifted left.",
            FRACTION_BITS - 1,
        ),
        recurrent(
            "recurrent-shifted-right",
            "The same with both sums shifted right, each before they are added.",
            FRACTION_BITS + 1,
        ),
        KitCase(
            "cuba-after-messages",
            "Sigma-delta messages into recurrent CUBA neurons, which take off the messages' unit.",
            network([changes, after], 3, 10, gap=after.gap),
            rng.integers(-3, 6, (2, 3, 10)),
        ),
    ]
