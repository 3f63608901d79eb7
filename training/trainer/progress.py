"""Progress of a training run: what a watcher sees, and what a mid-epoch checkpoint keeps."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn

from training.tasks import CLASS, Objective

WATCH_EVERY, WATCHED = 10, 16
"""Firing rates are measured at every tenth step, on this many samples."""


@dataclass(frozen=True)
class Progress:
    """Progress of a training run, as reported after every step and epoch.

    ``epoch`` counts finished epochs, and ``score`` is the task's measure. ``validation`` is known
    at the end of an epoch only. ``rate`` is the mean firing rate of the hidden neurons, for
    networks that can be watched.
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
        """The score, under its name in classification tasks."""
        return self.score


@dataclass
class Tally:
    """Sums over the finished steps of an epoch, as plain values for a checkpoint."""

    step: int = 0
    loss: float = 0.0
    score: float = 0.0
    seen: int = 0
    skipped: int = 0
    rates: list[float] = field(default_factory=list)
    watched: int = 0
    seconds: float = 0.0

    def add(self, loss: float, score: float, count: int, skipped: bool) -> None:
        """Add a step with its mean loss, the sum of its scores and its number of samples."""
        self.step += 1
        self.loss += loss * count
        self.score += score
        self.seen += count
        self.skipped += skipped

    def watch(self, spikes: list[torch.Tensor]) -> None:
        """Add the firing rate of each layer."""
        rates = [float(layer.detach().mean()) for layer in spikes]
        self.rates = [a + b for a, b in zip(self.rates or [0.0] * len(rates), rates, strict=True)]
        self.watched += 1

    @property
    def mean_rates(self) -> list[float]:
        """Mean firing rate of every hidden layer; empty if none was watched."""
        return [rate / self.watched for rate in self.rates]

    def means(self, measure: str) -> dict[str, float]:
        """Return the mean loss and score over the samples seen."""
        return {"loss": self.loss / self.seen, measure: self.score / self.seen}

    def progress(
        self,
        epoch: int,
        epochs: int,
        steps: int,
        speed: float,
        objective: Objective,
        validation: float | None,
    ) -> Progress:
        """Return the progress of a run of ``epochs`` epochs with ``steps`` steps each."""
        done = self.step + steps * (epoch - (validation is not None))
        rates = self.mean_rates
        return Progress(
            epoch,
            epochs,
            self.step,
            steps,
            **self.means("score"),
            validation=validation,
            objective=objective,
            rate=sum(rates) / len(rates) if rates else None,
            steps_per_second=speed,
            seconds_left=(epochs * steps - done) / speed,
        )

    def epoch(self, measure: str, validation: float, seconds: float) -> dict[str, Any]:
        """Return the figures of a finished epoch, as the history keeps them."""
        return {
            **self.means(measure),
            "validation": validation,
            "skipped": self.skipped,
            "rates": self.mean_rates,
            "seconds": seconds,
        }


@torch.no_grad()
def look(net: nn.Module, x: torch.Tensor, tally: Tally) -> None:
    """Measure firing rates at every tenth step, if ``net`` can be watched.

    This takes a forward pass of its own, over a few samples and without dropout, so that watching
    a run does not change it.
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


class StepTimer:
    """Measures the speed of this process's steps, validations included."""

    def __init__(self) -> None:
        self._began, self._steps = time.monotonic(), 0

    def tick(self) -> None:
        """Count a step."""
        self._steps += 1

    def speed(self) -> float:
        """Return the steps per second so far."""
        return self._steps / max(time.monotonic() - self._began, 1e-9)
