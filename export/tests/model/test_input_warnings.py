"""Inputs outside the calibrated range are counted and warned about once."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from export.checks import ModelError
from export.model.network import Encoding


def x(*values: float) -> np.ndarray:
    return np.array(values, np.float32).reshape(1, 1, -1)


def test_values_beyond_the_range_are_counted_and_warned_about_once():
    encoding = Encoding(1, 0.25, 2, signed=True)  # −0.75..0.75
    with pytest.warns(UserWarning, match=r"50\.00% of .*: 1 below -0\.75, 1 above 0\.75; export"):
        graded = encoding.encode(x(-2, -0.75, 0.75, 9), 4)
    assert graded.tolist() == [[[-3, -3, 3, 3]]]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        encoding.encode(x(-2, -0.75, 0.75, 9), 4)


def test_negative_values_after_an_unsigned_calibration_are_warned_about():
    encoding = Encoding(1, 0.25, 2, signed=False)
    with pytest.warns(UserWarning, match=r"25\.00% .*: 1 below 0 \(the calibration had no neg"):
        graded = encoding.encode(x(-1, 0, 0.5, 0.75), 4)
    assert graded.tolist() == [[[0, 0, 2, 3]]]


def test_values_within_half_a_step_of_the_range_are_not_warned_about():
    encoding = Encoding(1, 0.25, 2, signed=False)
    assert encoding.encode(x(-0.1, 0.84), 4).tolist() == [[[0, 3]]]


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_values_that_are_no_numbers_are_refused(value):
    with pytest.raises(ModelError, match="input: expected finite numbers, got NaN or infinity"):
        Encoding(1, 0.25, 2, signed=False).encode(x(0, value), 4)


@pytest.mark.parametrize("kind", [complex, str, object])
def test_values_that_are_not_real_are_refused(kind):
    with pytest.raises(ModelError, match=r"input: expected real numbers, got .* magnitudes"):
        Encoding(1, 0.25, 2, signed=False).encode(x(0, 0.5).astype(kind), 4)
