"""Conversion at its edges: the last exponent, grids that floats only nearly meet, zeros."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from export import loihi2
from export.checks import ModelError
from export.convert.choose import READOUT, Planner
from export.convert.float_network import FloatNetwork
from export.convert.formats import Formats
from export.convert.round import by_max, decay_mantissas, integer_layer, integer_readout
from export.convert.to_integers import CALIBRATION_SAMPLES, _calibration, choose_encoding
from export.model.network import Encoding
from export.tests.floats import float_layer, layer_format
from training.slayer.mantissa import EXPONENT_MAX


@pytest.mark.parametrize("zeros", ["one", "all but one", "all"])
def test_readout_with_zeros_gets_the_exponent_of_its_other_weights(zeros, rng):
    weight = rng.normal(0, 1, (2, 4))
    if zeros == "one":
        weight[1, 2] = 0
    else:
        weight[1] = weight[0, 1:] = 0
    if zeros == "all":
        weight[:] = 0
    net = FloatNetwork([float_layer(rng)], (weight, np.zeros(2)), 6, {})
    planner = Planner(net, Formats(), Encoding(3, 1.0, 1, signed=False))
    expected = EXPONENT_MAX if zeros == "all" else by_max(weight, 8)
    assert planner.propose("max")[READOUT] == expected
    assert (expected == EXPONENT_MAX) == (zeros == "all")


@pytest.mark.parametrize(("share", "fits"), [(0.9, True), (1.1, False)])
def test_readout_uses_exponents_down_to_the_last_and_then_refuses(share, fits):
    bias = np.array([share * loihi2.READOUT_MAX * 2.0**EXPONENT_MAX, 0.0])
    given = ("out", np.zeros((2, 3)), bias, 2, 8, 1, EXPONENT_MAX)
    if fits:
        readout = integer_readout(*given)
        assert readout.weight_exp == -EXPONENT_MAX
        assert readout.bias[0] == np.rint(bias[0] * 2.0**-EXPONENT_MAX)
    else:
        with pytest.raises(ModelError, match="out bias: expected sums that fit into 32 bits"):
            integer_readout(*given)


def test_decays_are_one_number_where_all_rows_have_the_same_mantissa():
    assert decay_mantissas("a", "alpha", np.array([0.5, 0.5, 0.50001])) == 2048
    own = decay_mantissas("a", "alpha", np.array([0.5, 0.5, 0.501]))
    assert isinstance(own, np.ndarray)
    assert own.tolist() == [2048, 2048, 2052]
    assert decay_mantissas("a", "alpha", 0.25) == 1024


def test_inputs_are_whole_numbers_unless_a_format_says_otherwise(rng):
    values = float_layer(rng)
    form = layer_format(values, 10)
    plain = type(form)(**{k: v for k, v in vars(form).items() if k != "input_exp"})
    assert integer_layer(values, plain).input_exp == form.input_exp == 0
    assert integer_layer(values, replace(form, input_exp=2)).input_exp == 2


GRIDS = {
    # As float32, 0.7 · 10 is a little less than 7, and 0.3 · 10 a little more than 3.
    "tenths": ([0.0, 0.1, 0.3, 0.7, 0.9, 1.0], 10),
    "just on the grid": ([0.0, 0.5 + 0.4e-4, 1.0], 2),
    "just off the grid": ([0.0, 0.5 + 0.8e-4, 1.0], 255),
    "negative": ([-1.0, -0.25, 0.5, 0.75], 4),
}


@pytest.mark.parametrize(("values", "levels"), GRIDS.values(), ids=GRIDS.keys())
def test_inputs_near_a_grid_are_taken_to_lie_on_it(values, levels):
    x = np.array(values, np.float32)[None, None].astype(np.float64)
    encoding = choose_encoding(x, 8)
    assert encoding.scale == pytest.approx(1 / levels)
    assert encoding.bits == levels.bit_length()


@pytest.mark.parametrize("more", [-1, 0, 1, 1000])
def test_calibration_takes_all_samples_up_to_a_number_and_then_some_of_all(more):
    count = CALIBRATION_SAMPLES + more
    x = np.arange(count, dtype=np.float64)[:, None, None]
    taken = _calibration(x)[:, 0, 0]
    assert len(taken) == min(count, CALIBRATION_SAMPLES)
    assert (taken[0], taken[-1]) == (0, count - 1)
    assert (np.diff(taken) > 0).all()
    assert np.diff(taken).max() <= -(-count // CALIBRATION_SAMPLES)
