"""verify: what counts as equal, as complete, and what the gap compares."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from export import FixedNetwork, read_netx, to_netx
from hw_tests import ladder
from pipeline import verify
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
    assert [r.verdict for r in result.rungs] == ["equal", "not run", "equal", "not run", "not run"]
    assert result.equal
    assert not result.complete


def test_nothing_asked_for_is_not_equal(fixed: FixedNetwork, x: torch.Tensor) -> None:
    assert not verify(fixed, None, x, targets=()).equal


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


def test_gap_knows_other_weights_and_keeps_the_mode(
    fixed: FixedNetwork, net: Network, x: torch.Tensor
) -> None:
    net.train()
    gap = verify(fixed, net, x, np.zeros(12), targets=()).gap
    assert gap is not None
    assert gap.same_source
    assert net.training
    with torch.no_grad():
        net.te.add_(1e-3)
    changed = verify(fixed, net, x, targets=()).gap
    assert changed is not None
    assert not changed.same_source


def test_network_of_another_shape_is_refused(fixed: FixedNetwork, x: torch.Tensor) -> None:
    with pytest.raises(ValueError, match=r"expected widths \[1, 10, 12, 3\] .* got \[1, 9, 3\]"):
        verify(fixed, Network(1, (9,), 3, STEPS), x, targets=())
