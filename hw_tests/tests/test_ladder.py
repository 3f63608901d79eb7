"""The ladder on random networks with every option, and on a trained one.

Each case of :mod:`hw_tests.networks.cases` runs in the twin, the oracle, the plain integer step,
the quantisation-aware forward pass and, once, in Lava; all must agree in every register.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
import torch
from torch.nn.functional import cross_entropy

from export import FixedNetwork, Trace, quantize, read_netx, simulate, to_netx
from hw_tests.backends import run_quantised
from hw_tests.ladder import RUNGS, Rung, climb, rung
from hw_tests.networks.cases import CASES, FLOAT_CASES, LARGEST_RATE, LEAST_RATE, Case
from hw_tests.oracle.backend import run_oracle
from hw_tests.plain_steps import run_plain
from hw_tests.trace_difference import assert_same_trace, firing_rates
from training import Network, tasks, trainer


def run_both(
    number: int,
    targets: list[str],
    net: FixedNetwork,
    x: np.ndarray,
    rungs: Sequence[Rung] = RUNGS,
) -> tuple[Trace, Trace]:
    """Run both sides of a rung, or skip with the reason why it cannot run."""
    rung = next(rung for rung in rungs if rung.number == number)
    if (reason := rung.why_not(targets)) is not None:
        pytest.skip(reason)
    reference, under_test = rung.backends
    return reference.run(net, x), under_test.run(net, x)


class Built(NamedTuple):
    """A case's network and samples, and what the twin makes of them, once for every test."""

    case: Case
    net: FixedNetwork
    x: np.ndarray
    twin: Trace


@pytest.fixture(scope="module", params=CASES, ids=lambda case: case.name)
def built(request: pytest.FixtureRequest) -> Built:
    """Each network of the suite."""
    net, x = request.param.build()
    return Built(request.param, net, x, simulate(net, x, trace=True))


def test_twin_equals_oracle(built: Built) -> None:
    assert_same_trace(run_oracle(built.net, built.x), built.twin)


def test_twin_equals_plain_step(built: Built) -> None:
    assert_same_trace(run_plain(built.net, built.x), built.twin)


def test_rung_0_fused_equals_reference(built: Built, targets: list[str]) -> None:
    if (reason := RUNGS[0].why_not(targets)) is not None:
        pytest.skip(reason)
    result = climb(built.net, built.x, ["torch"])[0]
    assert (result.verdict, result.detail) == ("equal", "")


def test_rung_2_quantised_forward_equals_twin(built: Built, targets: list[str]) -> None:
    if (reason := rung(2, "torch").why_not(targets)) is not None:
        pytest.skip(reason)
    assert_same_trace(built.twin, run_quantised(built.net, built.x))


def test_rung_3_lava_fixed_equals_twin(built: Built, targets: list[str]) -> None:
    assert_same_trace(*run_both(3, targets, built.net, built.x))


@pytest.mark.parametrize("case", CASES[::5], ids=lambda case: case.name)
def test_rung_3_lavas_own_runtime_equals_twin(case: Case, targets: list[str]) -> None:
    net, x = case.build()
    own = [rung for rung in RUNGS if rung.number == 3][-1]
    assert str(own.backends[-1]) == "lava fixed, own runtime"
    if (reason := own.why_not(targets)) is not None:
        pytest.skip(reason)
    part = own.share(net, x)
    assert len(part) <= 2
    assert_same_trace(simulate(net, part, trace=True), own.backends[-1].run(net, part))


@pytest.mark.parametrize("case", FLOAT_CASES, ids=lambda case: case.name)
def test_rung_1_lava_float_equals_torch(case: Case, targets: list[str]) -> None:
    expected, found = run_both(1, targets, *case.build())
    rates = firing_rates(expected)
    assert all(LEAST_RATE <= rate <= LARGEST_RATE for rate in rates), rates
    assert_same_trace(expected, found)


def test_rung_4_loihi2_equals_lava(targets: list[str], rungs: list[Rung]) -> None:
    assert_same_trace(*run_both(4, targets, *CASES[5].build(), rungs))


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
    ran = [result.compared for result in results if result.verdict == "equal"]
    expected = [rung.compared for rung in RUNGS if rung.why_not(targets) is None]
    assert ran == expected
    if not ran:
        pytest.skip(f"no rung is under test with {targets}")
    assert_same_trace(run_oracle(net, x[:1]), simulate(net, x[:1], trace=True))


def test_fine_tuned_network_climbs_every_rung(tmp_path: Path, targets: list[str]) -> None:
    """Quantisation-aware training, in formats that differ from layer to layer, and its export."""
    torch.manual_seed(4)
    net = Network(2, (9, 12), 3, 20)
    with torch.no_grad():
        for layer in net.layers:
            layer.weight.mul_(2)
    x = torch.rand(3, 2, 20)
    aware = quantize(
        net, calibration=x, weight_bits=(4, 5, 6), te_bits=(4, 3), te_encoding="packed",
        per_channel=True,
    )  # fmt: skip
    optimizer = torch.optim.Adam(aware.parameters(), lr=0.01)
    before = aware.fixed()
    for _ in range(5):
        optimizer.zero_grad()
        cross_entropy(aware(x), torch.arange(3)).backward()
        optimizer.step()
    to_netx(aware, tmp_path / "aware.net")
    fixed = read_netx(tmp_path / "aware.net")
    for old, new in zip(before.layers, fixed.layers, strict=True):
        assert (old.weight != new.weight).any()
    graded = fixed.encode(x.numpy())
    trace = simulate(fixed, graded, trace=True)
    assert all(LEAST_RATE <= rate <= LARGEST_RATE for rate in firing_rates(trace))
    assert_same_trace(trace, aware.trace(x))
    results = climb(fixed, graded, targets)
    assert not [result for result in results if result.verdict == "DIFFERS"]
    ran = [result.compared for result in results if result.verdict == "equal"]
    assert ran == [rung.compared for rung in RUNGS if rung.why_not(targets) is None]
