"""verify: what counts as equal, as complete, and what the gap compares."""

from __future__ import annotations

import dataclasses
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from celif.verification.gap import measure_gap
from celif.verification.verify import verify
from export import FixedNetwork, read_netx, simulate, to_netx
from hw_tests import ladder
from training import Network

STEPS = 16


@pytest.fixture
def net() -> Network:
    """A network that fires and permutes its input."""
    torch.manual_seed(0)
    order = torch.randperm(STEPS).tolist()
    made = Network(1, (10, 12), 3, STEPS, permutation=order)
    with torch.no_grad():
        for layer in made.layers:
            layer.weight.mul_(3)
    return made


@pytest.fixture
def x() -> torch.Tensor:
    """Samples of sixteenths, which the encoding holds exactly."""
    return torch.randint(0, 17, (12, 1, STEPS), generator=torch.Generator().manual_seed(1)) / 16


@pytest.fixture
def fixed(net: Network, x: torch.Tensor, tmp_path: Path) -> FixedNetwork:
    to_netx(net, tmp_path / "net.net", calibration=x)
    return read_netx(tmp_path / "net.net")


def without_lava(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make every Lava back end say that Lava is missing."""

    def strip(rung: ladder.Rung) -> ladder.Rung:
        backends = tuple(
            replace(b, missing=lambda: "no Lava") if b.target == "lava" else b
            for b in rung.backends
        )
        return replace(rung, backends=backends)

    monkeypatch.setattr(ladder, "RUNGS", tuple(map(strip, ladder.RUNGS)))


def test_missing_lava_is_not_equal(
    fixed: FixedNetwork, x: torch.Tensor, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_lava(monkeypatch)
    result = verify(fixed, None, x)
    assert not result.equal
    assert not result.complete
    assert [r.why for r in result.rungs][1] == ladder.UNAVAILABLE


def test_a_part_that_was_asked_for_is_equal_but_not_complete(
    fixed: FixedNetwork, x: torch.Tensor
) -> None:
    result = verify(fixed, None, x, targets=("torch",))
    assert [r.rung for r in result.rungs if r.verdict == "equal"] == [0, 2]
    assert result.equal
    assert not result.complete


def test_nothing_asked_for_is_not_equal(fixed: FixedNetwork, x: torch.Tensor) -> None:
    assert not verify(fixed, None, x, targets=()).equal


def test_gap_measures_registers_in_the_floats_units(
    fixed: FixedNetwork, net: Network, x: torch.Tensor
) -> None:
    result = verify(fixed, net, x, np.zeros(12, int), targets=())
    assert result.gap is not None
    first, second = result.gap.layers
    # 8-bit weights of a layer without spikes before it: V is off by roundings of 2^-8, no more
    assert first.v_error_mean is not None
    assert 0 < first.v_error_mean < 0.02
    assert first.theta_error_max is not None
    assert first.v_error_max is not None
    assert first.v_error_mean < first.v_error_max < 3
    assert (first.neurons, second.neurons) == (10, 12)
    assert result.gap.accuracy_float is not None
    trace = simulate(fixed, x.numpy(), trace=True)
    assert trace.spikes is not None
    for gap, spikes in zip(result.gap.layers, trace.spikes, strict=True):
        assert gap.rate_fixed == pytest.approx(spikes.mean())
        assert gap.silent_fixed == int((~spikes.any(axis=(0, 2))).sum())


def test_gap_in_parts_is_the_gap(fixed: FixedNetwork, net: Network, x: torch.Tensor) -> None:
    samples, graded = x.numpy(), fixed.encode(x.numpy())
    whole, parts = (measure_gap(fixed, net, samples, graded, None, chunk=n) for n in (12, 5))
    for ours, theirs in zip(whole.layers, parts.layers, strict=True):
        # only the order of float64 sums differs
        assert dataclasses.asdict(ours) == pytest.approx(dataclasses.asdict(theirs))


def test_gap_is_the_same_for_graded_spikes(
    fixed: FixedNetwork, net: Network, x: torch.Tensor
) -> None:
    floats = verify(fixed, net, x, targets=()).gap
    graded = verify(fixed, net, fixed.encode(x.numpy()), targets=()).gap
    assert floats is not None
    assert graded is not None
    assert graded.layers == floats.layers
    assert floats.layers[0].spike_agreement > 0.95
    assert floats.layers[0].rate_float > 0.02


def test_network_keeps_its_mode(fixed: FixedNetwork, net: Network, x: torch.Tensor) -> None:
    net.train()
    verify(fixed, net, x, targets=())
    assert net.training


def test_network_of_another_shape_is_refused(fixed: FixedNetwork, x: torch.Tensor) -> None:
    with pytest.raises(ValueError, match=r"expected 10×1, 12×10, 3×12 .* got 9×1, 3×9 weights"):
        verify(fixed, Network(1, (9,), 3, STEPS), x, targets=())


WRONG_LABELS = {
    "column": (np.zeros((12, 1), int), r"y: .* shape \(12, 1\); write y\.reshape\(-1\)"),
    "nan": (np.full(12, np.nan), r"y: .* found float64 of shape \(12,\)"),
    "fewer": (np.zeros(4, int), r"y: expected a class as an integer for each of 12 samples"),
    "beyond": (np.arange(12) % 4, r"y: expected classes 0\.\.2, got 0\.\.3"),
}


@pytest.mark.parametrize("kind", WRONG_LABELS)
def test_labels_that_are_no_classes_are_refused(
    kind: str, fixed: FixedNetwork, net: Network, x: torch.Tensor
) -> None:
    labels, message = WRONG_LABELS[kind]
    with pytest.raises(ValueError, match=message):
        verify(fixed, net, x, labels, targets=())
    with pytest.raises(ValueError, match=message):
        verify(fixed, net, x, torch.from_numpy(labels), targets=())


def test_labels_of_any_integer_type_give_accuracies(
    fixed: FixedNetwork, net: Network, x: torch.Tensor
) -> None:
    with torch.no_grad():
        labels = net(x).argmax(1).to(torch.uint8)
    gap = verify(fixed, net, x, labels, targets=()).gap
    assert gap is not None
    assert gap.accuracy_float == 1
    assert gap.accuracy_fixed == gap.prediction_agreement
