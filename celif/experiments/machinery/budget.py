"""Training runs with a budget of processor time instead of epochs.

A cosine needs the number of its steps beforehand, so steps are timed first and as many are planned
as the time allows.
"""

from __future__ import annotations

import importlib
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import nn

from celif.experiments.machinery.runs import Trained, train
from training.support import avx512, compiled
from training.support.atomic import atomic_file
from training.tasks import Source, Split, Task
from training.tasks.task import WHOLE, Batch
from training.trainer.recipe import Recipe


@dataclass(frozen=True)
class Portion:
    """Batches of ``split`` with ``steps`` of them called an epoch, however many samples it has."""

    split: Split
    steps: int
    batch: int

    @classmethod
    def of(cls, source: Source, epochs: float, batch: int) -> Portion:
        """The first batches of a split, as many as ``epochs`` of it have."""
        assert isinstance(source, Split)
        return cls(source, round(epochs * len(source) / batch), batch)

    @property
    def x(self) -> torch.Tensor:
        """Inputs of the split."""
        return self.split.x

    @property
    def y(self) -> torch.Tensor:
        """Targets of the split."""
        return self.split.y

    def __len__(self) -> int:
        return self.steps * self.batch

    def draw(self, seed: int, epoch: int, step: int, size: int, part: slice = WHOLE) -> Batch:
        """Batch after batch of the split, in one order after another; what is left over is left."""
        whole = max(1, len(self.split) // size)
        cycle, place = divmod(epoch * self.steps + step, whole)
        return self.split.draw(seed, cycle, place, size, part)


@dataclass(frozen=True)
class Spent:
    """A training run with its number of steps."""

    run: Trained
    steps: int

    @property
    def seconds(self) -> tuple[float, ...]:
        """Processor seconds of each epoch."""
        return self.run.spent

    @property
    def seconds_a_step(self) -> float:
        """Cost of a step in the last epoch; it changes as the neurons learn to fire."""
        return self.seconds[-1] * len(self.seconds) / self.steps


@contextmanager
def one_thread() -> Iterator[None]:
    """Torch and the compiled kernels on one thread, so that processor time is time that passed."""
    both: list[tuple[Any, int]] = [(torch, torch.get_num_threads())]
    if compiled.AVAILABLE:
        both.append((importlib.import_module("numba"), compiled.threads()))
    for library, _ in both:
        library.set_num_threads(1)
    try:
        yield
    finally:
        for library, threads in both:
            library.set_num_threads(threads)


def spend(
    name: str,
    net: nn.Module,
    task: Task,
    recipe: Recipe,
    out: Path,
    steps: int,
    measured: bool = True,
) -> Spent:
    """Train for about ``steps`` steps in the recipe's epochs, or resume what is there.

    The number of steps is kept in ``out/name``: a resumed run keeps its plan.
    """
    (out / name).mkdir(parents=True, exist_ok=True)
    plan = out / name / "plan.json"
    if not plan.is_file():
        with atomic_file(plan) as draft:
            draft.write_text(json.dumps(max(1, round(steps / recipe.epochs))), encoding="utf-8")
    each = json.loads(plan.read_text(encoding="utf-8"))
    assert isinstance(task.train, Split)  # streams have no end to go round
    portioned = replace(task, train=Portion(task.train, each, recipe.batch))
    # Checkpoints at the ends of epochs alone: the time up to them is what is known.
    run = train(name, net, portioned, recipe, out, measured, save_minutes=None)
    return Spent(run, each * recipe.epochs)


def seconds_a_step(net: nn.Module, task: Task, recipe: Recipe, steps: int = 4) -> float:
    """Processor seconds of a step of an untrained network; leaves no gradients behind."""
    took = []
    with avx512.products(next(net.parameters()).device):  # as the trainer does
        for i in range(steps + 1):
            x, y = task.train.draw(recipe.seed, 0, i, recipe.batch)
            began = time.process_time()
            task.objective.loss(net(x), y).backward()
            took.append(time.process_time() - began)
    net.zero_grad()
    return min(took[1:])  # the first compiles
