"""The oracle gives what was worked out by hand."""

import pytest

from hw_tests.oracle import celif_layer, cuba_layer, readout, rz, saturate
from hw_tests.tests.worked import MAX, WORKED_CASES, WorkedCase
from hw_tests.tests.worked_cuba import WORKED_CUBA_CASES, WorkedCubaCase


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
