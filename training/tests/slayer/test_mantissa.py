"""Mantissas and exponents: the largest exponent that fits, and the grid it makes."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from training.slayer.mantissa import EXPONENT_MAX, exponent, fake_quantise, mantissa_max
from training.tests.cases import hypothesis_settings


@hypothesis_settings
@given(
    largest=st.floats(min_value=5e-324, max_value=1e300), bits=st.integers(2, 16)
)  # down to the smallest number there is
def test_exponent_is_the_largest_that_fits(largest, bits):
    e = exponent(largest, bits)
    limit = mantissa_max(bits)
    assert e <= EXPONENT_MAX
    assert math.ldexp(largest, e) < limit + 0.5
    assert e == EXPONENT_MAX or math.ldexp(largest, e + 1) >= limit + 0.5


CASES = [(127.0, 0), (127.49, 0), (127.5, -1), (63.74, 1), (63.75, 0), (0.3, 8), (0.0, 0)]


@pytest.mark.parametrize(("largest", "e"), CASES, ids=str)
def test_exponent_of_eight_bits(largest, e):
    assert exponent(largest, 8) == e


@pytest.mark.parametrize("bits", [2, 4, 8], ids="{}bits".format)
def test_fake_quantise_rounds_to_whole_mantissas_and_passes_the_gradient(bits):
    weight = torch.randn(9, 7, generator=torch.Generator().manual_seed(0), requires_grad=True)
    scale = 2.0 ** exponent(weight.abs().max().item(), bits)
    mantissas = fake_quantise(weight, bits, descale=True)
    assert torch.equal(mantissas, mantissas.round())
    assert mantissa_max(bits) / 2 <= mantissas.abs().max() <= mantissa_max(bits)
    rounded = fake_quantise(weight, bits)
    assert torch.equal(rounded * scale, mantissas)
    assert (rounded - weight).abs().max() <= 0.5 / scale
    (rounded * mantissas).sum().backward()
    assert torch.equal(weight.grad, mantissas)


@pytest.mark.parametrize("bad", [float("nan"), float("inf")], ids=str)
def test_fake_quantise_names_weights_that_are_no_numbers(bad):
    with pytest.raises(ValueError, match=r"weights: expected finite numbers, got .* diverged"):
        fake_quantise(torch.tensor([1.0, bad]), 8)
