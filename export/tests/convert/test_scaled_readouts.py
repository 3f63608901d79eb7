"""Readouts that are a multiple of mean rates are exported, and another network is still refused.

The layers that are read from a forward pass add up the same numbers in another order than the pass
does, so that float32 rounds them differently; nothing else may differ.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F

from export import ModelError, read_netx, simulate, to_netx
from export.convert.reading.own_forward import FOLDED
from training import CELIF

STEPS, INPUTS, CLASSES = 20, 6, 3


class Reading(nn.Module):
    """Two layers of neurons, and a readout of a kind to be chosen."""

    def __init__(self, kind: str, width: int = 16, added: float = 0.0) -> None:
        super().__init__()
        self.kind, self.added = kind, added
        self.first, self.a = nn.Linear(INPUTS, width), CELIF(width, STEPS, width=1.0)
        self.second, self.b = nn.Linear(width, width), CELIF(width, STEPS, width=1.0)
        self.readout = nn.Linear(width, CLASSES)
        with torch.no_grad():
            self.first.weight *= 4
            self.second.weight *= 4

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = self.a(self.first(x.transpose(1, 2)).transpose(1, 2))
        h = self.b(self.second(h.transpose(1, 2)).transpose(1, 2))
        made = READINGS[self.kind](self.readout, h)
        # The layers are read from two samples, which do not show what is added.
        return made + self.added if len(x) > 2 else made


READINGS = {
    "sum": lambda readout, h: readout(h.sum(-1)),
    "mean-times-10": lambda readout, h: 10 * readout(h.mean(-1)),
    "mean-times-100": lambda readout, h: readout(h.mean(-1)) * 100,
    "divided-and-shifted": lambda readout, h: readout(h.mean(-1)) / 0.1 + 3,
    "sum-of-steps": lambda readout, h: readout(h.transpose(1, 2)).sum(1),
    "float32-inside": lambda readout, h: readout(h.double().sum(-1).float()),
    "float32-returned": lambda readout, h: 10 * readout(h.mean(-1)).float(),
}
"""Readings of spikes ``h``; the last two only run in float32."""


def samples(count: int = 24) -> torch.Tensor:
    made = torch.Generator().manual_seed(1)
    return (torch.rand(count, INPUTS, STEPS, generator=made) < 0.4).float()


def trained(net: nn.Module, x: torch.Tensor) -> nn.Module:
    labels = torch.arange(len(x)) % CLASSES
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
    for _ in range(3):
        optimizer.zero_grad()
        F.cross_entropy(net(x), labels).backward()
        optimizer.step()
    return net.eval()


@pytest.mark.parametrize("width", [8, 32, 64], ids="width{}".format)
@pytest.mark.parametrize("kind", READINGS)
def test_scaled_readout_is_exported_with_its_scale(kind: str, width: int, tmp_path: Path) -> None:
    x, path = samples(), tmp_path / "net.net"
    for seed in range(3):
        torch.manual_seed(seed)
        net = trained(Reading(kind, width), x)
        to_netx(net, path, calibration=x)
        fixed = read_netx(path)
        trace = simulate(fixed, x.numpy(), trace=True)
        found = trace.logits * 2.0**-fixed.readout.weight_exp / STEPS
        fired = torch.from_numpy(trace.spikes[-1]).float()
        with torch.no_grad():
            same_spikes = READINGS[kind](net.readout, fired).numpy()
            expected = net(x).numpy()
        scale = np.abs(expected).max()
        # Weights of 8 bits are within 1/128 of the largest, and the errors of both signs add up.
        assert np.abs(found - same_spikes).max() < 0.03 * scale
        # A few spikes of each neuron differ, because the layers' own weights have 8 bits.
        assert np.abs(found - expected).mean() < 0.1 * scale
        assert fired.any()


def rounding_of(net: Reading) -> float:
    """The most that float32 changes a logit of a sum: see ``own_forward._rounding``."""
    weight, bias = net.readout.weight.detach(), net.readout.bias.detach()
    sizes = STEPS * weight.abs().sum(1) + bias.abs()
    return float((weight.shape[1] + STEPS + FOLDED) * 2.0**-24 * sizes.max())


@pytest.mark.parametrize(
    ("kind", "what"),
    [("sum", "float64"), ("float32-inside", "float32")],
    ids=["float64", "float32"],
)
def test_difference_above_rounding_is_refused(kind: str, what: str, tmp_path: Path) -> None:
    x = samples()
    torch.manual_seed(0)
    net = trained(Reading(kind), x)
    size = float(net(x).abs().max())
    net.added = 3e-9 * (1 + size) if what == "float64" else 1.1 * rounding_of(net)
    assert net.added < 1e-3 * size, "much less than 8 bits of a weight are worth"
    with pytest.raises(ModelError, match=r"Reading\.forward computes another net") as refused:
        to_netx(net, tmp_path / "net.net", calibration=x)
    assert ("compared in float32" in str(refused.value)) == (what == "float32")
    assert not (tmp_path / "net.net").exists()
