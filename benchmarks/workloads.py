"""What is timed: a training step of ours, of SLAYER's ALIF, and its matrix products alone.

All three have the shape of the paper's larger network, 1 → 64 → 152 → 152 → 10 over 784 steps.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import nn
from torch.nn import functional as F

from training import Network

Step = Callable[[], torch.Tensor]
"""A forward and a backward pass; returns the loss."""


@dataclass(frozen=True)
class Shape:
    """Size of the network and of the batch."""

    in_features: int = 1
    hidden: tuple[int, ...] = (64, 152, 152)
    classes: int = 10
    steps: int = 784
    batch: int = 64

    def data(self) -> tuple[torch.Tensor, torch.Tensor]:
        """The inputs in 0..1, as pixels are, and labels, the same for everyone."""
        draw = torch.Generator().manual_seed(0)
        x = torch.rand(self.batch, self.in_features, self.steps, generator=draw)
        return x, torch.randint(self.classes, (self.batch,), generator=draw)

    def network(self) -> Network:
        """Our network of this shape."""
        torch.manual_seed(0)
        return Network(self.in_features, self.hidden, self.classes, self.steps)


QUICK = Shape(hidden=(8, 12, 12), steps=50, batch=4)
"""For a smoke test of the benchmark itself; its figures say nothing."""


def _step(net: nn.Module, x: torch.Tensor, y: torch.Tensor) -> Step:
    def run() -> torch.Tensor:
        net.zero_grad()
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        return loss.detach()

    return run


def celif_step(shape: Shape) -> Step:
    """Training step of our network."""
    return _step(shape.network(), *shape.data())


class AlifNetwork(nn.Module):
    """A stack of SLAYER's ALIF blocks with our readout.

    ALIF has no readout block; the mean over time before one small product is the cheapest there
    is, so it favours SLAYER. So does leaving out ``delay_shift``, which would cost a copy a layer.
    """

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        from lava.lib.dl.slayer.block import alif  # five seconds, and only here

        # Close to the paper's neuron: α = 0.5, β = 0.99, Θ0 = 0.3, no synaptic current to speak of.
        neuron = {
            "threshold": 0.3,
            "threshold_step": 0.1,
            "current_decay": 1.0,
            "voltage_decay": 0.5,
            "threshold_decay": 0.01,
            "refractory_decay": 0.5,
        }
        torch.manual_seed(0)
        self.blocks = nn.ModuleList(
            alif.Dense(dict(neuron), m, n, weight_scale=3, delay_shift=False)
            for m, n in itertools.pairwise((shape.in_features, *shape.hidden))
        )
        self.readout = nn.Linear(shape.hidden[-1], shape.classes)

    def hidden_spikes(self, x: torch.Tensor) -> list[torch.Tensor]:
        """Spikes of every block, (batch, neuron, time)."""
        spikes = []
        for block in self.blocks:
            x = block(x)
            spikes.append(x)
        return spikes

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Logits (batch, classes) of ``x`` (batch, channel, time)."""
        return self.readout(self.hidden_spikes(x)[-1].mean(-1))


def alif_step(shape: Shape) -> Step:
    """Training step of SLAYER's ALIF stack."""
    return _step(AlifNetwork(shape), *shape.data())


def firing_rates(shape: Shape) -> dict[str, list[float]]:
    """Spikes a step in every layer of both networks: silence would be a flattering workload."""
    x, _ = shape.data()
    with torch.no_grad():
        ours = [state.spikes for state in shape.network().hidden_states(x)]
        theirs = AlifNetwork(shape).hidden_spikes(x)
    return {
        name: [round(float(s.float().mean()), 4) for s in layers]
        for name, layers in (("celif", ours), ("alif", theirs))
    }


def products(shape: Shape) -> Callable[[], None]:
    """The products that autograd performs in a step of ours, with buffers that exist already.

    Forward one for every layer and the readout; backward one for every weight and, except for
    the input, one for what the layer received. Without biases.
    """
    rows = shape.batch * shape.steps
    draw = torch.Generator().manual_seed(0)
    widths = (shape.in_features, *shape.hidden)
    sizes = [(rows, m, n) for m, n in itertools.pairwise(widths)]
    sizes.append((shape.batch, shape.hidden[-1], shape.classes))

    def values(*size: int) -> torch.Tensor:
        return torch.rand(*size, generator=draw)

    layers = [
        (values(k, m), values(n, m), values(k, n), values(n, m), values(k, m)) for k, m, n in sizes
    ]

    def run() -> None:
        for x, weight, y, _, _ in layers:
            torch.mm(x, weight.t(), out=y)
        for i, (x, weight, grad_y, grad_weight, grad_x) in reversed(list(enumerate(layers))):
            torch.mm(grad_y.t(), x, out=grad_weight)
            if i > 0:
                torch.mm(grad_y, weight, out=grad_x)

    return run
