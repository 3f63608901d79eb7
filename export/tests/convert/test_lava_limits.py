"""What Lava would get wrong without saying so is refused when a network is made."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from export import FixedNetwork, ModelError
from export.model.network import CubaLayer, Encoding
from hw_tests.networks.random_nets import random_network


def cuba(weight: np.ndarray) -> CubaLayer:
    """A CUBA layer with these weights."""
    zeros = np.zeros(len(weight), np.int64)
    return CubaLayer(
        name="layer 0", weight=weight, lag=1, delay_shift=False, du=400, dv=300, vth=20,
        bias_mant=zeros,
    )  # fmt: skip


def test_celif_sums_beyond_32_bits_are_refused(rng):
    net = random_network(rng, (3,), 5, channels=200, bits=16)
    full = replace(net.layers[0], weight=np.full((3, 200), 127))
    with pytest.raises(ModelError, match=r"layer 0 weight: expected sums .* fewer input bits"):
        replace(net, layers=(full,))
    # One bit is lost to the doubled mantissas of the synapse: half of that input still fits.
    assert 200 * 127 * 32767 << 1 < 2**31
    fitting = Encoding(200, 1.0, 15, signed=False)
    assert replace(net, layers=(full,), encoding=fitting).layers[0].inputs == 200


def test_cuba_sums_beyond_32_bits_are_refused():
    layer = cuba(np.full((2, 3), 254))
    with pytest.raises(ModelError, match="layer 0 weight: expected sums"):
        FixedNetwork((layer,), None, 5, 0, Encoding(3, 1.0, 16, signed=False), {})
    assert FixedNetwork((layer,), None, 5, 0, Encoding(3, 1.0, 15, signed=False), {})


def test_cuba_least_weight_needs_a_positive_one():
    with pytest.raises(ModelError, match=r"layer 0 weight: expected -254\.\.0 if none is positive"):
        cuba(np.array([[-256, -4]]))
    assert cuba(np.array([[-256, 4]])).inputs == 2
