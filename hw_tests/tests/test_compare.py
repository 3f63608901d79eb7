"""The comparison finds a difference, and the right one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from export import Trace
from hw_tests.ladder import climb, rung
from hw_tests.networks.random_nets import random_network
from hw_tests.trace_difference import assert_same_trace, compare


@pytest.fixture
def trace(rng: np.random.Generator) -> Trace:
    """Two layers of random states, two samples."""
    shapes = ((2, 4, 6), (2, 3, 6))

    def layers(high: int) -> list[np.ndarray]:
        return [rng.integers(0, high, shape) for shape in shapes]

    return Trace(rng.integers(0, 9, (2, 5)), layers(2), layers(99), layers(99))


def altered(trace: Trace, name: str, layer: int, at: tuple[int, int, int]) -> Trace:
    """The trace with one value off by one."""
    arrays = [array.copy() for array in getattr(trace, name)]
    arrays[layer][at] += 1
    return replace(trace, **{name: arrays})


def test_compare_finds_nothing_between_equals(trace: Trace) -> None:
    result = compare(trace, trace)
    assert result.mismatches == 0
    assert result.values == 3 * (2 * 4 * 6 + 2 * 3 * 6) + 2 * 5


@pytest.mark.parametrize("name", ["theta", "v", "spikes"])
def test_compare_names_place_and_values(trace: Trace, name: str) -> None:
    found = altered(trace, name, 1, (1, 2, 3))
    first = compare(trace, found).first
    assert first is not None
    assert (first.sample, first.layer, first.neuron, first.step) == (1, 1, 2, 3)
    assert first.variable == name
    assert first.found == first.expected + 1


def test_compare_shows_the_registers_around_a_difference(trace: Trace) -> None:
    found = altered(altered(trace, "v", 1, (1, 2, 4)), "theta", 1, (1, 2, 5))
    first = compare(trace, found).first
    assert first is not None
    assert [moment.step for moment in first.around] == [1, 2, 3, 4, 5]
    assert trace.v is not None
    assert trace.theta is not None
    v, theta = trace.v[1], trace.theta[1]
    assert v is not None
    assert theta is not None
    assert [moment.v for moment in first.around] == [
        (v[1, 2, k], v[1, 2, k] + (k == 4)) for k in range(1, 6)
    ]
    assert first.around[-1].theta == (theta[1, 2, 5], theta[1, 2, 5] + 1)


def test_compare_puts_the_earlier_step_first(trace: Trace) -> None:
    found = altered(altered(trace, "theta", 0, (0, 0, 5)), "spikes", 1, (0, 2, 1))
    first = compare(trace, found).first
    assert first is not None
    assert (first.layer, first.step, first.variable) == (1, 1, "spikes")


def test_compare_puts_threshold_before_membrane(trace: Trace) -> None:
    found = altered(altered(trace, "v", 0, (0, 1, 2)), "theta", 0, (0, 3, 2))
    first = compare(trace, found).first
    assert first is not None
    assert first.variable == "theta"


def test_assert_same_trace_reports_logits_alone(trace: Trace) -> None:
    logits = trace.logits.copy()
    logits[1, 4] -= 1
    with pytest.raises(AssertionError, match=r"sample 1, layer 2, .*neuron 4, logits"):
        assert_same_trace(trace, replace(trace, logits=logits))


def test_compare_refuses_another_shape(trace: Trace) -> None:
    assert trace.v is not None
    shorter = replace(trace, v=[v[..., :5] for v in trace.v if v is not None])
    with pytest.raises(ValueError, match=r"layer 0 v: expected shape \(2, 4, 6\)"):
        compare(trace, shorter)


def test_climb_says_which_rungs_did_not_run(rng: np.random.Generator) -> None:
    net = random_network(rng, (5,), 12)
    results = climb(net, rng.integers(0, 16, (1, 2, 12)), ("twin",))
    ran = [result.compared for result in results if result.verdict != "not run"]
    assert ran == ["oracle ↔ integer twin"]
    assert all(result.detail for result in results if result.verdict == "not run")


def test_oracles_rung_compares_what_it_can_afford(rng: np.random.Generator) -> None:
    net = random_network(rng, (50,), 12)
    x = rng.integers(0, 16, (3, 2, 12))
    thrifty = replace(rung(2, "twin"), products=7 * 50 * (2 + 3))
    assert thrifty.share(net, x).shape == (1, 2, 7)
    assert rung(3, "lava").share(net, x).shape == x.shape


def test_compare_misses_no_variable_of_a_celif_layer(trace: Trace) -> None:
    with pytest.raises(ValueError, match="layer 0 v: expected it in both, got none"):
        compare(trace, replace(trace, v=None))


def test_climb_refuses_an_unknown_target(rng: np.random.Generator) -> None:
    with pytest.raises(ValueError, match=r"torch, twin, lava, loihi2, got \['tpu'\]"):
        climb(random_network(rng, (5,), 12), rng.integers(0, 16, (1, 2, 12)), ("tpu",))


def test_targets_may_be_a_string_as_on_the_command_line(rng: np.random.Generator) -> None:
    net, x = random_network(rng, (5,), 12), rng.integers(0, 16, (1, 2, 12))
    for text, names in (("twin", ("twin",)), ("torch, twin", ("torch", "twin"))):
        assert climb(net, x, text) == climb(net, x, names)
    assert any(result.verdict == "equal" for result in climb(net, x, "twin"))
    with pytest.raises(ValueError, match=r"torch, twin, lava, loihi2, got \['tpu'\]"):
        climb(net, x, "tpu")
