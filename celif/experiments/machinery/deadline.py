"""Training runs with a deadline: they stop at the end of an epoch and resume from there.

Runs that were not chosen, or came too late, are reported as far as they are on disk or in a record.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from torch import nn

from celif.experiments.machinery.experiment import Settings
from celif.experiments.machinery.runs import (
    Stopped,
    Trained,
    begun,
    known_score,
    parameters,
    recorded,
    train,
)
from celif.experiments.machinery.stopwatch import Stopwatch
from training.tasks import Task
from training.trainer.progress import Progress
from training.trainer.recipe import Recipe
from training.trainer.run_folder import METRICS, Epoch


@dataclass(frozen=True)
class Sitting:
    """What may be trained now: runs whose names contain one of ``only``, until ``end``.

    Parameters
    ----------
    out
        Folder of the experiment's run.
    only
        Parts of names; empty for all.
    end
        When to stop, by :func:`time.monotonic`; None for never.
    """

    out: Path
    only: tuple[str, ...] = ()
    end: float | None = None

    @classmethod
    def of(cls, settings: Settings) -> Sitting:
        """Start the sitting that a user asked for."""
        minutes = settings.minutes
        end = None if minutes is None else time.monotonic() + 60 * minutes
        return cls(settings.out, settings.only, end)

    @property
    def over(self) -> bool:
        """Whether the time is up."""
        return self.end is not None and time.monotonic() >= self.end

    def report(self, progress: Progress) -> None:
        """Called by the trainer after every step; stops it where it has just been saved."""
        # With the first step of an epoch that one step is lost, with any other those before it.
        if progress.validation is None and progress.step == 1 and self.over:
            raise Stopped

    def train(
        self,
        name: str,
        make: Callable[[], nn.Module],
        task: Task,
        recipe: Recipe,
        measured: bool = False,
        control: Callable[[nn.Module], object] | None = None,
        prepare: Callable[[], Task | None] | None = None,
    ) -> Trained:
        """Train a model in the folder ``name`` while there is time, or return what is known.

        ``prepare`` makes the task to train on, if that takes long; None if there was no time.
        """
        net, folder = make(), self.out / name
        known = recorded(folder, recipe, net, len(task.train))
        if known is not None and known.finished and (control is None or known.controlled):
            return known
        if not self.over and (not self.only or any(part in name for part in self.only)):
            ready = task if prepare is None else prepare()
            if ready is not None:
                return train(
                    name, net, ready, recipe, self.out, measured, self.report, control=control
                )
        if known is not None and not (folder / METRICS).is_file():
            return known
        history = begun(folder, recipe, net, len(task.train))
        if not history:
            return Trained(name, [], None, parameters(net), finished=False)
        finished, spent = len(history) >= recipe.epochs, tuple(Stopwatch(folder).seconds)
        return Trained(name, history, known_score(folder), parameters(net), finished, spent)


def steps_an_epoch(task: Task, recipe: Recipe) -> int:
    """Steps of the optimiser in an epoch."""
    return -(-len(task.train) // recipe.batch)


def how_far(history: list[Epoch], task: Task, recipe: Recipe) -> str:
    """Say how far an unfinished training run came; empty for a finished one."""
    done, each = len(history), steps_an_epoch(task, recipe)
    if done >= recipe.epochs:
        return ""
    planned = recipe.epochs * each
    return f"stopped after {done * each:,} of {planned:,} steps" if done else "not begun"
