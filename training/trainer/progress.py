"""Where a training stands: for who watches it and, in the middle of an epoch, for a checkpoint."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn

from training.tasks import CLASS, Objective

WATCH_EVERY, WATCHED = 10, 16
"""Firing rates are taken at every tenth step, of that many samples."""


@dataclass(frozen=True)
class Progress:
    """Where a training stands; ``epoch`` counts finished epochs, ``score`` is the task's measure.

    ``validation`` is there at the end of an epoch only. ``rate`` is the hidden neurons' mean share
    of steps with a spike, where the network lets it be watched.
    """

    epoch: int
    epochs: int
    step: int
    steps: int
    loss: float
    score: float
    validation: float | None = None
    objective: Objective = CLASS
    rate: float | None = None
    steps_per_second: float | None = None
    seconds_left: float | None = None

    @property
    def accuracy(self) -> float:
        """The score, by the name that it has where classes are learnt."""
        return self.score


@dataclass
class Tally:
    """Sums over the steps of an epoch that are done; plain values, for a checkpoint."""

    step: int = 0
    loss: float = 0.0
    score: float = 0.0
    seen: int = 0
    skipped: int = 0
    rates: list[float] = field(default_factory=list)
    watched: int = 0
    seconds: float = 0.0

    def add(self, loss: float, score: float, count: int, skipped: bool) -> None:
        """Count a step: its mean loss, the sum of its scores, its samples."""
        self.step += 1
        self.loss += loss * count
        self.score += score
        self.seen += count
        self.skipped += skipped

    def watch(self, spikes: list[torch.Tensor]) -> None:
        """Add each layer's firing rate."""
        rates = [float(layer.detach().mean()) for layer in spikes]
        self.rates = [a + b for a, b in zip(self.rates or [0.0] * len(rates), rates, strict=True)]
        self.watched += 1

    @property
    def mean_rates(self) -> list[float]:
        """Firing rate of every hidden layer; empty if none was watched."""
        return [rate / self.watched for rate in self.rates]

    def means(self, measure: str) -> dict[str, float]:
        """Means over the samples seen."""
        return {"loss": self.loss / self.seen, measure: self.score / self.seen}


@torch.no_grad()
def look(net: nn.Module, x: torch.Tensor, tally: Tally) -> None:
    """Take firing rates now and then, if ``net`` shows its spikes.

    In a pass of its own, over a few samples and without dropout: a training that is looked at must
    not become another one.
    """
    if tally.step % WATCH_EVERY or not hasattr(net, "watch"):
        return
    shown: Any = net
    shown.watch = tally.watch
    net.eval()
    try:
        net(x[:WATCHED])
    finally:
        shown.watch = None
        net.train()


class Clock:
    """Speed of this process's steps, validations included, and the time that is left."""

    def __init__(self) -> None:
        self._began, self._steps = time.monotonic(), 0

    def tick(self) -> None:
        """Count a step."""
        self._steps += 1

    def speed(self) -> float:
        """Steps a second."""
        return self._steps / max(time.monotonic() - self._began, 1e-9)
