"""The float side of verify is the network as its user calls it: ``net(x)``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from celif import verify
from celif.verification.float_run import run_float
from export import ModelError, to_netx
from training import Network

STEPS = 20


@pytest.fixture
def x() -> torch.Tensor:
    return torch.rand(8, 2, STEPS, generator=torch.Generator().manual_seed(2))


def blocks() -> list[Any]:
    pytest.importorskip("lava.lib.dl.slayer", reason="Lava is not installed")
    from training import block

    torch.manual_seed(1)
    params = {"steps": STEPS, "alpha": 0.5, "beta": 0.9, "theta0": 0.3}
    made = [block.Dense(params, 2, 9), block.Dense(params, 9, 9), block.Dense(params, 9, 4)]
    with torch.no_grad():
        for each in made:
            each.synapse.weight.mul_(3)
    return made


class Chain(nn.Module):
    """The blocks one after another, by a forward pass of its own."""

    def __init__(self, made: list[Any]) -> None:
        super().__init__()
        self.first, self.second, self.last = made

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.last(self.second(self.first(x)))


class Residual(Chain):
    """The second block's input reaches the last one, too."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        first = self.first(x)
        return self.last(first + self.second(first))


class Twice(Chain):
    """The second block runs twice: shared weights."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.last(self.second(self.second(self.first(x))))


def test_chain_of_its_own_is_equal(x: torch.Tensor, tmp_path: Path) -> None:
    net = Chain(blocks())
    to_netx(net, tmp_path / "net.net", calibration=x)
    result = verify(tmp_path / "net.net", net, x, targets=("torch", "twin"))
    assert result.equal, result
    assert result.gap is not None
    assert result.gap.otherwise is None
    assert all(layer.rate_float > 0.02 for layer in result.gap.layers)


@pytest.mark.parametrize("kind", [Residual, Twice], ids=["residual", "shared"])
def test_network_is_compared_as_it_computes(
    kind: type[Chain], x: torch.Tensor, tmp_path: Path
) -> None:
    net = kind(blocks())
    to_netx([net.first, net.second, net.last], tmp_path / "chain.net", calibration=x)
    with pytest.raises(ValueError, match="pass the network it was exported from"):
        verify(tmp_path / "chain.net", net, x, targets=("torch", "twin"))
    to_netx(net, tmp_path / "net.net", calibration=x)
    y = net(x).sum(-1).argmax(1)
    result = verify(tmp_path / "net.net", net, x, y, targets=("torch", "twin"))
    assert result.equal, result
    assert result.gap is not None
    assert result.gap.accuracy_float == 1.0, "the float side is the network itself"


class Reversed(Network):
    """A network whose own forward pass reads the samples backwards."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return super().forward(x.flip(-1))


def test_subclass_with_another_forward_pass_is_never_equal(x: torch.Tensor, tmp_path: Path) -> None:
    torch.manual_seed(3)
    plain = Network(2, (9, 12), 3, STEPS)
    with torch.no_grad():
        for layer in plain.layers:
            layer.weight.mul_(2)
    net = Reversed(2, (9, 12), 3, STEPS)
    net.load_state_dict(plain.state_dict())
    to_netx(plain, tmp_path / "net.net", calibration=x)
    assert verify(tmp_path / "net.net", plain, x, targets=("torch", "twin")).equal
    with pytest.raises(ModelError, match="samples or steps in another order"):
        verify(tmp_path / "net.net", net, x, targets=("torch", "twin"))


def test_modes_of_all_modules_are_put_back(x: torch.Tensor) -> None:
    net = Chain(blocks())
    net.train()
    net.second.eval()
    run_float(net, x.numpy())
    assert net.training
    assert net.last.training
    assert not net.second.training
