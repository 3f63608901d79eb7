"""The certificate: which register of which layer can reach what, and what it says if too much."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from export import ModelError, simulate
from export.loihi2 import STATE_MAX
from export.model.geometry import Geometry, Shape
from export.model.network import CubaLayer, Encoding, FixedNetwork, SigmaDeltaLayer
from export.model.te import DENSE
from export.proof.attack import attack
from export.proof.certificate import certify, input_ranges
from export.proof.intervals import intervals, worst_case
from export.proof.search import every_input
from export.tests.proof.test_bounds import assert_within
from export.tests.strategies import hypothesis_settings, seeds
from hw_tests.networks.random_nets import random_network

FORMATS = {
    "plain": {},
    "few bits": {"weight_bits": 4, "te_bits": 4},
    "per channel": {"per_channel": True},
    "own decays": {"own_decays": True},
    "held": {"te_hold": 4},
    "packed": {"te_bits": 4, "te_form": "packed"},
    "cosine": {"te_form": "cosine"},
    "shifted": {"delay_shift": True},
    "saturating": {"saturating": True},
}


def with_layer(net: FixedNetwork, index: int, **change) -> FixedNetwork:
    layers = [replace(x, **change) if i == index else x for i, x in enumerate(net.layers)]
    return replace(net, layers=tuple(layers), gap=4)


def recurrent(rng: np.random.Generator, steps: int) -> FixedNetwork:
    net = random_network(rng, (5, 4), steps)
    return with_layer(net, 1, weight_rec=rng.integers(-127, 128, (4, 4)))


def delayed(rng: np.random.Generator, steps: int) -> FixedNetwork:
    return with_layer(random_network(rng, (5, 4), steps), 0, delay=rng.integers(0, 4, 5))


def convolution(rng: np.random.Generator, steps: int) -> FixedNetwork:
    """2 channels of 4×3 pixels from 1, then a dense layer."""
    dense = random_network(rng, (2, 3), steps, channels=9)
    layer = replace(
        dense.layers[0],
        weight=rng.integers(-127, 128, (2, 1, 2, 2)),
        geometry=Geometry(Shape(1, 3, 3), padding=(1, 0)),
    )
    assert layer.neurons == 2 * 4 * 2
    rest = replace(dense.layers[1], weight=rng.integers(-127, 128, (3, 16)))
    return replace(dense, layers=(layer, rest))


def graded_recurrent(rng: np.random.Generator, steps: int) -> FixedNetwork:
    """Own spikes and graded inputs, in the first layer; sums of both are shifted right."""
    net = random_network(rng, (5, 4), steps, bits=8)
    own = rng.integers(-127, 128, (5, 5))
    exp = net.layers[0].fraction_bits + 1
    return with_layer(net, 0, weight_rec=own, input_exp=3, weight_exp=exp)


def shifted_sums(rng: np.random.Generator, steps: int) -> FixedNetwork:
    """Sums of more fractional bits than V, a different exponent for each neuron."""
    net = random_network(rng, (5, 4), steps, bits=8)
    exps = net.layers[0].fraction_bits + rng.integers(-2, 5, 5)
    return with_layer(net, 0, weight_exp=exps)


KINDS = {
    "recurrent": recurrent,
    "recurrent, graded": graded_recurrent,
    "delayed": delayed,
    "convolution": convolution,
    "shifted sums": shifted_sums,
}
CASES = [*FORMATS, *KINDS]


def build(case: str, rng: np.random.Generator, steps: int) -> FixedNetwork:
    if case in KINDS:
        return KINDS[case](rng, steps)
    return random_network(rng, (5, 4), steps, **FORMATS[case])


@hypothesis_settings
@given(seed=seeds, case=st.sampled_from(CASES), steps=st.sampled_from([4, 16, 40]))
def test_no_input_exceeds_the_certificate(seed, case, steps):
    rng = np.random.default_rng(seed)
    net = build(case, rng, steps)
    certificate = certify(net)
    most = net.encoding.range[1]
    x = rng.integers(0, most + 1, (8, net.encoding.channels, steps))
    x[4:] = np.where(x[4:] > most // 2, most, 0)
    trace = simulate(net, x, trace=True)
    assert any(spikes.any() for spikes in trace.spikes)
    for i, (layer, ends) in enumerate(zip(net.layers, input_ranges(net), strict=False)):
        assert_within(intervals(layer, *ends), trace.v[i], trace.theta[i])
        if certificate.layers[i].proven:
            assert trace.saturations[i] == 0
    readout = certificate.layers[-1].registers[-1]
    assert np.abs(trace.logits).max() <= readout.largest


@pytest.mark.parametrize("case", CASES)
def test_attack_passes_no_bound_and_comes_near(case, rng):
    report = attack(build(case, rng, 40), rounds=3)
    assert not report.passed
    for layer in report.layers:
        for r in layer.reached:
            assert r.network is None or r.register == "sum" or r.network > 0
            near = r.alone_ratio is not None and r.alone_ratio >= 0.25
            assert near or any(r.register in note for note in layer.notes), (layer.name, r)
    hidden = report.layers[0].reached
    if case not in ("saturating", *KINDS):
        assert min(r.alone_ratio for r in hidden) > 0.5


@pytest.mark.parametrize("case", ["plain", "recurrent"])
def test_no_input_at_all_passes_a_tiny_network(case, rng):
    net = random_network(rng, (3, 2), 5, bits=1)
    if case == "recurrent":
        net = with_layer(net, 0, weight_rec=rng.integers(-127, 128, (3, 3)))
    certificate = certify(net)
    for x in every_input(net.encoding, 5):
        trace = simulate(net, x, trace=True)
        for i, layer in enumerate(net.layers):
            assert trace.spikes[i].any()
            for register, values in (("V", trace.v[i]), ("Θ", trace.theta[i])):
                bound = next(b for b in certificate.layers[i].registers if b.register == register)
                assert np.abs(values).max() <= bound.largest, (layer.name, register)


def test_bound_belongs_to_its_neuron_and_step(rng):
    """A neuron ten times as strong as the others, and TE that acts at one step only."""
    net = random_network(rng, (4,), 12)
    layer = net.layers[0]
    te = np.zeros_like(layer.te)
    te[:, 7] = 100
    weight = np.where(np.arange(4)[:, None] == 2, 120, 12) * np.ones_like(layer.weight)
    strong = replace(layer, weight=weight, te=te, bias_mant=layer.bias_mant * 0, alpha_mant=0)
    registers = {r.register: r for r in certify(replace(net, layers=(strong,))).layers[0].registers}
    assert registers["sum"].largest == 120 * 15 * 2
    assert {r.neuron for r in registers.values()} == {2}
    assert registers["Θ"].step == 7


def test_network_built_to_overflow_is_refused_with_its_layer(rng):
    net = random_network(rng, (5, 4), 20)
    # α ≈ 1 and TE = 1 everywhere: Θ of layer 1 has no end.
    heavy = with_layer(
        net, 1, te_exp=0, te=np.full_like(net.layers[1].te, 127), beta_mant=4095, alpha_mant=4095
    )
    certify(net).require()
    with pytest.raises(ModelError, match=r"layer 1: not proven: Θ of neuron \d+ can reach") as info:
        certify(heavy).require()
    assert "times smaller, or lower β" in str(info.value)
    assert certify(heavy).layers[0].proven
    assert attack(heavy, rounds=2).saturations > 0


@pytest.mark.parametrize("bias", [126, 127, 128])
def test_a_state_at_the_end_of_its_register_is_neither_proven_nor_unsaturated(bias, rng):
    """V = 65535 « 7 + bias: one below the end, the end, and past it."""
    net = random_network(rng, (1,), 3, channels=1, bits=16)
    layer = net.layers[0]
    edge = {"weight": np.array([[1]]), "weight_exp": layer.fraction_bits - 7, "alpha_mant": 0}
    biases = {"bias_mant": np.array([bias]), "bias_exp": 0, "te": layer.te * 0}
    net = with_layer(net, 0, **edge, **biases, te_form=DENSE)
    trace = simulate(net, np.full((1, 1, 3), 65535), trace=True)
    assert trace.spikes[0].any()
    assert trace.v[0].max() == min(STATE_MAX - 127 + bias, STATE_MAX)
    proven = certify(net).layers[0].proven
    assert proven == worst_case(net.layers[0], 0, 65535).safe == (bias == 126)
    assert proven == (trace.saturations[0] == 0)


def slayer_network(rng: np.random.Generator, layer_type: type, **fields) -> FixedNetwork:
    layer = layer_type(
        name="layer 0",
        weight=rng.integers(-10, 11, (3, 2)) * 2,
        lag=1,
        delay_shift=False,
        bias_mant=np.array([3, -2, 40]),
        **fields,
    )
    return FixedNetwork((layer,), None, 8, 1, Encoding(2, 1.0, 1, signed=False), {})


SLAYER = {
    "CUBA": (CubaLayer, {"du": 1000, "dv": 300, "vth": 20}, "V"),
    "sigma-delta": (SigmaDeltaLayer, {"vth": 3}, "σ"),
}


@pytest.mark.parametrize(("layer_type", "fields", "register"), SLAYER.values(), ids=SLAYER.keys())
def test_slayers_neurons_stay_within_and_come_near(layer_type, fields, register, rng):
    net = slayer_network(rng, layer_type, **fields)
    ends = {r.register: r.largest for r in certify(net).layers[0].registers}
    peak = sent = 0
    for x in every_input(net.encoding, 8):
        trace = simulate(net, x, trace=True)
        peak = max(peak, int(np.abs(trace.v[0]).max()))
        sent = max(sent, int(np.abs(trace.spikes[0]).max()))
    assert 0.5 * ends[register] < peak <= ends[register]
    assert 0 < sent <= ends.get("message", 1)


def test_current_that_wraps_is_not_proven(rng):
    net = slayer_network(rng, CubaLayer, du=-1, dv=300, vth=20)
    loud = with_layer(net, 0, weight=np.full((3, 2), 254))
    loud = replace(loud, encoding=Encoding(2, 1.0, 10, signed=False))
    assert certify(net).proven
    with pytest.raises(ModelError, match=r"layer 0: not proven: U of neuron 0 can reach"):
        certify(loud).require()
