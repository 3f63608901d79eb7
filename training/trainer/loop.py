"""Training: seeded, on one process or several, and resumable bit for bit from any step.

Every batch is a function of seed, epoch and step, and a checkpoint holds weights, optimiser, random
state and the sums of a half-finished epoch. So a resumed run ends with the same weights as an
undisturbed one.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any, Generic, TypeVar

import torch
from torch import nn

from training import checkpoint
from training.network.network import Network
from training.support import openmp
from training.tasks import Source, Task
from training.trainer import run_state
from training.trainer.augment import Augmented
from training.trainer.average import Average
from training.trainer.distributed import SEED_STRIDE, Group
from training.trainer.evaluation import evaluate, placed
from training.trainer.progress import Clock, Progress, Tally, look
from training.trainer.recipe import Recipe
from training.trainer.run_folder import BEST, LAST, METRICS, Board, Epoch, RunFolder

__all__ = ["BEST", "LAST", "METRICS", "Progress", "Recipe", "Trainer", "evaluate", "start"]

Net = TypeVar("Net", bound=nn.Module)


class Trainer(Generic[Net]):
    """Trains ``net`` on ``task``; the run's folder ``out`` holds checkpoints and metrics.

    Under ``torch.distributed`` every process makes one of these with the same arguments; the first
    alone reports and writes.

    Parameters
    ----------
    net, task, recipe
        What is trained, on what, and how. Any module will do whose outputs fit the task's
        objective. Seed torch before building it, or use :func:`start`.
    out
        Folder of the run, made if need be.
    report
        Called with a :class:`Progress` after every step and epoch.
    save_minutes, save_steps
        A checkpoint is written after every epoch and, in between, after so many minutes or steps;
        None for not.
    tensorboard
        Write the metrics for TensorBoard, too.
    origin
        Where the first weights come from, if not from the recipe's seed; kept with the run.
    """

    def __init__(
        self,
        net: Net,
        task: Task,
        recipe: Recipe,
        out: str | Path,
        report: Callable[[Progress], None] = lambda progress: None,
        *,
        save_minutes: float | None = 5.0,
        save_steps: int | None = None,
        tensorboard: bool = False,
        origin: str | None = None,
    ) -> None:
        _require_fit(net, task)
        openmp.warn_if_late()
        self.origin = origin
        self.net, self.task, self.recipe, self.report = net, task, recipe, report
        self.save_minutes, self.save_steps, self.tensorboard = save_minutes, save_steps, tensorboard
        self.folder, self.group = RunFolder(out), Group()
        self.source: Source = task.train
        if recipe.augment != "none":
            self.source = Augmented(task.train, recipe.augment, task.image, recipe.augment_epochs)
        self.steps_per_epoch = math.ceil(len(task.train) / recipe.batch)
        self.total_steps = recipe.epochs * self.steps_per_epoch
        self.optimizer = torch.optim.AdamW(
            _groups(net, recipe.te_lr), lr=recipe.lr, weight_decay=recipe.weight_decay
        )
        self.device = next(net.parameters()).device
        self.group.start_alike(net)
        if self.group.rank > 0:
            torch.manual_seed(recipe.seed + self.group.rank * SEED_STRIDE)
        self.average = Average(net, recipe.average) if recipe.average else None
        self.history: list[Epoch] = []
        self.tally, self._resumed = Tally(), False
        self._clock, self._saved = Clock(), time.monotonic()
        self._board: Board | None = None

    @property
    def out(self) -> Path:
        """Folder of the run."""
        return self.folder.path

    @property
    def best_epoch(self) -> int | None:
        """Index of the finished epoch with the best validation; None before the first."""
        scores = [epoch["validation"] for epoch in self.history]
        return self.task.objective.best(scores) if scores else None

    @property
    def finished(self) -> bool:
        """Whether all epochs are done, or patience is at its end."""
        done, best = len(self.history), self.best_epoch
        if self.recipe.patience is not None and best is not None:
            return done >= min(self.recipe.epochs, best + 1 + self.recipe.patience)
        return done >= self.recipe.epochs

    def resume(self) -> bool:
        """Continue from the run's last checkpoint; False if there is none."""
        found = self.folder.last.exists()
        (seeing,) = self.group.totals([float(found)], self.device)
        if seeing not in (0, self.group.size):
            raise ValueError(
                f"{self.folder.last}: expected all {self.group.size} processes to see the "
                f"checkpoint, found that {seeing:.0f} do; put the run into a folder that all share"
            )
        if not found:
            return False
        run_state.restore(self, self.folder.last)
        self._resumed = True
        return True

    def run(self) -> Net:
        """Train to the end; return the network of the last epoch, or the average, to evaluate."""
        if self.group.rank == 0 and not self.finished:
            self.folder.begin(run_state.about(self), self._resumed)
            if self.tensorboard:
                self._board = Board(self.out, len(self.history))
        self._clock, self._saved = Clock(), time.monotonic()
        while not self.finished:
            self._epoch()
        if self.average is not None:
            self.net.load_state_dict(self.average.weights)
        return self.net.eval()

    def _epoch(self) -> None:
        self.net.train()
        began = time.monotonic() - self.tally.seconds
        while self.tally.step < self.steps_per_epoch:
            save = self._step()
            self.tally.seconds = time.monotonic() - began
            self._clock.tick()
            self._tell(len(self.history))
            if save and self.tally.step < self.steps_per_epoch:
                self._save()
        objective = self.task.objective
        with nullcontext() if self.average is None else self.average.applied(self.net):
            validation = evaluate(
                self.net, self.task.validation, objective=objective, group=self.group
            )
        self.history.append(
            {
                **self.tally.means(objective.name),
                "validation": validation,
                "skipped": self.tally.skipped,
                "rates": self.tally.mean_rates,
                "seconds": round(time.monotonic() - began, 2),
            }
        )
        self._tell(len(self.history), validation)
        self.tally = Tally()
        if self._board is not None:  # first: what a resumed run repeats it writes over
            self._board.add(self.history[-1], len(self.history))
        self._save()

    def _step(self) -> bool:
        """Train on a batch; True if a checkpoint should follow."""
        epoch, step, size = len(self.history), self.tally.step, self.recipe.batch
        count = min(size, len(self.source) - step * size)
        share = self.group.share(count)
        x, y = placed(*self.source.draw(self.recipe.seed, epoch, step, size, share), self.net)
        self.optimizer.zero_grad()
        loss, score = torch.zeros(()), 0.0
        if len(y):  # more processes than samples leave some without
            look(self.net, x, self.tally)
            outputs = self.net(x)
            loss = self.task.objective.loss(outputs, y) * (len(y) / count)
            score = float(self.task.objective.scores(outputs.detach(), y).sum())
        # One loss for all processes, so that they stop, and save, together.
        mean, score, save = self.group.totals([loss.item(), score, self._due()], self.device)
        if not math.isfinite(mean):
            raise FloatingPointError(
                f"epoch {epoch + 1} step {step + 1}: expected a finite loss, got {mean}; "
                "lower the learning rate"
            )
        if len(y):
            loss.backward()
        self.group.add_gradients(self.net.parameters())
        updated = self._update(epoch * self.steps_per_epoch + step)
        self.tally.add(mean, score, count, skipped=not updated)
        return save > 0

    def _update(self, step: int) -> bool:
        """Take an optimiser step; False if the gradient overflowed and the step was left out."""
        limit = self.recipe.clip or math.inf
        norm = torch.nn.utils.clip_grad_norm_(self.net.parameters(), limit)
        if not torch.isfinite(norm):
            return False
        for group in self.optimizer.param_groups:
            group["lr"] = self.recipe.lr_at(step / self.total_steps) * group.get("multiple", 1.0)
        self.optimizer.step()
        if self.average is not None:
            self.average.update(self.net)
        return True

    def _due(self) -> bool:
        """Whether a checkpoint should follow this step; the first process decides for all."""
        if self.group.rank > 0:
            return False
        if self.save_steps is not None and (self.tally.step + 1) % self.save_steps == 0:
            return True
        minutes = (time.monotonic() - self._saved) / 60
        return self.save_minutes is not None and minutes >= self.save_minutes

    def _save(self) -> None:
        state = run_state.state(self)  # of all processes
        self._saved = time.monotonic()
        if self.group.rank > 0:
            return
        about = {**run_state.about(self), "history": self.history, **run_state.weights(self)}
        if self.tally.step == 0:  # an epoch has just ended
            if self.best_epoch == len(self.history) - 1:
                checkpoint.save(self.folder.best, self.net, **about)
            self.folder.write_history(about)
        # Last of all: a run that is killed before repeats what it has written, to the same end.
        checkpoint.save(self.folder.last, self.net, **about, **state)

    def _tell(self, epoch: int, validation: float | None = None) -> None:
        if self.group.rank > 0:
            return
        done = self.tally.step + self.steps_per_epoch * (epoch - (validation is not None))
        rates, speed = self.tally.mean_rates, self._clock.speed()
        self.report(
            Progress(
                epoch,
                self.recipe.epochs,
                self.tally.step,
                self.steps_per_epoch,
                **self.tally.means("score"),
                validation=validation,
                objective=self.task.objective,
                rate=sum(rates) / len(rates) if rates else None,
                steps_per_second=speed,
                seconds_left=(self.total_steps - done) / speed,
            )
        )


