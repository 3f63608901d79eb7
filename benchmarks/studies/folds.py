"""Sequential digits in five folds: each image is tested by a network that never saw it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import NamedTuple, TypeVar

import torch
from torch import nn

from celif.demo import DROPOUT, HIDDEN, RECIPE
from training import tasks
from training.network.network import Network
from training.tasks import Split, Task
from training.trainer.loop import Recipe, Trainer, start

FOLDS = 5

Net = TypeVar("Net", bound=nn.Module)


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
    """A trained network, what it was trained on, what it has not seen, and where its run lies."""

    net: Network
    task: Task
    train: Split
    test: Split
    folder: Path


def train(seed: int, folder: Path, recipe: Recipe = RECIPE) -> Fold:
    """The network of fold ``seed`` mod 5, trained by the demo's recipe from that seed.

    A run that is in ``folder`` already is taken as it is, or goes on from where it was.
    """
    task, train, test = fold(tasks.load("digits"), seed % FOLDS)
    recipe = replace(recipe, seed=seed)
    net = start(task, HIDDEN, recipe, dropout=DROPOUT)
    home = folder / f"seed-{seed}"
    return Fold(_trained(net, task, recipe, home), task, train, test, home)


def train_on(fold: Fold, net: Net, recipe: Recipe, name: str) -> Net:
    """``net`` trained further on the fold's images, in a folder ``name`` of the fold's own."""
    return _trained(net, fold.task, recipe, fold.folder / name)


def _trained(net: Net, task: Task, recipe: Recipe, folder: Path) -> Net:
    training = Trainer(net, task, recipe, folder)
    training.resume()
    training.run()
    return net
