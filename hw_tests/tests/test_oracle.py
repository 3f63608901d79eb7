"""The oracle gives what was worked out by hand."""

import pytest

from hw_tests.oracle import celif_layer, cuba_layer, readout, rz, saturate, sigma_delta_layer
from hw_tests.oracle.synapses import convolution, late
from hw_tests.worked.celif import MAX, WORKED_CASES, WorkedCase
from hw_tests.worked.cuba import WORKED_CUBA_CASES, WorkedCubaCase


@pytest.mark.parametrize(
    ("x", "n", "expected"),
    [(7, 1, 3), (-7, 1, -3), (-1, 12, 0), (-4096, 12, -1), (-8191, 12, -1), (-5, 0, -5)],
)
def test_rz_rounds_towards_zero(x: int, n: int, expected: int) -> None:
    assert rz(x, n) == expected


@pytest.mark.parametrize(
    ("x", "expected"),
    [(MAX, MAX), (MAX + 1, MAX), (-MAX, -MAX), (-MAX - 1, -MAX), (2**40, MAX), (-3, -3)],
)
def test_saturate_limits_both_ends_symmetrically(x: int, expected: int) -> None:
    assert saturate(x) == expected


@pytest.mark.parametrize("case", WORKED_CASES, ids=lambda case: case.name)
def test_celif_layer_matches_worked_case(case: WorkedCase) -> None:
    expected = {"v": case.v, "theta": case.theta, "s": case.s}
    assert celif_layer(**case.arguments) == expected


@pytest.mark.parametrize("case", WORKED_CASES, ids=lambda case: case.name)
def test_celif_layer_ignores_te_beyond_the_inputs(case: WorkedCase) -> None:
    longer = {**case.arguments, "te": [[*row, 99, -99] for row in case.arguments["te"]]}
    assert celif_layer(**longer) == {"v": case.v, "theta": case.theta, "s": case.s}


def test_celif_layer_refuses_weights_that_do_not_fit_the_inputs() -> None:
    arguments = {**WORKED_CASES[0].arguments, "weight": [[1, 2], [3, 4]]}
    with pytest.raises(ValueError, match="zip"):
        celif_layer(**arguments)


@pytest.mark.parametrize("case", WORKED_CUBA_CASES, ids=lambda case: case.name)
def test_cuba_layer_matches_worked_case(case: WorkedCubaCase) -> None:
    expected = {"v": case.v, "u": case.u, "s": case.s}
    assert cuba_layer(**case.arguments) == expected


def test_readout_sums_weighted_spikes_and_bias_over_steps() -> None:
    # Class 0: (1-2+5) + (-2+5) + (1+5) = 4 + 3 + 6 = 13; class 1: (3+4-1) + (4-1) + (3-1) = 11.
    assert readout([[1, -2], [3, 4]], [[1, 0, 1], [1, 1, 0]], [5, -1]) == [13, 11]


@pytest.mark.parametrize("sign", [1, -1])
def test_readout_asserts_32_bits(sign: int) -> None:
    assert readout([[sign * (2**31 - 1)]], [[1]], [0]) == [sign * (2**31 - 1)]
    with pytest.raises(AssertionError, match="32 bits"):
        readout([[sign * 2**30]], [[1, 1]], [0])


def test_readout_asserts_32_bits_at_every_step() -> None:
    with pytest.raises(AssertionError, match="step 1"):
        readout([[2**30]], [[1, 1, -1]], [0])


def test_recurrent_sums_are_those_of_the_step_before_and_shifted() -> None:
    # The one spike of neuron 0 at step 0 reaches neuron 1 at step 1: 3 « 2 = 12, » 1 = 6. The sum
    # of its own input, -5 » 1 = -3, rounds down. Without decay or bias, v is what arrives.
    traces = celif_layer(
        [[8], [-5]], [[1, 0]], [[0, 0], [0, 0]], weight_rec=[[0, 0], [3, 0]], sum_down=1, own_up=2,
        alpha_mant=0, beta_mant=0, theta0_int=4, te_exp=0, shift=0, bias_mant=[0, 0], bias_exp=0,
    )  # fmt: skip
    assert traces["v"] == [[4, 0], [-3, 6]]
    assert traces["s"] == [[1, 0], [0, 1]]


def test_sigma_delta_keeps_small_changes_until_they_are_large() -> None:
    # σ: 8192, 8192, 16384; the first change is below 3 · 4096, the two together are not.
    traces = sigma_delta_layer([[2]], [[1, 0, 1]], shift=12, vth=3, bias_mant=[0])
    assert traces == {"v": [[8192, 8192, 16384]], "s": [[0, 0, 256]]}


def test_sigma_delta_rounds_messages_down_and_rectifies() -> None:
    # 202 and then -202, in units of 64; the second neuron's sum is negative, its activation 0.
    traces = sigma_delta_layer([[2], [-2]], [[101, -101]], shift=0, vth=0, bias_mant=[0, 0])
    assert traces["s"] == [[3, -4], [0, 0]]
    assert traces["v"] == [[202, 0], [-202, 0]]


def test_sigma_delta_sends_the_rest_of_a_large_change_later() -> None:
    traces = sigma_delta_layer([[64]], [[70000, 0, 0]], shift=0, vth=0, bias_mant=[0])
    assert traces["s"] == [[65535, 70000 - 65535, 0]]


def test_convolution_matches_a_hand_made_matrix() -> None:
    # Two rows of neurons: the first has the lower half of the kernel on row 0, the second the
    # upper half on row 1.
    weight = convolution([[[[1, 2], [3, 4]]]], [1, 2, 2], (2, 1), (1, 0), (1, 1), 1)
    assert weight == [[3, 4, 0, 0], [0, 0, 1, 2]]


def test_convolution_keeps_groups_apart() -> None:
    weight = convolution([[[[5]]], [[[7]]]], [2, 1, 2], (1, 1), (0, 0), (1, 1), 2)
    assert weight == [[5, 0, 0, 0], [0, 5, 0, 0], [0, 0, 7, 0], [0, 0, 0, 7]]


def test_late_spikes_that_miss_the_sample_are_lost() -> None:
    assert late([[1, 1, 0], [1, 0, 1]], [1, 5]) == [[0, 1, 1], [0, 0, 0]]
