"""Networks as users write them climb the ladder, and are verified against their own forward."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

pytest.importorskip("lava.magma", reason="Lava is not installed")

from celif import verify
from export import quantize, to_netx
from export.tests.convert.users_modules import EXPORTED, made


@pytest.mark.parametrize("name", EXPORTED)
def test_network_equals_its_own_forward_on_every_rung(name: str, tmp_path: Path) -> None:
    net, x = made(EXPORTED[name])
    to_netx(net, tmp_path / "net.net", calibration=x)
    found = verify(tmp_path / "net.net", net, x, lava_samples=2)
    assert found.equal, found.to_dict()
    ran = {result.rung for result in found.rungs if result.verdict == "equal"}
    assert {1, 2, 3} <= ran
    assert found.source is not None
    assert found.source.equal
    assert found.gap is not None


@pytest.mark.parametrize("name", ["residual", "functional"])
def test_another_network_of_the_same_shape_is_noticed(name: str, tmp_path: Path) -> None:
    net, x = made(EXPORTED[name])
    to_netx(net, tmp_path / "net.net", calibration=x)
    with torch.no_grad():
        net.readout.weight[0] += 0.5
    found = verify(tmp_path / "net.net", net, x, targets=("twin",))
    assert found.differs


def test_quantisation_aware_module_is_verified(tmp_path: Path) -> None:
    net, x = made(EXPORTED["residual"])
    aware = quantize(net, x)
    to_netx(aware, tmp_path / "net.net")
    found = verify(tmp_path / "net.net", aware, x, targets=("torch", "twin"))
    assert found.source is not None
    assert found.source.equal
    assert not found.differs
