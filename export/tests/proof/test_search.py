"""The search for large states: it finds the worst input where that is known, and keeps to rules."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from export import simulate
from export.model.network import Encoding
from export.proof import search
from export.proof.adversary import Aim, _attain, driving_inputs
from export.proof.intervals import intervals
from export.proof.search import (
    Peaks,
    _aims,
    _mutants,
    patterns,
    search_layer,
    search_network,
)
from export.steps import celif
from export.steps.celif import IntParams, State
from export.tests.proof.test_bounds import worked_layer
from hw_tests.networks.random_nets import random_network

LOW, HIGH, NEURONS, STEPS = -1, 2, 40, 3
FORMS = {(1.0, 0.0): 79, (-1.0, 0.0): 76, (0.0, 1.0): 42, (0.0, -1.0): 73, (0.5, 1.0): 58}
"""How many of 80 neurons are driven to the largest c·(Θ − Θ0) + w·V that any input gives."""


def forms(sums: np.ndarray, te: np.ndarray, p: IntParams, c: float, w: float) -> np.ndarray:
    """The form after the last step of synaptic sums (…, neuron, step)."""
    rest = np.zeros_like(sums[..., 0])
    state = State(rest + p.theta0_int, rest, rest)
    for t in range(sums.shape[-1]):
        state = celif.step(sums[..., t], te[:, t], state, p)
    return c * (state.theta - p.theta0_int) + w * state.v


def small_neurons(down: int) -> tuple[np.ndarray, IntParams, np.ndarray]:
    rng = np.random.default_rng(down)
    te = rng.integers(-60, 61, (NEURONS, STEPS))
    decays = [rng.integers(1500, 4096, NEURONS) for _ in range(2)]
    ends = ((-40, 41), (4, 7), (0, 3), (-25, 26))  # Θ0, exponent of TE, shift, bias
    p = IntParams(*decays, *(rng.integers(*each, NEURONS) for each in ends))
    return te, p, rng.integers(-12, 13, (NEURONS, 2)) << down


@pytest.mark.parametrize(("form", "least"), FORMS.items())
def test_driving_finds_the_worst_of_all_inputs_of_most_neurons(form, least):
    """Two inputs of four values for three steps: 4,096 sequences are tried for each neuron."""
    levels = np.array(list(product(range(LOW, HIGH + 1), repeat=2)))
    every = levels[np.array(list(product(range(len(levels)), repeat=STEPS)))]
    found = 0
    for down in (0, 2):
        te, p, weight = small_neurons(down)
        aims = [Aim(n, STEPS - 1, *form) for n in range(NEURONS)]
        x = driving_inputs(aims, te, p, weight, np.full(2, LOW), np.full(2, HIGH), down)
        assert LOW <= x.min() < x.max() <= HIGH
        driven = forms(np.einsum("nsi,ni->ns", x, weight) >> down, te, p, *form)
        largest = forms(np.einsum("qsi,ni->qns", every, weight) >> down, te, p, *form).max(0)
        assert (driven <= largest).all()
        found += int((driven == largest).sum())
    assert found >= least


def test_driving_ends_at_its_step_and_goes_for_its_neuron():
    """V = V/2 + x without a threshold in reach: the largest V takes the largest input always."""
    te = np.zeros((2, 5), np.int64)
    p = IntParams(*(np.array(each) for each in ([2048] * 2, [0] * 2, [9999] * 2, *[[0] * 2] * 3)))
    aims = [Aim(1, 2, 0.0, 1.0), Aim(0, 4, 0.0, 1.0), Aim(0, 1, 0.0, -1.0)]
    low, high = np.array([-3, 0]), np.array([5, 2])
    x = driving_inputs(aims, te, p, np.array([[1, 10], [-4, 3]]), low, high)
    assert x[0].tolist() == [[-3, 2]] * 3 + [[0, 0]] * 2
    assert x[1].tolist() == [[5, 2]] * 5
    assert x[2].tolist() == [[-3, 0]] * 2 + [[0, 0]] * 3


def test_wish_is_attained_where_a_weight_of_one_fills_up():
    weights, low, high = np.array([7, -3, 0, 1]), np.array([0, -1, 0, -2]), np.array([2, 1, 9, 4])
    order = np.argsort(-np.abs(weights), kind="stable")
    least, most = -3 - 2, 14 + 3 + 4
    for wanted in range(least - 2, most + 3):
        inputs = np.zeros(4, np.int64)
        total = _attain(np.int64(wanted), weights, order, low, high, inputs)
        assert ((low <= inputs) & (inputs <= high)).all()
        assert total == weights @ inputs == min(max(wanted, least), most), wanted


def test_patterns_are_noise_flashes_constants_and_stretches():
    encoding, steps = Encoding(3, 1.0, 4, signed=True), 130
    x = patterns(encoding, steps, np.random.default_rng(0))
    low, high = encoding.range
    assert (low, high) == (-15, 15)
    noise, flashes, constants, rest = x[:8], x[8:16], x[16:19], x[19:]
    assert set(np.unique(noise)) == set(range(low, high + 1))
    assert set(np.unique(flashes)) == {0, high}
    assert 0.03 < (flashes == high).mean() < 0.07
    assert [set(np.unique(each)) for each in constants] == [{low}, {0}, {high}]
    assert len(rest) == 8 * 4
    for i, length in enumerate((1, 4, 16, 64)):
        part = rest[8 * i : 8 * i + 8]
        assert set(np.unique(part)) == {low, high}
        starts = np.flatnonzero((part[..., 1:] != part[..., :-1]).any((0, 1))) + 1
        assert len(starts) > 0
        assert (starts % length == 0).all()


def test_changed_copies_differ_in_one_stretch_and_stay_in_range():
    encoding, rng = Encoding(2, 1.0, 3, signed=False), np.random.default_rng(0)
    x = np.tile(np.arange(1, 7), (2, 20))[:, :100].astype(np.int32)
    kept, lengths, kinds = x.copy(), [], set()
    for _ in range(60):
        for copy in _mutants(x, encoding, rng):
            assert 0 <= copy.min() <= copy.max() <= 7
            changed = np.flatnonzero((copy != x).any(0))
            assert len(changed) > 0
            first, last = changed[0], changed[-1]
            part = copy[:, first : last + 1]
            lengths.append(last + 1 - first)
            rows = {tuple(np.unique(row)) for row in part}
            kinds.add(
                "mirrored" if (part == 7 - x[:, first : last + 1]).all()
                else "ends" if (0, 7) in rows
                else "constant"
            )  # fmt: skip
    assert np.array_equal(x, kept)
    assert kinds == {"mirrored", "ends", "constant"}
    assert min(lengths) == 1
    assert max(lengths) > 90


@pytest.fixture
def network():
    return random_network(np.random.default_rng(3), (6, 5), 30, channels=2, bits=3)


def test_inputs_that_are_kept_give_the_largest_states(network):
    peaks = Peaks(network)
    x = np.random.default_rng(0).integers(0, 8, (150, 2, 30))  # three batches
    peaks.run(x)
    trace = simulate(network, x, trace=True)
    for i in range(2):
        for register, values in (("V", trace.v[i]), ("Θ", trace.theta[i])):
            assert peaks.largest[i, register] == np.abs(values).max()
            again = simulate(network, peaks.inputs[i, register][None], trace=True)
            own = again.v[i] if register == "V" else again.theta[i]
            assert np.abs(own).max() == peaks.largest[i, register]
    assert peaks.largest[2, "readout"] == np.abs(trace.logits).max()
    assert peaks.saturations == sum(trace.saturations) == 0
    assert trace.spikes[1].any()


def test_climbing_reaches_further_than_patterns_and_seeds_are_tried(network):
    start, climbed = (
        search_network(network, [], rounds, np.random.default_rng(0)).largest for rounds in (0, 12)
    )
    assert all(climbed[place] >= start[place] for place in start)
    assert sum(climbed[place] > start[place] for place in start) >= 3
    best = search_network(network, [], 12, np.random.default_rng(0)).inputs[1, "Θ"]
    seeded = search_network(network, [best], 0, np.random.default_rng(0)).largest
    assert seeded[1, "Θ"] >= climbed[1, "Θ"] > start[1, "Θ"]


def test_single_neurons_are_driven_up_to_a_number_of_synapses(network, monkeypatch):
    layer, calls = network.layers[0], []
    monkeypatch.setattr(search, "_driven", lambda *given: calls.append(given) or iter(()))
    for limit in (12, 11):  # 6 neurons of 2 inputs
        monkeypatch.setattr(search, "MATRIX_MAX", limit)
        search_layer(layer, 0, 7, 30, np.random.default_rng(0))
    assert [given[1:] for given in calls] == [(0, 7)]


def test_neurons_with_the_largest_bounds_are_aimed_at():
    layer = random_network(np.random.default_rng(5), (12,), 30, channels=2, bits=3).layers[0]
    strong = np.where(np.arange(12) % 3 == 2, 9, 1)
    layer = replace(layer, weight=(layer.weight // 10) * strong[:, None])
    ends, aims = intervals(layer, 0, 7), _aims(layer, 0, 7)
    for values, c, w in (
        (ends.theta_high, 1.0, 0.0),
        (-ends.theta_low, -1.0, 0.0),
        (ends.v_high, 0.0, 1.0),
        (-ends.v_low, 0.0, -1.0),
    ):
        largest = np.argsort(-values.max(1), kind="stable")[:6]
        found = {aim.neuron for aim in aims if (aim.c, aim.w) == (c, w)}
        assert found == set(largest.tolist())
        steps = {aim.step for aim in aims if aim.neuron == largest[0] and (aim.c, aim.w) == (c, w)}
        assert steps == {int(values[largest[0]].argmax()), 29 // 4, 29}
    assert {aim.c for aim in aims if aim.w} == {0.0, 1e-3, 1e-2, 0.1, 1.0}


def test_a_layer_alone_is_given_every_value_of_its_range():
    for low, high, bits, signed in ((0, 1, 1, False), (0, 7, 3, False), (-3, 7, 3, True)):
        net = search.alone(worked_layer(), low, high, 6)
        assert (net.encoding.bits, net.encoding.signed) == (bits, signed)
        assert net.encoding.range[0] <= low < high <= net.encoding.range[1]
        assert net.steps == 6
