"""Formats that are chosen: as many fractional bits as are safe, exponents by what they cost."""

from __future__ import annotations

import re

import numpy as np
import pytest
import torch

from export import FixedNetwork, Formats, loihi2
from export.checks import ModelError
from export.convert import formats as limits
from export.convert.choose import outputs
from export.convert.float_network import float_outputs
from export.convert.formats import RULES
from export.convert.round import integer_layer
from export.convert.to_integers import convert
from export.proof.intervals import worst_case
from export.tests.floats import choose, float_layer, layer_format
from training import Network


def test_fraction_bits_are_the_most_that_are_proven_safe(rng):
    values = float_layer(rng, 100.0)
    layer, choice = choose(values, 1, None)
    assert choice.proven
    assert 12 <= choice.fraction_bits == layer.fraction_bits < 16
    assert choice.largest_state == max(worst_case(layer, 0, 1)) <= loihi2.STATE_MAX
    more = integer_layer(values, layer_format(values, choice.fraction_bits + 1, "mse"))
    assert not worst_case(more, 0, 1).safe


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
    assert proven.fraction_bits < limits.PROVEN_ENOUGH
    assert not choice.proven
    assert layer.fraction_bits > proven.fraction_bits
    # The margin is kept: at most half of the register, and one more bit would leave less.
    assert choice.largest_state * limits.MARGIN <= loihi2.STATE_MAX
    assert layer.fraction_bits == 16 or choice.largest_state * 4 > loihi2.STATE_MAX


def test_few_bits_are_a_warning_even_with_data(rng):
    values = float_layer(rng, 100.0)
    loud = np.full((2, 3, 6), 4000)
    with pytest.warns(UserWarning, match=r"only \d .* with 8, V of neuron 2 can reach .* smaller"):
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
        layer_format(values, 10, te_bits=4)
    assert layer_format(float_layer(rng, te=np.full((4, 6), 7.49)), 10, te_bits=4).te_exp == 0


def test_unproven_layer_says_which_bound_and_what_to_change(rng):
    values = float_layer(rng, 100.0)
    quiet = np.zeros((2, 3, 6), int)
    quiet[:, 0, 0] = 1
    _, choice = choose(values, 4095, quiet)
    assert not choice.proven
    # Of three inputs the neuron with the largest weights, at the step its decaying sum is largest.
    expected = r"V of neuron \d can reach ±\d+ at step 5, where ±8388606 fit; make weights and b"
    assert re.search(expected, choice.verdict)


def test_forced_fraction_bits_are_taken_and_judged(rng):
    values = float_layer(rng, 100.0)
    layer, safe = choose(values, 1, None, fraction_bits=6)
    assert layer.fraction_bits == safe.fraction_bits == 6
    assert (safe.proven, safe.verdict) == (True, "proven")
    assert layer.weight_exp <= 6
    _, unsafe = choose(values, 1, None, fraction_bits=16)
    assert not unsafe.proven
    assert "can reach" in unsafe.verdict


@pytest.fixture
def network() -> Network:
    return outlying_network(3)


def outlying_network(seed: int) -> Network:
    """A network whose weights have outliers, so that the rules differ."""
    torch.manual_seed(seed)
    net = Network(2, (20, 16), 4, 24).eval()
    with torch.no_grad():
        for layer in net.layers:
            layer.weight.copy_(torch.randn_like(layer.weight) ** 3 * 0.4)
        net.te.copy_(torch.randn_like(net.te) ** 3 * 0.03)
    return net


def output_error(net, x, **formats) -> tuple[float, FixedNetwork]:
    floats, fixed, _ = convert(net, x, Formats(**formats))
    graded = fixed.encode(x.numpy())
    wanted = float_outputs(floats.with_input_scale(fixed.encoding.scale), fixed.encoding, graded)
    return float(np.square(outputs(fixed, graded) - wanted).mean()), fixed


@pytest.mark.parametrize("per_channel", [False, True], ids=["per-layer", "per-channel"])
def test_best_rule_is_no_worse_than_where_it_starts_from(network, per_channel):
    x = torch.rand(16, 2, 24, generator=torch.Generator().manual_seed(1))
    bits = {"weight_bits": 3, "te_bits": 3, "per_channel": per_channel, "fraction_bits": 12}
    errors = {rule: output_error(network, x, rule=rule, **bits)[0] for rule in RULES}
    assert errors["best"] <= errors["mse"]
    assert errors["best"] < errors["max"]
    assert len({round(e, 9) for e in errors.values()}) > 2, "the rules should differ here"


def test_best_rule_never_clips_weights_more_than_the_mean_square():
    """Here the percentile, which clips the largest weights, has the nearer outputs at 8 bits."""
    net = outlying_network(0)
    x = torch.rand(16, 2, 24, generator=torch.Generator().manual_seed(0))
    errors, exps = {}, {}
    for rule in RULES:
        errors[rule], fixed = output_error(net, x, rule=rule)
        exps[rule] = [layer.weight_exp for layer in fixed.layers]
    assert errors["percentile"] < errors["mse"]
    assert all(a > b for a, b in zip(exps["percentile"], exps["mse"], strict=True))
    assert all(a <= b for a, b in zip(exps["best"], exps["mse"], strict=True))


def test_measured_float_outputs_are_the_networks(network):
    x = torch.rand(5, 2, 24, generator=torch.Generator().manual_seed(1))
    x = (x * 15).round() / 15  # what the encoding can hold
    floats, fixed, _ = convert(network, x, Formats())
    graded = fixed.encode(x.numpy())
    found = float_outputs(floats.with_input_scale(fixed.encoding.scale), fixed.encoding, graded)
    with torch.no_grad():
        expected = network(x).numpy()
    # Inputs are scaled in the weights here and in the samples there: spikes may differ by one.
    np.testing.assert_allclose(found, expected, atol=0.05)
    assert np.abs(expected).max() > 0.1


def test_layers_that_share_a_table_share_its_exponents(network):
    x = torch.rand(8, 2, 24)
    shared = convert(network, x, Formats(te_bits=4, per_channel=True))[1]
    first, second = shared.layers
    np.testing.assert_array_equal(first.te_exp[:16], second.te_exp)
    np.testing.assert_array_equal(first.te[:16], second.te)
    assert len(set(first.te_exp.tolist())) > 1
    mixed = convert(network, x, Formats(te_bits=(4, 6)))[1]
    assert mixed.layers[0].te_exp < mixed.layers[1].te_exp
