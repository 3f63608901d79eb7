"""Sequential digits in five folds: each image is tested by a network that never saw it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import torch

from pipeline.demo import DROPOUT, HIDDEN, RECIPE
from training import tasks
from training.network import Network
from training.tasks import Split, Task
from training.trainer import Recipe, Trainer, start

FOLDS = 5


def fold(task: Task, index: int) -> tuple[Task, Split, Split]:
    """The task with the rest of its images for training and a fifth for testing, and these two.

    Nothing is chosen by validation accuracy, so no image is set aside for it: the trainer watches
    a part of the training images instead.
    """
    parts = [task.test, task.validation, task.train]  # in the order of the task's own shuffle
    assert all(isinstance(part, Split) for part in parts)
    x, y = torch.cat([part.x for part in parts]), torch.cat([part.y for part in parts])
    tested = torch.arange(len(y)) % FOLDS == index
    train, test = Split(x[~tested], y[~tested]), Split(x[tested], y[tested])
    watched = Split(train.x[:144], train.y[:144])
    name = f"{task.name}-fold-{index}"
    return replace(task, name=name, train=train, validation=watched, test=test), train, test


class Fold(NamedTuple):
    """A trained network, what it was trained on and what it has not seen."""

    net: Network
    train: Split
    test: Split


def train(seed: int, folder: Path, recipe: Recipe = RECIPE) -> Fold:
    """The network of fold ``seed`` mod 5, trained by the demo's recipe from that seed.

    A run that is in ``folder`` already is taken as it is, or goes on from where it was.
    """
    task, train, test = fold(tasks.load("digits"), seed % FOLDS)
    recipe = replace(recipe, seed=seed)
    net = start(task, HIDDEN, recipe, dropout=DROPOUT)
    training = Trainer(net, task, recipe, folder / f"seed-{seed}")
    training.resume()
    return Fold(training.run(), train, test)
