"""A LIF neuron on a Loihi 2, as published: rung 4's first equality."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from celif.verification.verify import verify
from export import ModelError, simulate
from export.loihi2 import CURRENT_SHIFT
from export.steps import cuba
from hw_tests.backends import backend
from hw_tests.recorded import lif, lif_input, lif_network, recorded_loihi2, shown_by_chip
from hw_tests.trace_difference import assert_same_trace, compare

BACKENDS = [backend("twin", "fixed"), backend("oracle", "fixed"), backend("lava", "fixed")]
SPIKES = [461, 511, 711, 761]


def test_the_recorded_numbers_are_a_whole_trace():
    v, s = lif.lif_v()[0, 0], lif.lif_spikes()[0, 0]
    assert (len(v), len(s), lif_input().sum()) == (1000, 1000, 34)
    assert np.flatnonzero(s).tolist() == SPIKES
    assert v[SPIKES].tolist() == [128] * 4
    assert (np.count_nonzero(v), v.max()) == (763, 1589)
    # An input of step 60 is in V at 61: the synapse takes a step, the adapters none.
    assert v[59:64].tolist() == [0, 0, 640, 614, 589]


@pytest.mark.parametrize("back", BACKENDS, ids=str)
def test_chip_and_model_agree_at_every_step(back):
    net, x = lif_network(), lif_input()
    trace = back.run(net, x)
    assert trace.spikes[0].sum() == 4
    result = compare(shown_by_chip(net, trace), recorded_loihi2().run(net, x))
    assert (result.values, result.mismatches) == (1000 + 1000 + 1, 0)


def test_the_step_itself_gives_the_trace():
    """Without layers, synapses or time: the recurrence on the recorded currents."""
    p = cuba.CubaParams(lif.DU, lif.DV, lif.VTH, 0)
    state, shown, spikes = cuba.CubaState(0, 0, 0), [], []
    for x in lif_input()[0, 0].tolist():
        state = cuba.step(lif.WEIGHT * x, state, p)
        shown.append(128 if state.s else state.v)
        spikes.append(state.s)
    assert shown == lif.lif_v()[0, 0].tolist()
    assert spikes == lif.lif_spikes()[0, 0].tolist()


def test_without_the_refractory_rule_the_four_known_steps_are_named():
    targets = ("twin", "lava", "loihi2")
    result = verify(
        lif_network(), None, lif_input(), targets=targets, chip=recorded_loihi2(), refractory=False
    )
    rung = next(one for one in result.rungs if one.rung == 4)
    assert (rung.verdict, rung.mismatches, result.differs) == ("DIFFERS", 4, True)
    assert "step 461, neuron 0, v: expected 0, found 128" in rung.detail
    assert "at steps 461, 511, 711, 761" in rung.detail


def test_verify_finds_the_chip_equal_with_the_rule():
    result = verify(
        lif_network(), None, lif_input(), targets=("twin", "lava", "loihi2"), chip=recorded_loihi2()
    )
    ran = {one.compared: one.verdict for one in result.rungs if one.verdict != "not run"}
    assert ran["Lava fixed ↔ Loihi 2"] == "equal"
    assert set(ran.values()) == {"equal"}


@pytest.mark.parametrize(
    "wrong",
    [{"dv": 162}, {"dv": 164}, {"vth": 24}, {"vth": 26}, {"du": 4088}, {"weight": 8}],
    ids=str,
)
def test_the_trace_fixes_weight_decay_and_threshold(wrong):
    """A neighbouring value gives another trace (of du, 4,088: above it U keeps nothing)."""
    net, x = lif_network(), lif_input()
    (layer,) = net.layers
    fields = {k: np.array([[v]]) if k == "weight" else v for k, v in wrong.items()}
    other = replace(net, layers=(replace(layer, **fields),))
    trace = shown_by_chip(other, simulate(other, x, trace=True))
    expected = recorded_loihi2().run(net, x)
    with pytest.raises(AssertionError, match="first: sample 0, layer 0"):
        assert_same_trace(expected, trace)
    assert lif.VTH << CURRENT_SHIFT == 1600


def test_a_recorded_chip_answers_for_its_own_network_only():
    net, x = lif_network(), lif_input()
    (layer,) = net.layers
    with pytest.raises(ModelError, match="expected the network and input of the recorded trace"):
        recorded_loihi2().run(net, np.roll(x, 1, axis=2))
    with pytest.raises(ModelError, match="recorded Loihi 2"):
        recorded_loihi2().run(replace(net, layers=(replace(layer, dv=9),)), x)