def _groups(net: nn.Module, te_lr: float) -> list[dict[str, Any]]:
    """Parameters by learning rate, as multiples of the recipe's; one group if all have the same."""
    te = [p for name, p in net.named_parameters() if name.split(".")[0] == "te"]
    if te_lr == 1 or not te:
        return [{"params": list(net.parameters())}]
    chosen = {id(p) for p in te}
    others = [p for p in net.parameters() if id(p) not in chosen]
    return [{"params": others}, {"params": te, "multiple": te_lr}]


def _require_fit(net: nn.Module, task: Task) -> None:
    """Refuse a task without samples, and a :class:`Network` of other sizes than the task's."""
    for name in ("train", "validation"):
        if len(getattr(task, name)) == 0:
            raise ValueError(f"task {task.name}: expected samples in {name}, got none")
    if not isinstance(net, Network):
        return
    if (net.in_features, net.config.classes) != (task.channels, task.classes):
        raise ValueError(
            f"network: expected {task.channels} inputs and {task.classes} classes for task "
            f"{task.name}, got {net.in_features} and {net.config.classes}"
        )
    if task.steps > net.steps:
        raise ValueError(
            f"network: expected steps ≥ {task.steps} for task {task.name}, got {net.steps}"
        )
    if (net.config.readout == "steps") != (task.objective.readout == "steps"):
        raise ValueError(
            f"network readout: expected {task.objective.readout!r} for task {task.name}, got "
            f"{net.config.readout!r}"
        )


def start(task: Task, hidden: tuple[int, ...], recipe: Recipe, **options: Any) -> Network:
    """Build a network for ``task`` from the recipe's seed."""
    torch.manual_seed(recipe.seed)
    options = {"permutation": task.permutation, "readout": task.objective.readout, **options}
    return Network(task.channels, hidden, task.classes, task.steps, **options)
