"""Sums of weights times inputs: exact, and as wide as they must be."""

from __future__ import annotations

import numpy as np
import pytest

from export import simulate
from export.twin import scans as sums
from hw_tests.networks.random_nets import random_network
from training.support import compiled


@pytest.mark.parametrize("rate", [0.0, 0.1, 0.6, 1.0])
@pytest.mark.parametrize("inputs", [1, 3, 4, 29])
def test_sums_are_those_of_the_product(rng, rate, inputs):
    weight = rng.integers(-127, 128, (17, inputs))
    spikes = (rng.random((5, 6, inputs)) < rate).astype(sums.SPIKES)
    found = sums.integer_sums(weight, spikes, 127 * inputs)
    np.testing.assert_array_equal(found, spikes.astype(np.int64) @ weight.T)
    assert found.any() == (rate > 0)


@pytest.mark.parametrize("top", [9, 255], ids="up-to-{}".format)
@pytest.mark.parametrize("inputs", [1, 3, sums.FEW])
def test_graded_sums_are_the_products(rng, inputs, top):
    weight = rng.integers(-127, 128, (7, inputs))
    x = rng.integers(-top, top + 1, (5, 6, inputs))
    largest = 127 * top * inputs
    found = sums.integer_sums(weight, x, largest)
    assert found.dtype == (np.int16 if largest < 1 << 15 else np.int32)
    assert found.any()
    assert np.array_equal(found, x @ weight.T)


# The sum of three weights, at the end of what is added in 16 bits, beyond it, and the largest.
@pytest.mark.parametrize("sign", [1, -1], ids=["positive", "negative"])
@pytest.mark.parametrize("largest", [(1 << 15) - 1, 1 << 15, (1 << 31) - 1])
def test_sums_have_room_for_the_largest(largest, sign):
    part = largest // 3
    weight = sign * np.array([[part, part, largest - 2 * part, 0]])
    spikes = np.ones((1, 1, 4), sums.SPIKES)
    assert sums.integer_sums(weight, spikes, largest).item() == sign * largest


def test_counts_are_sums_over_time(rng):
    spikes = (rng.random((3, 700, 9)) < 0.7).astype(sums.SPIKES)
    found = sums.spike_counts(spikes)
    np.testing.assert_array_equal(found, spikes.sum(1))
    assert found.max() > np.iinfo(sums.SPIKES).max


def test_twin_multiplies_without_numba_to_the_same(rng, monkeypatch):
    net = random_network(rng, (6, 9, 5), 30)
    x = rng.integers(0, 16, (3, 2, 30))
    expected = simulate(net, x, trace=True)
    assert all(0.02 < spikes.mean() < 0.95 for spikes in expected.spikes)
    monkeypatch.setattr(compiled, "AVAILABLE", False)
    monkeypatch.setattr(sums, "integer_sums", None)
    with pytest.warns(UserWarning, match="numba is not installed"):
        found = simulate(net, x, trace=True)
    np.testing.assert_array_equal(found.logits, expected.logits)
    for a, b in zip(found.v, expected.v, strict=True):
        np.testing.assert_array_equal(a, b)
