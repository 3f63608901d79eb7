"""What is minimised while learning, and the measure that a network is judged by."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch.nn import functional as F

from training.tasks.labels import class_labels

Measure = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


@dataclass(frozen=True)
class Objective:
    """A loss and a measure of a network's outputs against the targets.

    Parameters
    ----------
    name
        Of the measure.
    loss
        Mean over the samples of a batch.
    scores
        The measure of every sample, whose mean is reported.
    targets
        Type of the targets.
    readout
        What of a :class:`training.Network` fits: logits for a sample or for every step.
    lower_is_better
        Which way the measure improves.
    of_classes
        Whether the targets are a class for each sample.
    """

    name: str
    loss: Measure
    scores: Measure
    targets: torch.dtype = torch.int64
    readout: str = "mean"
    lower_is_better: bool = False
    of_classes: bool = False

    def text(self, score: float) -> str:
        """A score to be read: a share in percent, an error as a number."""
        return f"{score:.5f}" if self.lower_is_better else f"{score:.2%}"

    def better(self, new: float, old: float) -> bool:
        """Whether ``new`` is at least as good as ``old``."""
        return new <= old if self.lower_is_better else new >= old

    def best(self, measured: list[float]) -> int:
        """Index of the best value; of equal ones the last, which was trained longer."""
        best = 0
        for i, value in enumerate(measured):
            if self.better(value, measured[best]):
                best = i
        return best


def _hits(logits: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    if logits.ndim != 2:
        raise ValueError(
            f"outputs: expected (sample, class), got shape {tuple(logits.shape)}; sum or average "
            "them over time"
        )
    # Labels (sample, 1) would be compared with the answers for all samples, without an error.
    class_labels("labels", y, *logits.shape)
    return (logits.argmax(1) == y).double()


def _squares(outputs: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return (outputs.reshape(y.shape) - y).square().double().reshape(len(y), -1).mean(1)


def _square_loss(outputs: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return F.mse_loss(outputs.reshape(y.shape), y)


def _recalled(logits: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    asked = y != 0
    return ((logits.argmax(1) == y) & asked).sum(1).double() / asked.sum(1).clamp(min=1)


CLASS = Objective("accuracy", F.cross_entropy, _hits, of_classes=True)
"""A class for each sample; targets (sample,), outputs (sample, class)."""

VALUE = Objective("mse", _square_loss, _squares, torch.float32, lower_is_better=True)
"""Numbers for each sample; targets (sample,) or (sample, value), outputs (sample, value)."""

STEPS = Objective("recall", F.cross_entropy, _recalled, readout="steps")
"""A class at every step; targets (sample, time), outputs (sample, class, time).

The measure is the accuracy where the target is not 0, the symbol for nothing.
"""


def require_classes(objective: Objective, name: str) -> None:
    """Raise a ValueError unless it is a class for each sample, which integers are judged by."""
    if not objective.of_classes:
        raise ValueError(
            f"{name}: expected a task with a class for each sample, which integers are judged by, "
            f"got one measured by {objective.name}"
        )
