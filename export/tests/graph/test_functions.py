"""Single functions of torch in a forward pass: each becomes weights, or is refused by its name."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import nn

from export import ModelError, read_netx, simulate, to_netx
from training import CELIF

STEPS, INPUTS, WIDTH = 20, 6, 9


class OneLayer(nn.Module):
    """A layer whose current is computed by a function of its own."""

    def __init__(self, current) -> None:
        super().__init__()
        self.weight = nn.Parameter(2 * torch.randn(WIDTH, INPUTS))
        self.neurons = CELIF(WIDTH, STEPS)
        self.current = current

    def forward(self, x):
        return self.neurons(self.current(self.weight, x))


@pytest.fixture
def x() -> torch.Tensor:
    return (torch.rand(8, INPUTS, STEPS, generator=torch.Generator().manual_seed(0)) < 0.4).float()


def exported(current, x: torch.Tensor, folder: Path) -> tuple[OneLayer, torch.Tensor]:
    torch.manual_seed(0)
    net = OneLayer(current)
    to_netx(net, folder / "net.net", calibration=x)
    fixed = read_netx(folder / "net.net")
    trace = simulate(fixed, fixed.encode(x.numpy()), trace=True)
    return net, torch.from_numpy(trace.spikes[0]).float()


def einsum(equation: str, turn: bool = False):
    def current(weight: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        weight = weight.t() if turn else weight
        first = equation.startswith(("oi", "io"))
        return torch.einsum(equation, *((weight, x) if first else (x, weight)))

    return current


@pytest.mark.parametrize(
    ("equation", "turn"),
    [("oi,bit->bot", False), ("bit,oi->bot", False), ("io, bit -> bot", True)],
)
def test_einsum_with_a_matrix_becomes_weights(equation, turn, x, tmp_path) -> None:
    net, spikes = exported(einsum(equation, turn), x, tmp_path)
    plain, other = exported(lambda weight, x: weight @ x, x, tmp_path)
    assert 0.02 < spikes.mean() < 0.98
    assert torch.equal(spikes, other)
    torch.testing.assert_close(net(x), plain(x))


@pytest.mark.parametrize(
    ("equation", "why"),
    [("oi,bit->bo", "no product along one axis"), ("oi,b...->bo...", "other than that of a value")],
)
def test_other_einsums_are_refused_by_name(equation, why, x, tmp_path) -> None:
    def current(weight, x):
        if "..." in equation:
            return torch.einsum("oi,bi...->bo...", weight, x)
        return torch.einsum(equation, weight, x)[..., None].expand(-1, -1, STEPS)

    with pytest.raises(ModelError, match=rf"{why}.*einsum in OneLayer"):
        exported(current, x, tmp_path)


@pytest.mark.parametrize("reading", ["bool", "item"])
def test_forward_that_reads_its_tensors_warns_of_it(reading, x, tmp_path) -> None:
    def current(weight, x):
        large = x.mean() > 0.2 if reading == "bool" else x.mean().item() > 0.2
        return (2 if large else 1) * (weight @ x)

    with pytest.warns(UserWarning, match="OneLayer reads numbers out of its tensors"):
        _, spikes = exported(current, x, tmp_path)
    assert spikes.any()
