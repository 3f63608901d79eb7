"""Integer networks check themselves, and encode what they are given."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from export.checks import ModelError
from export.model.network import CelifLayer, CubaLayer, Encoding, FixedNetwork
from export.tests.strategies import rich_network
from hw_tests.networks.random_nets import random_network


@pytest.fixture
def network() -> FixedNetwork:
    """CELIF (shifted), CUBA, readout."""
    return rich_network()


def test_shift_and_bias_are_in_units_of_the_register(network):
    layer = network.layers[0]
    assert isinstance(layer, CelifLayer)
    assert layer.shift.tolist() == [14, 14, 14]
    assert layer.bias.tolist() == [-4096 * 4, 17 * 4, 4095 * 4]
    assert layer.params[:3] == (2048, 4055, 614)
    assert layer.params.te_exp.tolist() == [9, 9, 9]


def test_readouts_worst_case_is_the_largest_sum_there_can_be(network):
    # Class 0: 127 or −127 per step, plus a bias of 100,000.
    assert network.readout.worst_case(1) == 100_127
    assert network.readout.worst_case(4) == 400_508


# A field of layer 0 (CELIF), a value just outside its range, and what is said.
CELIF = {
    "alpha": ({"alpha_mant": 4096}, r"layer 0 alpha_mant: expected 0\.\.4095, got 4096"),
    "alphas": (
        {"alpha_mant": np.array([0, 4096, 1])},
        r"layer 0 alpha_mant: expected 0\.\.4095, got 0\.\.4096",
    ),
    "alphas-length": (
        {"alpha_mant": np.array([1, 2])},
        "layer 0 alpha_mant: expected 3 values, one per neuron, got 2",
    ),
    "alphas-in-time": (
        {"beta_mant": np.zeros((3, 4), int)},
        r"beta_mant: expected .* 1 axes, got shape \(3, 4\)",
    ),
    "beta": ({"beta_mant": -1}, r"layer 0 beta_mant: expected 0\.\.4095, got -1"),
    "theta0": ({"theta0_int": -(1 << 23)}, r"theta0_int: expected -8388607\.\.8388607, got"),
    "fraction": ({"fraction_bits": 17}, r"fraction_bits: expected 0\.\.16, got 17"),
    "shift": ({"weight_exp": 32}, r"weight_exp: expected -8\.\.31, got 32"),
    "te-exp": ({"te_exp": -1}, r"te_exp: expected 0\.\.31, got -1"),
    "te-exp-half": ({"te_exp": 2.5}, r"te_exp: expected an integer, got 2\.5"),
    "te-bits": ({"te_bits": 1}, r"te_bits: expected 2\.\.16, got 1"),
    "te-mantissa": ({"te_bits": 3}, r"te: expected -3\.\.3, got -7\.\.7"),
    "te-float": ({"te": np.zeros((3, 4))}, "te: expected integers, got float64"),
    "te-rows": ({"te": np.zeros((2, 4), int)}, "te: expected 3 rows, one per neuron, got 2"),
    "te-axes": ({"te": np.zeros(3, int)}, r"te: expected .* 2 axes, got shape \(3,\)"),
    "weight-bits": ({"weight_bits": 9}, r"weight_bits: expected 2\.\.8, got 9"),
    "weight": ({"weight_bits": 6}, r"weight: expected -31\.\.31, got -63\.\.63"),
    "weight-axes": ({"weight": np.zeros((3, 2, 1), int)}, "weight: expected .* 2 axes"),
    "no-neurons": ({"weight": np.zeros((0, 2), int)}, "weight: expected a non-empty"),
    "bias-exp": ({"bias_exp": 8}, r"bias_exp: expected 0\.\.7, got 8"),
    "bias": ({"bias_mant": np.array([0, 0, 4096])}, r"bias_mant: expected -4096\.\.4095"),
    "bias-length": ({"bias_mant": np.zeros(2, int)}, "bias_mant: expected 3 values.* got 2"),
    "lag": ({"lag": 0}, r"lag: expected 1\.\.65536, got 0"),
}


@pytest.mark.parametrize(("change", "message"), CELIF.values(), ids=CELIF.keys())
def test_celif_value_out_of_range_is_named(network, change, message):
    with pytest.raises(ModelError, match=message):
        replace(network.layers[0], **change)


CUBA = {
    "du": ({"du": 4096}, r"layer 1 du: expected -1\.\.4095, got 4096"),
    "dv": ({"dv": 4097}, r"dv: expected 0\.\.4096, got 4097"),
    "vth": ({"vth": 1 << 17}, r"vth: expected 0\.\.131071, got 131072"),
    "weight-odd": ({"weight": np.ones((2, 3), int)}, "weight: expected even integers.* got odd"),
    "weight": ({"weight": np.full((2, 3), 256)}, r"weight: expected -256\.\.254, got 256\.\.256"),
    "bias": ({"bias_mant": np.array([0, -4097])}, r"bias_mant: expected -4096\.\.4095"),
}


@pytest.mark.parametrize(("change", "message"), CUBA.values(), ids=CUBA.keys())
def test_cuba_value_out_of_range_is_named(network, change, message):
    with pytest.raises(ModelError, match=message):
        replace(network.layers[1], **change)


def test_error_says_where_what_and_why(network):
    with pytest.raises(ModelError) as caught:
        replace(network.layers[0], alpha_mant=5000)
    error = caught.value
    assert (error.owner, error.field) == ("layer 0", "alpha_mant")
    assert (error.expected, error.found) == ("0..4095", "5000")


def test_network_without_layers_is_refused(network):
    with pytest.raises(ModelError, match="network: expected at least one layer, got none"):
        replace(network, layers=())


MISFITS = {
    "steps": ({"steps": 5}, "layer 0 te: expected 5 steps, as the network has, got 4"),
    "no-steps": ({"steps": 0}, r"network steps: expected 1\.\.1048576, got 0"),
    "gap": ({"gap": 0}, r"network gap: expected 1\.\.64, got 0"),
    "channels": (
        {"encoding": Encoding(3, 1.0, 1, False)},
        "layer 0 weight: expected 3 inputs, as many as come before it, got 2",
    ),
    "permutation": (
        {"encoding": Encoding(2, 1.0, 1, False, np.array([1, 0]))},
        "input permutation: expected 4 steps, got 2",
    ),
}


@pytest.mark.parametrize(("change", "message"), MISFITS.values(), ids=MISFITS.keys())
def test_parts_that_do_not_fit_are_named(network, change, message):
    with pytest.raises(ModelError, match=message):
        replace(network, **change)


def test_lag_counts_synapses_less_shifted_layers(network):
    assert [layer.lag for layer in network.all_layers] == [1, 1, 2]
    with pytest.raises(ModelError, match=r"layer 2 lag: expected 2\.\.2, got 3"):
        replace(network, readout=replace(network.readout, lag=3))


def test_readout_that_could_overflow_is_refused(network):
    large = replace(network.readout, bias=np.array([1 << 30, 0, 0]))
    with pytest.raises(
        ModelError, match=r"layer 2 weight: .* 32 bits over 4 steps, got 4294967804"
    ):
        replace(network, readout=large)


def test_late_spikes_need_a_gap(network):
    cuba = network.layers[1]
    assert isinstance(cuba, CubaLayer)
    late = replace(
        cuba, name="layer 0", weight=cuba.weight[:, :2], lag=1, delay_shift=True,
        delay=np.array([2, 5]),
    )  # fmt: skip
    FixedNetwork((late,), None, 4, 6, network.encoding, {})
    with pytest.raises(ModelError, match=r"network gap: expected 6\.\.64, got 5"):
        FixedNetwork((late,), None, 4, 5, network.encoding, {})


BAD_ENCODINGS = {
    "scale": ({"scale": -1.0}, "input scale: expected a positive number, got -1.0"),
    "scale-infinite": ({"scale": np.inf}, "input scale: .* got inf"),
    "bits": ({"bits": 0}, r"input bits: expected 1\.\.16, got 0"),
    "twice": ({"permutation": np.array([0, 0])}, "input permutation: expected every step"),
    "gap": ({"permutation": np.array([0, 2])}, "input permutation: expected every step"),
}


@pytest.mark.parametrize(("change", "message"), BAD_ENCODINGS.values(), ids=BAD_ENCODINGS.keys())
def test_bad_encoding_is_refused(change, message):
    with pytest.raises(ModelError, match=message):
        replace(Encoding(1, 1.0, 4, False), **change)


def test_floats_are_permuted_scaled_rounded_and_clipped(network):
    # Scale 1/16, five bits and a sign; the permutation is 2, 0, 3, 1.
    x = np.array([[[0.0, 0.03125, 1 / 16, 0.9], [-0.5, 99.0, -99.0, 0.1]]], np.float32)
    expected = [[[1, 0, 14, 0], [-31, -8, 2, 31]]]
    with pytest.warns(UserWarning, match="25.00% of the values lie outside the calibrated range"):
        assert network.encode(x).tolist() == expected
    assert network.encode(x).dtype == np.int32


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int64, bool])
def test_integers_pass_as_they_are(network, dtype):
    x = np.array([[[1, 0, 1, 1], [0, 0, 0, 1]]], dtype)
    assert network.encode(x).tolist() == x.astype(int).tolist()


def test_unsigned_encoding_clips_at_zero():
    network = replace(rich_network(), encoding=Encoding(2, 0.5, 3, False))
    x = np.array([[[-1.0, 0.5, 3.5, 9.0], [0, 0, 0, 0]]])
    with pytest.warns(UserWarning, match="1 below 0, 1 above 3.5"):
        assert network.encode(x)[0, 0].tolist() == [0, 1, 7, 7]


def test_plain_spikes_need_no_message_bits():
    assert Encoding(1, 1.0, 1, signed=False).message_bits == 0
    assert Encoding(1, 1.0, 1, signed=True).message_bits == 1
    assert Encoding(1, 1.0, 5, signed=False).message_bits == 5


BAD_SAMPLES = {
    "axes": (np.zeros((2, 4)), r"input: expected \(batch, 2, time\) .*\(2, 4\); time is the last"),
    "channels": (np.zeros((1, 3, 4)), r"input: expected \(batch, 2, time\)"),
    "too-long": (np.zeros((1, 2, 5)), r"with 1\.\.4 time steps, got .*; shorten .* more steps"),
    "none": (np.zeros((0, 2, 4)), "input: expected at least one sample"),
    "nan": (np.full((1, 2, 4), np.nan), "input: expected finite numbers, got NaN"),
    "range": (np.full((1, 2, 4), 32), r"integers in -31\.\.31, got 32\.\.32; pass floats"),
    "permuted-short": (np.zeros((1, 2, 3)), "expected 4 time steps, because .* permutes"),
}


@pytest.mark.parametrize(("x", "message"), BAD_SAMPLES.values(), ids=BAD_SAMPLES.keys())
def test_bad_samples_are_refused(network, x, message):
    with pytest.raises(ModelError, match=message):
        network.encode(x)


def test_random_network_uses_the_whole_range(rng):
    network = random_network(rng, (40, 30), 50, saturating=True)
    assert np.abs(network.layers[0].te).max() == 127
    assert (network.layers[0].shift == 24).all()
