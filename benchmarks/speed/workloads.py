"""What is timed: a training step, and our matrix products alone.

All have the shape of the paper's larger network, 1 → 64 → 152 → 152 → 10 over 784 steps. The
the networks that it is compared with are in :mod:`benchmarks.peers.peers`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F

from training import Network

Step = Callable[[], torch.Tensor]
"""A forward and a backward pass; returns the loss."""


@dataclass(frozen=True)
class Workload:
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

    def network(self, backend: str = "auto", busy: bool = False) -> Network:
        """Our network of this shape, fresh, or as ``busy`` as a trained one.

        A fresh network's layers fire at 2 to 8 % of the steps, those of models/seq-mnist-88 at 15
        to 50 %; busy ones fire at 22, 41 and 45 %.
        """
        torch.manual_seed(0)
        net = Network(self.in_features, self.hidden, self.classes, self.steps, backend=backend)
        if busy:
            with torch.no_grad():
                layer: Any
                for i, layer in enumerate(net.layers):
                    layer.weight *= 2 if i == 0 else 6
                    layer.bias += 0.2
        return net


PAPER = Workload(batch=256)
"""The paper's batch, at which a step is compared with its matrix products."""

QUICK = Workload(hidden=(8, 12, 12), steps=50, batch=4)
"""For a smoke test of the benchmark itself; its figures say nothing."""


def training_step(net: nn.Module, shape: Workload) -> Step:
    """Training step of ``net`` on the data of this shape."""
    x, y = shape.data()

    def run() -> torch.Tensor:
        net.zero_grad()
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        return loss.detach()

    return run


def products(shape: Workload) -> Callable[[], None]:
    """The products that autograd performs in one of our steps, with buffers that exist already.

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
