"""Convolutions against the oracle's loops; extremes against every input there can be."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from export import ModelError
from export.model.geometry import Geometry, Shape, delayed, extremes, matrix, sums
from export.tests.strategies import hypothesis_settings, seeds
from hw_tests.oracle.synapses import convolution


@st.composite
def convolutions(draw):
    """Kernels and a geometry that they fit."""
    rng = np.random.default_rng(draw(seeds))
    groups = draw(st.integers(1, 3))
    kernel = draw(st.tuples(st.integers(1, 3), st.integers(1, 3)))
    dilation = draw(st.tuples(st.integers(1, 2), st.integers(1, 3)))
    padding = draw(st.tuples(st.integers(0, 2), st.integers(0, 2)))
    least = [d * (k - 1) + 1 - 2 * p for d, k, p in zip(dilation, kernel, padding, strict=True)]
    shape = Shape(
        groups * draw(st.integers(1, 2)),
        *(max(1, size) + draw(st.integers(0, 3)) for size in least),
    )
    stride = draw(st.tuples(st.integers(1, 3), st.integers(1, 2)))
    out = groups * draw(st.integers(1, 2))
    weight = rng.integers(-127, 128, (out, shape.channels // groups, *kernel))
    return weight, Geometry(shape, stride, padding, dilation, groups)


@hypothesis_settings
@given(convolutions(), seeds)
def test_convolution_is_the_oracles(drawn, seed):
    weight, g = drawn
    g.check("layer", weight)
    expected = np.array(
        convolution(weight.tolist(), list(g.input_shape), g.stride, g.padding, g.dilation, g.groups)
    )
    assert expected.shape == (g.output_shape(weight).size, g.input_shape.size)
    np.testing.assert_array_equal(matrix(weight, g), expected)
    x = np.random.default_rng(seed).integers(-255, 256, (2, 3, g.input_shape.size))
    found = sums(weight, g, x.astype(np.float32), torch.float64)
    np.testing.assert_array_equal(found, x @ expected.T)


def test_extremes_are_reached_and_not_passed():
    rng = np.random.default_rng(0)
    weight = rng.integers(-9, 10, (2, 1, 2, 2))
    g = Geometry(Shape(1, 2, 2), padding=(1, 0))
    least, most = extremes(weight, g, -1, 2)
    inputs = np.array(list(itertools.product(range(-1, 3), repeat=4)))
    all_sums = inputs @ matrix(weight, g).T
    np.testing.assert_array_equal(least, all_sums.min(0))
    np.testing.assert_array_equal(most, all_sums.max(0))


def test_spikes_leave_as_late_as_their_neuron():
    spikes = np.array([[[1, 1, 1], [0, 1, 1], [1, 0, 1]]], np.uint8)
    late = delayed(spikes, np.array([0, 1, 5]))
    assert late[0].T.tolist() == [[1, 0, 1], [0, 1, 1], [0, 0, 0]]
    assert delayed(spikes, np.zeros(3, int)) is spikes


BAD = {
    "channels": ((4, 2, 1, 1), Geometry(Shape(3, 2, 2)), "weight: expected kernels for 3 channels"),
    "groups": ((3, 1, 1, 1), Geometry(Shape(2, 2, 2), groups=2), "in 2 group"),
    "size": ((1, 1, 3, 3), Geometry(Shape(1, 2, 2)), r"kernels that fit into \(1, 2, 2\)"),
    "stride": ((1, 1, 1, 1), Geometry(Shape(1, 2, 2), stride=(1, 0)), "stride: expected 1.."),
    "padding": ((1, 1, 1, 1), Geometry(Shape(1, 2, 2), padding=(-1, 0)), "padding: expected 0.."),
}


@pytest.mark.parametrize(("shape", "geometry", "message"), BAD.values(), ids=BAD.keys())
def test_geometry_that_does_not_fit_is_named(shape, geometry, message):
    with pytest.raises(ModelError, match=f"layer 7 .*{message}"):
        geometry.check("layer 7", np.ones(shape, int))
