"""From floats to integers: exponents as large as they can be, errors of half a unit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from export import loihi2
from export.checks import ModelError
from export.convert import round as quantization
from export.convert.float_network import require_finite
from export.convert.round import by_max, integer_layer
from export.convert.to_integers import choose_encoding
from export.tests.floats import float_layer, layer_format
from export.tests.strategies import hypothesis_settings, seeds
from training.slayer.mantissa import EXPONENT_MAX


@hypothesis_settings
@given(
    seed=seeds,
    size=st.floats(1e-6, 50),
    scale=st.floats(1e-3, 1.0),
    weight_bits=st.integers(2, 8),
    fraction_bits=st.integers(0, 16),
)
def test_every_value_is_within_half_a_unit(seed, size, scale, weight_bits, fraction_bits):
    values = float_layer(np.random.default_rng(seed), size, input_scale=scale)
    form = layer_format(values, fraction_bits, weight_bits=weight_bits)
    layer = integer_layer(values, form)
    for found, unit, floats in (
        (layer.weight, 2.0**-layer.weight_exp / scale, values.weight),
        (layer.te, 2.0**-layer.te_exp, values.te),
        (layer.bias_mant, 2.0 ** (layer.bias_exp - fraction_bits), values.bias),
        (layer.theta0_int, 2.0**-fraction_bits, values.theta0),
        (layer.alpha_mant, 1 / 4096, values.alpha),
        (layer.beta_mant, 1 / 4096, values.beta),
    ):
        # A hair more than half: the product with the scale is rounded to float64.
        assert np.abs(found * unit - floats).max() <= 0.5 * unit * (1 + 1e-12)


@hypothesis_settings
@given(seed=seeds, size=st.floats(1e-6, 50), bits=st.integers(2, 8), fraction=st.integers(0, 16))
def test_weights_use_all_their_bits_unless_the_register_has_fewer(seed, size, bits, fraction):
    values = float_layer(np.random.default_rng(seed), size, bias=np.zeros(4))
    layer = integer_layer(values, layer_format(values, fraction, weight_bits=bits))
    limit = (1 << (bits - 1)) - 1
    assert np.abs(layer.weight).max() <= limit
    assert layer.weight_exp == fraction or np.abs(layer.weight).max() > limit / 2
    assert (layer.shift >= 0).all()


@pytest.mark.parametrize(
    ("bias", "mantissa", "exponent"),
    [
        *((0, 0, 0), (4095, 4095, 0), (-4096, -4096, 0), (4096, 2048, 1), (-4097, -2048, 1)),
        *((4095 << 7, 4095, 7), (-4096 << 7, -4096, 7)),
    ],
)
def test_bias_has_the_smallest_exponent_that_holds_it(rng, bias, mantissa, exponent):
    values = float_layer(rng, bias=np.array([bias, 0, 0, 0]) / 2**10)
    layer = integer_layer(values, layer_format(values, 10))
    assert (layer.bias_mant[0], layer.bias_exp) == (mantissa, exponent)


@pytest.mark.parametrize("bias", [4096 << 7, -(4097 << 7)], ids=["above", "below"])
def test_bias_beyond_thirteen_bits_is_named(rng, bias):
    values = float_layer(rng, bias=np.full(4, bias / 2**10))
    with pytest.raises(ModelError, match=r"layer 0 bias: expected \|b\| within 13 bits « 7 at 10"):
        layer_format(values, 10)


def test_bias_is_rounded_once(rng):
    # In units of 4: 2049.49995, 4095, 4.50005. Rounded to whole numbers first, the first and the
    # last would be halves, and go to the even side, which is the wrong one.
    values = float_layer(rng, bias=np.array([8197.9998, 4095 * 4, 18.0002, 0]))
    layer = integer_layer(values, layer_format(values, 0))
    assert layer.bias_exp == 2
    assert layer.bias_mant.tolist() == [2049, 4095, 5, 0]


@pytest.mark.parametrize("name", ["alpha", "beta"])
def test_decay_that_rounds_to_one_is_named(rng, name):
    values = float_layer(rng, **{name: 0.9999})
    with pytest.raises(ModelError, match=rf"layer 0 {name}: expected 0 up to 0.99988, got 0.9999"):
        integer_layer(values, layer_format(values, 10))


def test_weight_beyond_eight_bits_is_named(rng):
    values = float_layer(rng, weight=np.full((4, 3), 4e4))
    with pytest.raises(ModelError, match=r"layer 0 weight: expected \|w\| up to 32512, got 40000"):
        layer_format(values, 10)


GRIDS = {
    "spikes": ([0, 1], 8, 1, 1.0, False),
    "sixteenths": ([k / 16 for k in range(17)], 8, 5, 1 / 16, False),
    "some-sixteenths": ([0, 3 / 16, 1], 8, 5, 1 / 16, False),
    "bytes": ([k / 255 for k in range(256)], 8, 8, 1 / 255, False),
    "signed": ([-1, -0.5, 0, 1], 8, 2, 0.5, True),
    "whole": ([0, 3, 7], 8, 3, 1.0, False),
    "one-outlier": ([k / 2 for k in range(255)] + [40.25], 10, 9, 0.25, False),
    "silence": ([0], 8, 1, 1.0, False),
}


@pytest.mark.parametrize(
    ("values", "bits", "needed", "scale", "signed"), GRIDS.values(), ids=GRIDS.keys()
)
@pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=["float32", "float64"])
def test_encoding_is_exact_on_grids(values, bits, needed, scale, signed, dtype):
    x = np.array(values, dtype).astype(np.float64)[None, None]
    encoding = choose_encoding(x, bits)
    assert (encoding.bits, encoding.signed) == (needed, signed)
    assert encoding.scale == pytest.approx(scale, rel=1e-12)
    decoded = encoding.encode(x, x.shape[2]) * encoding.scale
    np.testing.assert_allclose(decoded, x, rtol=0, atol=1e-7)  # float32's own rounding


@hypothesis_settings
@given(seed=seeds, bits=st.integers(1, 16), signed=st.booleans(), size=st.floats(1e-3, 1e3))
def test_encoding_is_within_half_a_level(seed, bits, signed, size):
    x = np.random.default_rng(seed).uniform(-size if signed else 0, size, (2, 3, 40))
    encoding = choose_encoding(x, bits)
    assert encoding.bits <= bits
    error = np.abs(encoding.encode(x, 40) * encoding.scale - x)
    assert error.max() <= encoding.scale * (0.5 + 1e-3)


@pytest.mark.parametrize("x", [[0.5, 1.0], [0.0, 256.0]], ids=["fraction", "too-large"])
def test_whole_encoding_takes_whole_numbers_only(x):
    with pytest.raises(ModelError, match=r"calibration: expected whole numbers up to 255.* spikes"):
        choose_encoding(np.array([[x]]), 8, whole=True)


def test_whole_encoding_leaves_numbers_alone():
    encoding = choose_encoding(np.array([[[0.0, 2.0, 4.0]]]), 8, whole=True)
    assert (encoding.scale, encoding.bits) == (1.0, 3)


def test_number_that_is_none_is_named_with_its_place():
    values = np.zeros((2, 3))
    values[1, 2] = values[1, 0] = np.nan
    message = r"net w: expected finite numbers, got nan at \(1, 0\) and 1 more; look at it"
    with pytest.raises(ModelError, match=message):
        require_finite("net", "w", values, "look at it")


@hypothesis_settings
@given(
    seed=seeds,
    size=st.floats(1e-8, 1e2) | st.just(0.0),
    bias_size=st.floats(0, 1e4),
    bits=st.integers(2, 8),
    steps=st.integers(1, 5000),
)
def test_readout_fits_its_register_and_uses_it(seed, size, bias_size, bits, steps):
    rng = np.random.default_rng(seed)
    weight, bias = rng.normal(0, size, (3, 20)), rng.normal(0, bias_size, 3)
    best = by_max(weight, bits) if weight.any() else EXPONENT_MAX
    readout = quantization.integer_readout("layer 1", weight, bias, 2, bits, steps, best)
    assert readout.worst_case(steps) <= loihi2.READOUT_MAX
    unit = 2.0**-readout.weight_exp
    assert np.abs(readout.weight * unit - weight).max() <= unit / 2
    assert np.abs(readout.bias * unit - bias).max() <= unit / 2
    # One more bit would overflow a mantissa or the register.
    finer, limit = 2.0 ** (readout.weight_exp + 1), (1 << (bits - 1)) - 1
    rows, offsets = np.rint(weight * finer), np.rint(bias * finer)
    worst = max(
        np.abs(np.maximum(sign * rows, 0).sum(1) * sign + offsets).max() for sign in (1, -1)
    )
    assert (
        readout.weight_exp == EXPONENT_MAX
        or np.abs(rows).max() > limit
        or worst * steps > loihi2.READOUT_MAX
    )


def test_relays_below_their_threshold_are_refused(rng):
    values = float_layer(rng, weight=np.eye(4, 3)[::-1] * 0.4, relays=2)
    layer = integer_layer(values, layer_format(values, 10))
    quantization.require_relays(values, layer)
    with pytest.raises(ModelError, match="expected relays with weights of at least Θ0 = 307, got"):
        quantization.require_relays(values, replace(layer, weight=layer.weight // 8))
