"""Trainings inside experiments: each in a folder of its own, gone on with where it stopped."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from torch import nn

from celif import console
from celif.experiments.machinery.stopwatch import Stopwatch
from training.support.atomic import atomic_file
from training.tasks import Task
from training.trainer.evaluation import evaluate
from training.trainer.loop import Trainer
from training.trainer.progress import Progress
from training.trainer.recipe import Recipe

Net = TypeVar("Net", bound=nn.Module)
SCORE = "score.json"


class Stopped(Exception):
    """Ends a training whose time is up."""


@dataclass(frozen=True)
class Trained:
    """What a training came to: its history by epoch and its test score.

    ``score`` is None if the loss overflowed, which ends a training, if time ran out
    (``finished`` is False then), or if it was not asked for. ``spent`` are processor seconds by
    epoch, without validation.
    """

    name: str
    history: list[dict[str, Any]]
    score: float | None
    parameters: int
    finished: bool = True
    spent: tuple[float, ...] = ()

    @property
    def percent(self) -> float | None:
        """The score as a percentage."""
        return None if self.score is None else 100 * self.score

    @property
    def seconds(self) -> float:
        """Time on the wall, validation included."""
        return sum(epoch["seconds"] for epoch in self.history)

    @property
    def validation(self) -> float:
        """The best validation, 0 if there is none."""
        return max((epoch["validation"] for epoch in self.history), default=0.0)

    def plain(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        curves = {name: [epoch[name] for epoch in self.history] for name in ("loss", "validation")}
        return {
            "score": self.score,
            "parameters": self.parameters,
            "seconds": round(self.seconds, 1),
            "processor_seconds": round(sum(self.spent), 1),
            **curves,
        }


def train(
    name: str,
    net: Net,
    task: Task,
    recipe: Recipe,
    out: Path,
    measured: bool = True,
    report: Callable[[Progress], None] | None = None,
    **options: Any,
) -> Trained:
    """Train ``net`` in ``out/name``, or go on with what is there.

    Parameters
    ----------
    name, net, task, recipe, out
        What is trained, how, and where.
    measured
        Whether to measure it on test data; those that are only to choose from are not.
    report
        Called after every step and epoch; what raises :class:`Stopped` leaves it unfinished.
    options
        Of :class:`training.trainer.loop.Trainer`.
    """
    watch = Stopwatch(out / name)

    def tell(progress: Progress) -> None:
        watch(progress)
        if report is not None:
            report(progress)

    trainer = Trainer(net, task, recipe, out / name, tell, **options)
    trainer.resume()
    score, finished = None, True
    try:
        trainer.run()
        if measured:
            score = _score(net, task, out / name)
    except FloatingPointError as error:
        console.warn(f"{name}: {error}")
    except Stopped:
        finished = False
    count = sum(p.numel() for p in net.parameters() if p.requires_grad)
    shown = f"{len(trainer.history)} of {recipe.epochs} epochs"
    if score is not None:
        shown = f"test {task.objective.name} {task.objective.text(score)}"
    console.note(f"{name}: {count:,} parameters, {shown}")
    return Trained(name, trainer.history, score, count, finished, tuple(watch.seconds))


def _score(net: nn.Module, task: Task, folder: Path) -> float:
    """The test score of a finished training, measured once."""
    score = known_score(folder)
    if score is None:
        score = evaluate(net, task.test, objective=task.objective)
        with atomic_file(folder / SCORE) as draft:
            draft.write_text(json.dumps(score), encoding="utf-8")
    return score


def known_score(folder: Path) -> float | None:
    """The test score of the training in ``folder``, if it was measured."""
    path = folder / SCORE
    return float(json.loads(path.read_text(encoding="utf-8"))) if path.is_file() else None
