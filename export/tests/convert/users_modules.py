"""Networks as users write them, for the tests of what an export makes of them."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import nn
from torch.nn import functional as F

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
