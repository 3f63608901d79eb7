"""What certificate and attack say of the numbers that they found."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from export.loihi2 import READOUT_MAX, SAFE_STATE_MAX, SUM_MAX, SYNAPSE_SHIFT
from export.model.geometry import Geometry, Shape
from export.model.network import CubaLayer, Encoding, FixedNetwork, SigmaDeltaLayer
from export.proof import attack as attacks
from export.proof.attack import AttackReport, LayerAttack, Reached, _why, attack
from export.proof.certificate import (
    Certificate,
    LayerCertificate,
    RegisterBound,
    certify,
    certify_layer,
    input_ranges,
)
from export.proof.intervals import intervals, worst_case
from export.proof.search import alone
from export.steps.sigma_delta import MESSAGE_EXP
from export.tests.proof.test_bounds import worked_layer
from hw_tests.networks.random_nets import random_network


def bound(largest: int, limit: int = 100, register: str = "V") -> RegisterBound:
    return RegisterBound(register, largest, limit, neuron=3, step=7)


@pytest.mark.parametrize(
    ("largest", "bits", "safe"),
    [(0, math.log2(100), True), (1, math.log2(100), True), (50, 1.0, True), (100, 0.0, True),
     (101, math.log2(100 / 101), False), (200, -1.0, False)],
)  # fmt: skip
def test_headroom_is_the_bits_left_and_negative_past_the_end(largest, bits, safe):
    assert bound(largest).headroom_bits == bits
    assert bound(largest).safe == safe


@pytest.mark.parametrize(("largest", "factor"), [(101, "1.1"), (110, "1.1"), (250, "2.5")])
def test_change_names_a_factor_that_is_large_enough(largest, factor):
    for register in ("V", "U", "Θ", "σ", "message"):
        assert f"at least {factor} times smaller" in bound(largest, register=register).change
    for register in ("sum", "readout"):
        assert "fewer" in bound(largest, register=register).change


def test_layer_is_judged_by_its_tightest_register():
    roomy, tight, past = bound(10), bound(90, register="Θ"), bound(300, 200, "U")
    assert LayerCertificate("a", "CELIF", (roomy, tight)).tightest is tight
    assert LayerCertificate("a", "CELIF", (roomy, tight)).verdict == "a: proven"
    judged = LayerCertificate("a", "CELIF", (roomy, past, tight))
    assert not judged.proven
    assert judged.verdict == (
        "a: not proven: U of neuron 3 can reach ±300 at step 7, where ±200 fit; make the weights "
        "at least 1.5 times smaller"
    )


def test_certificate_as_plain_values_says_what_it_says():
    layers = (
        LayerCertificate("first", "CELIF", (bound(50), bound(25, register="Θ"))),
        LayerCertificate("last", "READOUT", (bound(400, 200, "readout"),)),
    )
    assert Certificate(layers).to_dict() == {
        "proven": False,
        "layers": [
            {
                "name": "first",
                "kind": "CELIF",
                "verdict": "first: proven",
                "registers": {
                    "V": {"bound": 50, "limit": 100, "headroom_bits": 1.0, "neuron": 3, "step": 7},
                    "Θ": {"bound": 25, "limit": 100, "headroom_bits": 2.0, "neuron": 3, "step": 7},
                },
            },
            {
                "name": "last",
                "kind": "READOUT",
                "verdict": layers[1].verdict,
                "registers": {
                    "readout": {
                        "bound": 400, "limit": 200, "headroom_bits": -1.0, "neuron": 3, "step": 7,
                    },
                },
            },
        ],
    }  # fmt: skip
    assert Certificate(layers[:1]).to_dict()["proven"] is True


def test_certificate_of_a_small_network_is_the_one_worked_by_hand(rng):
    """V = 10, 15, 17, 18, 19, 19 and Θ = Θ0 + V one step later, for ones (test_bounds)."""
    net = random_network(rng, (1, 2), 6, channels=1, bits=1)
    readout = replace(net.readout, weight=np.array([[3], [-9]]), bias=np.array([-1, 2]))
    net = replace(net, layers=(worked_layer(),), readout=replace(readout, lag=2), gap=1)
    hidden, last = certify(net).layers
    found = {r.register: (r.largest, r.limit, r.neuron, r.step) for r in hidden.registers}
    limit = SAFE_STATE_MAX
    assert found == {
        "sum": (10, SUM_MAX >> SYNAPSE_SHIFT, 0, 0),
        "V": (19, limit, 0, 4),
        "Θ": (1_000_019, limit, 0, 5),
    }
    assert [(r.register, r.largest, r.neuron) for r in last.registers] == [
        ("sum", 9, 1),
        ("readout", 6 * 7, 1),
    ]
    assert (last.registers[1].limit, last.registers[1].step) == (READOUT_MAX, 5)
    assert input_ranges(net) == [(0, 1), (0, 1)]


def test_neurons_that_cannot_differ_share_a_lane(rng):
    """Two channels at two places each, one input for each place: no border, the same sums."""
    layer = random_network(rng, (2,), 8, channels=1).layers[0]
    weight, shape = np.array([[[[5]]], [[[-7]]]]), Geometry(Shape(1, 1, 2))
    twice = replace(layer, weight=weight, geometry=shape)
    single = replace(layer, weight=weight.reshape(2, 1))
    found, alone_ = intervals(twice, 0, 15), intervals(single, 0, 15)
    assert found.lane.tolist() == [0, 0, 1, 1]
    assert alone_.lane.tolist() == [0, 1]
    for ours, theirs in zip(found[:4], alone_[:4], strict=True):
        assert np.array_equal(ours, theirs)


def reached(alone: int | None, network: int | None = None, largest: int = 100) -> Reached:
    return Reached("V", largest, alone, network)


def test_what_was_reached_is_a_share_of_the_bound():
    found = reached(25, 101)
    assert (found.alone_ratio, found.network_ratio, found.passed) == (0.25, 1.01, True)
    assert reached(None).alone_ratio is None
    assert reached(0, 0, largest=0).alone_ratio == 1.0
    assert [reached(n, None).passed for n in (99, 100, 101)] == [False, False, True]
    layers = (LayerAttack("a", (reached(9, 8),), ("why",)), LayerAttack("b", (found,), ()))
    assert AttackReport(layers, 5).to_dict() == {
        "passed": True,
        "saturations": 5,
        "layers": [
            {
                "name": "a",
                "notes": ["why"],
                "registers": {
                    "V": {"bound": 100, "alone": 9, "alone_ratio": 0.09, "network": 8,
                          "network_ratio": 0.08},
                },
            },
            {
                "name": "b",
                "notes": [],
                "registers": {
                    "V": {"bound": 100, "alone": 25, "alone_ratio": 0.25, "network": 101,
                          "network_ratio": 1.01},
                },
            },
        ],
    }  # fmt: skip
    assert not AttackReport(layers[:1], 5).passed


def test_a_bound_that_is_not_approached_to_a_quarter_is_explained(monkeypatch):
    layer, safe = worked_layer(), bound(100)
    assert _why(layer, reached(25), safe) is None
    said = _why(layer, reached(24), safe)
    assert said is not None
    assert said.startswith("V came to 24% of its bound: with α = 2048/4096")
    assert "the register ends before it" in (_why(layer, reached(24), bound(101)) or "")
    own = replace(layer, weight_rec=np.array([[1]]))
    assert "the layer's own spikes" in (_why(own, reached(24), safe) or "")
    assert "the twin does not show it" in (_why(layer, reached(None), safe) or "")
    cuba = CubaLayer(
        name="c", weight=np.array([[2]]), lag=1, delay_shift=False, bias_mant=np.array([0]),
        du=1000, dv=300, vth=20,
    )  # fmt: skip
    assert "driven in CE-LIF layers only" in (_why(cuba, reached(24), safe) or "")
    monkeypatch.setattr(attacks, "MATRIX_MAX", 0)
    assert "single neurons are not driven" in (_why(layer, reached(24), safe) or "")
    assert "too large to write out" in (_why(layer, reached(None), safe) or "")


def test_layers_after_messages_are_attacked_through_the_network_only():
    """A sigma-delta layer sends fractions, which no network gets as its input."""
    fields = {"delay_shift": False, "vth": 3}
    layers = (
        SigmaDeltaLayer(
            name="first", weight=np.array([[8, -6]]), lag=1, bias_mant=np.array([1]), **fields
        ),
        SigmaDeltaLayer(
            name="second", weight=np.array([[4], [2]]), lag=2, bias_mant=np.array([0, 1]),
            input_exp=MESSAGE_EXP, **fields,
        ),
    )  # fmt: skip
    net = FixedNetwork(layers, None, 8, 2, Encoding(2, 1.0, 1, signed=False), {})
    first, second = attack(net, rounds=2).layers
    assert all(r.alone is not None for r in first.reached if r.register != "message")
    shown = [r for r in second.reached if r.register != "sum"]
    assert all(r.alone is None for r in shown)
    assert any(r.network for r in shown)
    assert any("messages of the layer before it" in note for note in second.notes)


@pytest.mark.parametrize("bias", [5, -40])
def test_sum_and_readout_of_a_layer_alone_are_reached_exactly(bias, rng):
    net = random_network(rng, (4, 3), 9, channels=2, bits=3)
    readout = replace(net.readout, bias=np.full(net.readout.neurons, bias))
    report = attack(replace(net, readout=readout), rounds=1)
    exact = {
        r.register: (r.alone, r.bound)
        for layer in report.layers
        for r in layer.reached
        if r.register in ("sum", "readout")
    }
    assert all(found == largest > 0 for found, largest in exact.values()), exact
    assert set(exact) == {"sum", "readout"}


def test_bound_of_a_layer_at_rest_is_its_threshold():
    """Θ = Θ0 before the first step, though Θ falls at once and V stays at 0."""
    layer = worked_layer(weight=np.array([[0]]), theta0_int=-77)
    assert worst_case(layer, 0, 1) == (0, 77)
    assert certify_layer(layer, 0, 1, 6).proven
    assert alone(layer, 0, 1, 6).layers[0].theta0_int == -77
