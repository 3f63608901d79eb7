"""Formats that are chosen: as many fractional bits as are safe, exponents by what they cost."""

from __future__ import annotations

import numpy as np
import pytest

from export import bounds, fraction_bits, loihi2
from export.checks import ModelError
from export.quantization import integer_layer
from export.tests.floats import choose, float_layer, layer_format


def test_fraction_bits_are_the_most_that_are_proven_safe(rng):
    values = float_layer(rng, 100.0)
    layer, choice = choose(values, 1, None)
    assert choice.proven
    assert 12 <= choice.fraction_bits == layer.fraction_bits < 16
    assert choice.largest_state == max(bounds.worst_case(layer, 0, 1)) <= loihi2.STATE_MAX
    more = integer_layer(values, 1.0, layer_format(values, 1.0, choice.fraction_bits + 1, "mse"))
    assert not bounds.worst_case(more, 0, 1).safe


def test_proof_of_few_bits_gives_way_to_calibration(rng):
    values = float_layer(rng, 100.0)
    quiet = np.zeros((2, 3, 6), int)
    quiet[:, 0, 0] = 1
    layer, choice = choose(values, 4095, quiet)
    with pytest.warns(
        UserWarning, match=r"layer 0: only \d fractional bits .* or pass calibration"
    ):
        proven, by_proof = choose(values, 4095, None)
    assert by_proof.proven
    assert proven.fraction_bits < fraction_bits.PROVEN_ENOUGH
    assert not choice.proven
    assert layer.fraction_bits > proven.fraction_bits
    # The margin is kept: at most half of the register, and one more bit would leave less.
    assert choice.largest_state * fraction_bits.MARGIN <= loihi2.STATE_MAX
    assert layer.fraction_bits == 16 or choice.largest_state * 4 > loihi2.STATE_MAX


def test_few_bits_are_a_warning_even_with_data(rng):
    values = float_layer(rng, 100.0)
    loud = np.full((2, 3, 6), 4000)
    with pytest.warns(UserWarning, match=r"only \d fractional bits .* shrink TE or the weights$"):
        layer, _ = choose(values, 4095, loud)
    assert layer.fraction_bits < 8


def test_layer_that_no_number_of_bits_can_hold_is_named(rng):
    values = float_layer(rng, weight=np.full((4, 3), 3e4))
    with pytest.raises(ModelError, match=r"layer 0: no number of fractional bits .* calibration"):
        choose(values, 65535, None)


def test_error_at_every_number_of_bits_is_passed_on(rng):
    with pytest.raises(ModelError, match="layer 0 beta: expected 0 up to"):
        choose(float_layer(rng, beta=0.99999), 1, None)


def test_table_beyond_its_bits_is_named(rng):
    values = float_layer(rng, te=np.full((4, 6), 7.5))
    with pytest.raises(ModelError, match=r"te: expected \|TE\| up to 7 for 4 bits, got 7\.5"):
        layer_format(values, 1.0, 10, te_bits=4)
    assert layer_format(float_layer(rng, te=np.full((4, 6), 7.49)), 1.0, 10, te_bits=4).te_exp == 0
