"""A moving average of the weights, which often generalises better than the last weights.

A ← d·A + (1 − d)·W after every update, with d = min(decay, (1 + n)/(10 + n)) after n of them: the
first weights are soon forgotten.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn


class Average:
    """Averages the weights of ``net`` from now on."""

    def __init__(self, net: nn.Module, decay: float) -> None:
        self.decay, self.updates = decay, 0
        self.weights = {name: value.clone() for name, value in net.state_dict().items()}

    @torch.no_grad()
    def update(self, net: nn.Module) -> None:
        """Add the present weights to the average."""
        self.updates += 1
        decay = min(self.decay, (1 + self.updates) / (10 + self.updates))
        for name, value in net.state_dict().items():
            if value.is_floating_point():
                self.weights[name].lerp_(value, 1 - decay)
            else:
                self.weights[name].copy_(value)

    @contextmanager
    def applied(self, net: nn.Module) -> Iterator[None]:
        """Give ``net`` the averaged weights inside the context."""
        raw = {name: value.clone() for name, value in net.state_dict().items()}
        net.load_state_dict(self.weights)
        try:
            yield
        finally:
            net.load_state_dict(raw)

    def load(self, weights: dict[str, Any], updates: int) -> None:
        """Continue from the average in a checkpoint."""
        self.updates = updates
        for name, value in weights.items():
            self.weights[name].copy_(value)
