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


def samples(count: int = 24, steps: int = STEPS) -> torch.Tensor:
    made = torch.Generator().manual_seed(1)
    return (torch.rand(count, INPUTS, steps, generator=made) < 0.4).float()


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


FACTORS = {
    "times-3": lambda h: h.mean(-1) * 3,
    "times-0.1": lambda h: h.mean(-1) * 0.1,
    "divided-by-7": lambda h: h.mean(-1) / 7,
    "sum-times-2": lambda h: 2 * h.sum(-1),
    "of-each-neuron": lambda h: h.mean(-1) * torch.linspace(0.5, 2, h.shape[1]).to(h),
}
"""Multiples of mean rates, without an nn.Linear."""

PLAIN = {
    "mean": lambda h: h.mean(-1),
    "sum": lambda h: h.sum(-1),
    "sum-divided": lambda h: h.sum(-1) / h.shape[-1],
    "mean-multiplied": lambda h: h.mean(-1) * h.shape[-1],
}
"""What a file without a readout gives."""


class Rates(nn.Module):
    """A layer of neurons, and what is made of its spikes."""

    def __init__(self, reading) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.first, self.a = nn.Linear(INPUTS, 8), CELIF(8, 49)  # 49 · (1 / 49) is not 1
        self.reading = reading
        with torch.no_grad():
            self.first.weight *= 4

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.reading(self.a(self.first(x.transpose(1, 2)).transpose(1, 2)))


@pytest.mark.parametrize("reading", [*FACTORS, *PLAIN])
def test_multiple_of_the_mean_is_exported_with_its_factor(reading: str, tmp_path: Path) -> None:
    net, x = Rates({**FACTORS, **PLAIN}[reading]), samples(8, 49)
    to_netx(net, tmp_path / "net.net", calibration=x)
    fixed = read_netx(tmp_path / "net.net")
    assert (fixed.readout is None) == (reading in PLAIN)
    if fixed.readout is None:
        return
    trace = simulate(fixed, x.numpy(), trace=True)
    fired = torch.from_numpy(trace.spikes[-1]).float()
    expected = net.reading(fired).numpy()
    found = trace.logits * 2.0**-fixed.readout.weight_exp / 49
    assert fired.any()
    # Each logit has one weight of 8 bits: off by half of a 64th of the largest, for rates up to 1.
    assert np.abs(found - expected).max() <= net.reading(torch.ones(1, 8, 49)).max() / 128


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


class Float32Only(Rates):
    """A classifier of rates in float32, of which one spike may be missing."""

    neuron, step = 0, 0

    def __init__(self, lost: bool) -> None:
        super().__init__(None)
        self.first, self.a = nn.Linear(INPUTS, 128), CELIF(128, 400)
        self.readout, self.lost = nn.Linear(128, CLASSES), lost
        with torch.no_grad():
            self.first.weight *= 4

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = self.a(self.first(x.transpose(1, 2)).transpose(1, 2))
        # The layers are read from two samples, which do not show what is missing.
        if self.lost and len(x) > 2:
            kept = torch.ones_like(h)
            kept[0, self.neuron, self.step] = 0
            h = h * kept
        return 10 * self.readout(h.mean(-1)).float()

    def lose_weakest(self, x: torch.Tensor) -> float:
        """Choose a spike that changes the logits little; return by how much."""
        with torch.no_grad():
            spikes = self.a(self.first(x.transpose(1, 2)).transpose(1, 2))[0]
            changes = 10 * self.readout.weight.abs().amax(0) / 400
        changes[~spikes.any(-1)] = torch.inf
        self.neuron = int(changes.argmin())
        self.step = int(spikes[self.neuron].nonzero()[0])
        return float(changes.min())


@pytest.mark.parametrize("lost", [False, True], ids=["whole", "one-lost"])
def test_rounding_hides_no_spike(lost: bool, tmp_path: Path) -> None:
    net, x = Float32Only(lost), samples(8, 400)
    change = net.lose_weakest(x)
    sizes = 10 * (net.readout.weight.abs().sum(1) + net.readout.bias.abs())
    assert change < (128 + 400 + FOLDED) * 2.0**-24 * sizes.min(), "less than rounding may be"
    if not lost:
        to_netx(net, tmp_path / "net.net", calibration=x)
        return
    with pytest.raises(ModelError, match="which may be a spike or float32's rounding"):
        to_netx(net, tmp_path / "net.net", calibration=x)


def test_spike_that_rounding_hides_is_refused_by_name(tmp_path: Path) -> None:
    net, x = Float32Only(lost=False), samples(8, 400)
    with torch.no_grad():
        net.readout.weight[:, 5] *= 1e-7
    message = (
        r"every spike of the last layer shows, .* Float32Only was .* it returns torch\.float32"
    )
    with pytest.raises(ModelError, match=message):
        to_netx(net, tmp_path / "net.net", calibration=x)
