"""Rungs 0, 1 and 3 on random networks and on a trained one; the twin also against the oracle."""

from __future__ import annotations

import numpy as np
import pytest

from export import FixedNetwork, Trace, read_netx, simulate, to_netx
from hw_tests.ladder import RUNGS, climb
from hw_tests.tests.cases import CASES, FLOAT_CASES, LARGEST_RATE, LEAST_RATE, Case
from hw_tests.trace import assert_same_trace, firing_rates
from hw_tests.voices import run_oracle, run_plain
from training import tasks, trainer


def run_both(
    number: int, targets: list[str], net: FixedNetwork, x: np.ndarray
) -> tuple[Trace, Trace]:
    """Traces of both sides of a rung, or a skip with the reason why it cannot run."""
    rung = RUNGS[number]
    if (reason := rung.why_not(targets)) is not None:
        pytest.skip(reason)
    reference, under_test = rung.backends
    return reference.run(net, x), under_test.run(net, x)


@pytest.fixture(params=CASES, ids=lambda case: case.name)
def case(request: pytest.FixtureRequest) -> Case:
    """Each network of the suite."""
    return request.param


def test_twin_equals_oracle(case: Case) -> None:
    net, x = case.build()
    assert_same_trace(run_oracle(net, x), simulate(net, x, trace=True))


def test_twin_equals_plain_step(case: Case) -> None:
    net, x = case.build()
    assert_same_trace(run_plain(net, x), simulate(net, x, trace=True))


def test_rung_0_fused_equals_reference(case: Case, targets: list[str]) -> None:
    if (reason := RUNGS[0].why_not(targets)) is not None:
        pytest.skip(reason)
    result = climb(*case.build(), ["torch"])[0]
    assert (result.verdict, result.detail) == ("equal", "")


def test_rung_3_lava_fixed_equals_twin(case: Case, targets: list[str]) -> None:
    assert_same_trace(*run_both(3, targets, *case.build()))


def test_rung_2_quantised_forward_equals_twin(case: Case, targets: list[str]) -> None:
    if case.options.get("delay_shift"):
        pytest.skip("quantisation-aware networks have the paper's timing, unshifted")
    assert_same_trace(*run_both(2, targets, *case.build()))


@pytest.mark.parametrize("case", FLOAT_CASES, ids=lambda case: case.name)
def test_rung_1_lava_float_equals_torch(case: Case, targets: list[str]) -> None:
    expected, found = run_both(1, targets, *case.build())
    rates = firing_rates(expected)
    assert all(LEAST_RATE <= rate <= LARGEST_RATE for rate in rates), rates
    assert_same_trace(expected, found)


def test_rung_4_loihi2_equals_lava(targets: list[str]) -> None:
    assert_same_trace(*run_both(4, targets, *CASES[5].build()))


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[FixedNetwork, np.ndarray]:
    """The demo's network, trained for a few epochs, and three test samples."""
    folder = tmp_path_factory.mktemp("trained")
    task = tasks.load("digits")
    recipe = trainer.Recipe(epochs=6, batch=64)
    net = trainer.Trainer(
        trainer.start(task, (64, 88, 88), recipe), task, recipe, folder / "run"
    ).run()
    assert trainer.evaluate(net, task.test) > 0.6, "the network should have learnt something"
    to_netx(net, folder / "digits.net", calibration=task.train.x)
    fixed = read_netx(folder / "digits.net")
    return fixed, fixed.encode(task.test.x[:3].numpy())


def test_trained_network_climbs_every_rung(
    trained: tuple[FixedNetwork, np.ndarray], targets: list[str]
) -> None:
    net, x = trained
    trace = simulate(net, x, trace=True)
    assert all(LEAST_RATE <= rate <= LARGEST_RATE for rate in firing_rates(trace))
    results = climb(net, x, targets)
    differing = [result for result in results if result.verdict == "DIFFERS"]
    assert not differing
    ran = {result.rung for result in results if result.verdict == "equal"}
    expected = {rung.number for rung in RUNGS if rung.why_not(targets) is None}
    assert ran == expected
    if not ran:
        pytest.skip(f"no rung is under test with {targets}")
    assert_same_trace(run_oracle(net, x[:1]), simulate(net, x[:1], trace=True))
