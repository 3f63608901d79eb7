"""Trainings inside experiments: each in a folder of its own, gone on with where it stopped."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from torch import nn

from pipeline import console
from training.evaluation import evaluate
from training.recipe import Recipe
from training.tasks import Task
from training.trainer import Trainer

Net = TypeVar("Net", bound=nn.Module)


@dataclass(frozen=True)
class Trained:
    """What a training came to: its history by epoch and, if it learnt at all, its test score.

    ``score`` is None if the loss overflowed, which ends a training.
    """

    name: str
    history: list[dict[str, Any]]
    score: float | None
    parameters: int

    @property
    def percent(self) -> float | None:
        """The score as a percentage."""
        return None if self.score is None else 100 * self.score

    @property
    def seconds(self) -> float:
        """Time spent, validation included."""
        return sum(epoch["seconds"] for epoch in self.history)

    def plain(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        curves = {name: [epoch[name] for epoch in self.history] for name in ("loss", "validation")}
        return {
            "score": self.score,
            "parameters": self.parameters,
            "seconds": round(self.seconds, 1),
            **curves,
        }


def train(name: str, net: Net, task: Task, recipe: Recipe, out: Path) -> Trained:
    """Train ``net`` in ``out/name``, or go on with what is there, and measure it on test data."""
    trainer = Trainer(net, task, recipe, out / name)
    trainer.resume()
    score = None
    try:
        trainer.run()
        score = evaluate(net, task.test, objective=task.objective)
    except FloatingPointError as error:
        console.warn(f"{name}: {error}")
    count = sum(p.numel() for p in net.parameters() if p.requires_grad)
    shown = "diverged" if score is None else task.objective.text(score)
    console.say(f"{name}: {count:,} parameters, test {task.objective.name} {shown}")
    return Trained(name, trainer.history, score, count)
