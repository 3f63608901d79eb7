"""Rules for exponents: what each clips, and that the least mean square is the least."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from export.convert import round as exponents
from export.convert.round import mantissas, scales
from export.tests.strategies import hypothesis_settings, seeds
from training.slayer.mantissa import mantissa_max


def error(values: np.ndarray, exp: int | np.ndarray, bits: int) -> float:
    return float(np.square(mantissas(values, exp, bits) / scales(exp, values.ndim) - values).sum())


@hypothesis_settings
@given(seed=seeds, bits=st.integers(2, 16), size=st.floats(1e-4, 10), heavy=st.booleans())
def test_least_mean_square_is_the_least_of_all_exponents(seed, bits, size, heavy):
    rng = np.random.default_rng(seed)
    values = (rng.standard_t(2, (6, 9)) if heavy else rng.normal(0, 1, (6, 9))) * size
    found = error(values, exponents.by_mse(values, bits), bits)
    assert found == min(error(values, e, bits) for e in range(-12, 32))


@hypothesis_settings
@given(seed=seeds, bits=st.integers(2, 16), size=st.floats(1e-4, 10))
def test_maximum_clips_nothing_and_is_the_largest_that_does_not(seed, bits, size):
    values = np.random.default_rng(seed).normal(0, size, (6, 9))
    exp, limit = exponents.by_max(values, bits), mantissa_max(bits)
    assert np.abs(np.rint(values * 2.0**exp)).max() <= limit
    assert exp == 31 or np.abs(np.rint(values * 2.0 ** (exp + 1))).max() > limit


def test_percentile_clips_the_few_largest():
    values = np.concatenate([np.full(995, 0.9), np.full(5, 30.0)])
    assert exponents.by_max(values, 8) == 2
    assert exponents.by_percentile(values, 8) == 7
    assert exponents.by_percentile(np.array([0.0] * 995 + [30.0] * 5), 8) == 2, "all that there is"


def test_rows_have_exponents_of_their_own():
    rows = np.array([[1.0, 0.5], [0.1, -0.2], [0.0, 0.0]])
    each = exponents.exponents(rows, 8, "max", per_channel=True)
    np.testing.assert_array_equal(each, [6, 9, 0])
    assert exponents.exponents(rows, 8, "max", per_channel=False) == 6
    assert error(rows, each, 8) <= error(rows, 6, 8)


@pytest.mark.parametrize("rule", exponents.RULES)
def test_every_rule_takes_zeros(rule):
    assert exponents.exponents(np.zeros((2, 3)), 4, rule, per_channel=False) == 0
