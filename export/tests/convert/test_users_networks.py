"""Networks as users write them: each is exported as its forward pass computes, or refused by name.

The float side of every case is the module itself, called as its user calls it.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F

from export import ModelError, read_netx, simulate, to_netx
from training import CELIF, Network, functional

STEPS, INPUTS, WIDTH, CLASSES = 20, 6, 10, 3


class Synapses(nn.Module):
    """Weights of every step's spikes, and neurons."""

    def __init__(self, inputs: int, outputs: int, gain: float = 4.0, **neuron) -> None:
        super().__init__()
        self.linear = nn.Linear(inputs, outputs)
        self.neurons = CELIF(outputs, STEPS, **neuron)
        with torch.no_grad():
            self.linear.weight *= gain

    def current(self, x: torch.Tensor) -> torch.Tensor:
        return self.linear(x.transpose(1, 2)).transpose(1, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.neurons(self.current(x))


class Base(nn.Module):
    """Two layers, and a classifier of mean rates."""

    def __init__(self) -> None:
        super().__init__()
        self.a = Synapses(INPUTS, WIDTH)
        self.b = Synapses(WIDTH, WIDTH, 5.0)
        self.readout = nn.Linear(WIDTH, CLASSES)


class Residual(Base):
    def forward(self, x):
        h = self.a(x)
        return self.readout((self.b(h) + h).mean(-1))


class ResidualCurrent(Base):
    """As the authors' own network for SHD: layer 1's current is added to layer 2's."""

    def forward(self, x):
        current = self.a.current(x)
        h = self.a.neurons(current)
        return self.readout(self.b.neurons(self.b.current(h) + current).mean(-1))


class Branch(Base):
    def __init__(self) -> None:
        super().__init__()
        self.c = Synapses(INPUTS, 7)
        self.readout = nn.Linear(WIDTH + 7, CLASSES)

    def forward(self, x):
        both = torch.cat([self.b(self.a(x)), self.c(x)], 1)
        return self.readout(both.mean(-1))


class Shared(Base):
    def forward(self, x):
        return self.readout(self.b(self.b(self.a(x))).mean(-1))


class Functional(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.w = nn.Parameter(torch.randn(WIDTH, INPUTS))
        self.v = nn.Parameter(torch.randn(WIDTH, WIDTH))
        self.te = nn.Parameter(torch.normal(0.01, 0.01, (WIDTH, STEPS)))
        self.readout = nn.Linear(WIDTH, CLASSES)

    def forward(self, x):
        h = functional.celif(self.w @ x, self.te)
        h = functional.celif(torch.matmul(self.v, h) * 0.9, self.te, beta=0.9)
        return self.readout(h.sum(-1) / h.shape[-1])


class Nested(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Sequential(Synapses(INPUTS, WIDTH)), nn.Sequential(nn.Identity(), Synapses(WIDTH, 8))
        )
        self.readout = nn.Linear(8, CLASSES)

    def forward(self, x):
        return self.readout(self.body(x).mean(-1))


class OtherOrder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.readout = nn.Linear(WIDTH, CLASSES)
        self.second = Synapses(WIDTH, WIDTH, 5.0)
        self.first = Synapses(INPUTS, WIDTH)

    def forward(self, x):
        return self.readout(self.second(self.first(x)).mean(-1))


class OwnForward(Network):
    def forward(self, x):
        spikes = self.hidden_states(x)[-1].spikes
        return self.readout(spikes.mean(-1)) * 0.5


class Normalised(Base):
    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.BatchNorm1d(WIDTH)

    def forward(self, x):
        h = self.a.neurons(self.norm(self.a.current(x)))
        return self.readout(self.b(h).mean(-1))


class Dropped(Base):
    def __init__(self) -> None:
        super().__init__()
        self.drop = nn.Dropout(0.5)

    def forward(self, x):
        h = F.dropout(self.drop(self.a(x)), 0.2, self.training)
        return self.readout(self.b(h).mean(-1))


class NeuronOnly(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.synapses = nn.Linear(INPUTS, WIDTH)
        self.neurons = CELIF(WIDTH, STEPS)

    def forward(self, x):
        return self.neurons(4 * self.synapses(x.transpose(1, 2)).transpose(1, 2))


class PerNeuronAlpha(Functional):
    """Decays of every neuron, one of them a parameter of the user's own."""

    def __init__(self) -> None:
        super().__init__()
        self.decay = nn.Parameter(torch.linspace(-2, 2, WIDTH))

    def forward(self, x):
        beta = torch.linspace(0.5, 0.99, WIDTH)
        return functional.celif(self.w @ x, self.te, torch.sigmoid(self.decay), beta).mean(-1)


class LearntDecays(Base):
    """The module's own decays, residual: layers with different decays meet in one of the file."""

    def __init__(self) -> None:
        super().__init__()
        self.b.neurons = CELIF(WIDTH, STEPS, alpha=0.7, learn_alpha=True, learn_beta=True)
        with torch.no_grad():
            for p in self.b.neurons.decays.parameters():
                p.add_(torch.linspace(-2, 1, WIDTH))

    def forward(self, x):
        h = self.a(x)
        return self.readout((self.b(h) + h).mean(-1))


class SideBySide(Base):
    """Two branches of neurons with different decays, which become one layer of the file."""

    def __init__(self) -> None:
        super().__init__()
        self.c = Synapses(INPUTS, WIDTH)
        self.c.neurons = CELIF(WIDTH, STEPS, alpha=0.9, beta=0.8)

    def forward(self, x):
        return self.readout(self.b(self.a(x) + self.c(x)).mean(-1))


class NoDecay(PerNeuronAlpha):
    def forward(self, x):
        alpha = torch.where(torch.arange(WIDTH) == 3, 0.9999, 0.5)
        return functional.celif(self.w @ x, self.te, alpha).mean(-1)


class AlphaInTime(Functional):
    def forward(self, x):
        return functional.celif(self.w @ x, self.te, torch.rand(WIDTH, STEPS)).mean(-1)


class AlphaOfInput(Functional):
    def forward(self, x):
        alpha = x.mean((0, 1, 2)).expand(WIDTH)
        return functional.celif(self.w @ x, self.te, alpha).mean(-1)


class TwoInputs(Base):
    def forward(self, x, y):
        return self.readout(self.b(self.a(x + y)).mean(-1))


class Images(nn.Module):
    """Convolution, normalisation, average pooling and flattening of torch's own."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(1, 4, 3, padding=1)
        self.norm = nn.BatchNorm2d(4)
        self.first = CELIF(4, STEPS)
        self.pool = nn.AvgPool2d(2)
        self.second = Synapses(16, WIDTH, 6.0)
        self.readout = nn.Linear(WIDTH, CLASSES)

    def forward(self, x):
        batch, steps = len(x), x.shape[-1]
        images = x.movedim(-1, 1).flatten(0, 1)
        current = self.norm(3 * self.conv(images)).unflatten(0, (batch, steps)).movedim(1, -1)
        pooled = self.pool(self.first(current).movedim(-1, 1).flatten(0, 1))
        h = pooled.flatten(1).reshape(batch, steps, -1).transpose(1, 2)
        return self.readout(self.second(h).mean(-1))


EXPORTED: dict[str, Callable[[], nn.Module]] = {
    "residual": Residual,
    "residual-current": ResidualCurrent,
    "branch": Branch,
    "shared-weights": Shared,
    "functional": Functional,
    "nested": Nested,
    "other-order": OtherOrder,
    "own-forward": lambda: OwnForward(INPUTS, (12, 8), CLASSES, STEPS),
    "batch-norm": Normalised,
    "dropout": Dropped,
    "neuron-only": NeuronOnly,
    "images": Images,
    "per-neuron-alpha": PerNeuronAlpha,
    "learnt-decays": LearntDecays,
    "side-by-side": SideBySide,
}


def made(build: Callable[[], nn.Module]) -> tuple[nn.Module, torch.Tensor]:
    """A network with statistics of its own, and spikes that it responds to."""
    torch.manual_seed(5)
    net = build()
    shape = (16, 1, 4, 4, STEPS) if isinstance(net, Images) else (16, INPUTS, STEPS)
    x = (torch.rand(shape, generator=torch.Generator().manual_seed(1)) < 0.4).float()
    with torch.no_grad():
        for _ in range(3):  # running statistics
            net.train()(x)
    return net, x


@pytest.mark.parametrize("build", EXPORTED.values(), ids=EXPORTED)
def test_export_computes_what_the_forward_pass_does(build, tmp_path: Path):
    net, x = made(build)
    report = to_netx(net, tmp_path / "net.net", calibration=x)
    fixed = read_netx(tmp_path / "net.net")
    assert len(report.layers) == len(fixed.layers)
    with torch.no_grad():
        expected = net.eval()(x)
    if expected.ndim > 2:
        expected = expected.mean(-1)
    unit = 1.0 if fixed.readout is None else 2.0**-fixed.readout.weight_exp
    found = simulate(fixed, x.numpy()).logits * unit / STEPS
    assert expected.std() > 0.01
    # Eight bits of weights and 8 of TE: rates differ by a spike or two of 20.
    difference = np.abs(found - expected.numpy()).max()
    assert difference < 0.12 * max(1.0, float(expected.abs().max())), difference


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (
            NoDecay,
            r"layer 0 alpha: expected 0 up to 0\.99988, got 0\.999\d* among them",
        ),
        (
            AlphaInTime,
            r"alpha: expected a number or 10 values, one per neuron, got shape \(10, 20\)",
        ),
        (AlphaOfInput, r"expected a weighted sum of spikes, got .*mean in AlphaOfInput"),
        (
            TwoInputs,
            r"network forward: expected one input, as a file has, got TwoInputs\.forward\(x, y\); "
            r"join them along the channels",
        ),
    ],
)
def test_what_a_file_cannot_hold_is_refused_by_name(build, message, tmp_path):
    torch.manual_seed(5)
    x = (torch.rand(8, INPUTS, STEPS) < 0.4).float()
    with pytest.raises(ModelError, match=message):
        to_netx(build(), tmp_path / "net.net", calibration=x)


def test_calibration_of_several_inputs_is_refused_with_the_remedy(tmp_path):
    samples = torch.rand(8, INPUTS, STEPS), torch.rand(8, 2, STEPS)
    with pytest.raises(ModelError, match=r"if these are several inputs, join them along the chan"):
        to_netx(TwoInputs(), tmp_path / "net.net", calibration=samples)


def test_inputs_that_are_joined_along_the_channels_are_exported(tmp_path):
    class Joined(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.one, self.other = nn.Linear(INPUTS, WIDTH), nn.Linear(INPUTS, WIDTH)
            self.neurons, self.readout = CELIF(WIDTH, STEPS), nn.Linear(WIDTH, CLASSES)

        def forward(self, xy):
            x, y = xy[:, :INPUTS].transpose(1, 2), xy[:, INPUTS:].transpose(1, 2)
            current = self.one(x) + self.other(y)
            return self.readout(self.neurons(current.transpose(1, 2)).mean(-1))

    torch.manual_seed(5)
    net, x = Joined(), (torch.rand(8, 2 * INPUTS, STEPS) < 0.4).float()
    to_netx(net, tmp_path / "net.net", calibration=x)
    fixed = read_netx(tmp_path / "net.net")
    assert fixed.encoding.channels == 2 * INPUTS
    with torch.no_grad():
        expected = net(x).numpy()
    found = simulate(fixed, x.numpy()).logits * 2.0**-fixed.readout.weight_exp / STEPS
    assert expected.std() > 0.01
    assert np.abs(found - expected).max() < 0.12 * max(1.0, np.abs(expected).max())


@pytest.mark.parametrize("kind", ["lif", "alif"])
def test_neurons_of_other_kinds_are_followed(kind, tmp_path):
    class Other(Base):
        def __init__(self) -> None:
            super().__init__()
            self.a = Synapses(INPUTS, WIDTH, kind=kind)
            self.b = Synapses(WIDTH, WIDTH, 5.0, kind=kind)

        def forward(self, x):
            return self.readout(self.b(self.a(x)).mean(-1))

    net, x = made(Other)
    to_netx(net, tmp_path / "net.net", calibration=x)
    fixed = read_netx(tmp_path / "net.net")
    assert {layer.kind for layer in fixed.layers} == {kind.upper()}
    found = simulate(fixed, x.numpy()).logits * 2.0**-fixed.readout.weight_exp / STEPS
    with torch.no_grad():
        np.testing.assert_allclose(found, net.eval()(x).numpy(), atol=0.1)


def test_relays_fire_at_the_steps_of_their_source(tmp_path):
    net, x = made(Residual)
    to_netx(net, tmp_path / "net.net", calibration=x)
    first, second = simulate(tmp_path / "net.net", x.numpy(), trace=True).spikes
    np.testing.assert_array_equal(second[:, WIDTH:], first)
    assert first.any()


@pytest.mark.parametrize("bits", [2, 3])
def test_relays_survive_few_bits(bits, tmp_path):
    net, x = made(Residual)
    with torch.no_grad():
        net.b.linear.weight[0, 0] = 40.0  # compared with which 1.25·Θ0 is little
        net.b.linear.weight[1:] *= 0.01
    to_netx(net, tmp_path / "net.net", calibration=x, weight_bits=bits)
    first, second = simulate(tmp_path / "net.net", x.numpy(), trace=True).spikes
    np.testing.assert_array_equal(second[:, WIDTH:], first)
