"""The training loop: seeded, on one process or several, and resumable bit for bit from any step.

Every batch is a function of seed, epoch and step, and :meth:`Trainer.state_dict` holds weights,
optimiser, random state and the sums of a half-finished epoch. A resumed run therefore ends with the
same weights as an undisturbed one.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import Any, Generic, TypeVar

import torch
from torch import nn

from training import checkpoint
from training.network import te_updates
from training.support import avx512, openmp
from training.tasks import Source, Task
from training.trainer import resume
from training.trainer.adversarial import Adversary
from training.trainer.augment import Augmented
from training.trainer.average import Average
from training.trainer.distributed import SEED_STRIDE, Group
from training.trainer.evaluation import evaluate, placed
from training.trainer.progress import Progress, StepTimer, Tally, look
from training.trainer.recipe import Recipe
from training.trainer.run_folder import BEST, LAST, METRICS, Epoch, RunFolder, TensorBoard
from training.trainer.setup import optimiser, require_fit, start

__all__ = ["BEST", "LAST", "METRICS", "Progress", "Recipe", "Trainer", "evaluate", "start"]

Net = TypeVar("Net", bound=nn.Module)


class Trainer(Generic[Net]):
    """Trains ``net`` on ``task`` and keeps checkpoints and metrics in the folder ``out``.

    Under ``torch.distributed`` every process makes a Trainer with the same arguments; only the
    first one reports and writes.

    Parameters
    ----------
    net, task, recipe
        What is trained, on what, and how. Any module whose outputs fit the task's objective will
        do. Seed torch before building it, or use :func:`start`.
    out
        Folder of the run, created if it does not exist.
    report
        Called with a :class:`Progress` after every step and epoch.
    save_minutes, save_steps
        Besides after every epoch, write a checkpoint whenever this many minutes or steps have
        passed; None turns either off.
    tensorboard
        Write the metrics for TensorBoard, too.
    origin
        Where the first weights come from, if not from the recipe's seed; recorded with the run.
    overwrite
        Start again in a folder that holds a run; by default that is an error.

    Examples
    --------
    >>> run = Trainer(start(task, (64, 88), recipe), task, recipe, "runs/mine")
    >>> net = run.run()
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
        overwrite: bool = False,
    ) -> None:
        require_fit(net, task)
        openmp.warn_if_late()
        self.origin, self._overwrite, self._data = origin, overwrite, resume.data_of(task)
        self.net, self.task, self.recipe, self.report = net, task, recipe, report
        self.save_minutes, self.save_steps, self.tensorboard = save_minutes, save_steps, tensorboard
        self.folder, self.group = RunFolder(out), Group()
        self.source: Source = task.train
        if recipe.augment != "none":
            self.source = Augmented(task.train, recipe.augment, task.image, recipe.augment_epochs)
        self.steps_per_epoch = math.ceil(len(task.train) / recipe.batch)
        self.total_steps = recipe.epochs * self.steps_per_epoch
        self.optimizer, self.adversary = optimiser(net, recipe), Adversary.of(recipe, task)
        self.device = next(net.parameters()).device
        self.group.start_alike(net)
        if self.group.rank > 0:
            torch.manual_seed(recipe.seed + self.group.rank * SEED_STRIDE)
        self.average = Average(net, recipe.average) if recipe.average else None
        self.history: list[Epoch] = []
        self.tally, self._resumed, self._saved = Tally(), False, time.monotonic()
        self._timer = StepTimer()
        self._board: TensorBoard | None = None

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
        """Whether all epochs are done, or patience has run out."""
        done, best = len(self.history), self.best_epoch
        if self.recipe.patience is not None and best is not None:
            return done >= min(self.recipe.epochs, best + 1 + self.recipe.patience)
        return done >= self.recipe.epochs

    def resume(self) -> bool:
        """Continue from the run's last checkpoint; return False if there is none."""
        self.folder.refuse_old_checkpoint()
        found = self.folder.last.exists()
        (seeing,) = self.group.totals([float(found)], self.device)
        if seeing not in (0, self.group.size):
            raise ValueError(
                f"{self.folder.last}: expected all {self.group.size} processes to see the "
                f"checkpoint, found that {seeing:.0f} do; put the run into a folder that all share"
            )
        if not found:
            return False
        self.load_state_dict(checkpoint.read(self.folder.last), self.folder.last)
        self._resumed = True
        return True

    def about(self) -> dict[str, Any]:
        """Return what makes a run that run, from the network to where its weights come from."""
        return {
            "network": checkpoint.plain_config(self.net),
            "task": self.task.name,
            "encoding": self.task.encoding,
            "teacher": None if self.task.teacher is None else asdict(self.task.teacher),
            "recipe": asdict(self.recipe),
            **self._data,
            "processes": self.group.size,
            "origin": self.origin,
        }

    def state_dict(self) -> dict[str, Any]:
        """Return everything that a resumed run needs; all processes must call this together.

        ``weights`` are the average where the recipe has one, and ``raw`` the network's own.
        """
        state = {
            **self.about(),
            **self._results(),
            "optimizer": resume.saved_optimizer(self.optimizer),
            "tally": asdict(self.tally),
            "random": self.group.gather(torch.get_rng_state(), self.device),
        }
        if self.device.type == "cuda":
            state["random_cuda"] = self.group.gather(torch.cuda.get_rng_state(), self.device)
        if self.average is not None:
            state |= {"raw": dict(self.net.state_dict()), "averaged": self.average.updates}
        return state

    def _results(self) -> dict[str, Any]:
        average = {} if self.average is None else {"weights": self.average.weights}
        return {"history": self.history, **average}

    def load_state_dict(self, state: dict[str, Any], path: Path = Path(LAST)) -> None:
        """Continue where ``state`` was taken; refuse that of another run, naming ``path``."""
        resume.require_same_run(self.about(), state, type(self.net).__name__, path)
        optimizer = resume.optimizer_state(state, path, self.optimizer)
        history = resume.history_of(state, path)
        tally = resume.tally_of(state, path, self.steps_per_epoch)
        resume.require_random_states(state, path)
        self.net.load_state_dict(state.get("raw", state["weights"]))
        if self.average is not None:
            self.average.load(state["weights"], state["averaged"])
        self.optimizer.load_state_dict(optimizer)
        self.history, self.tally, self.origin = history, tally, state.get("origin")
        done = len(history) * self.steps_per_epoch + tally.step
        resume.restore_random(state, path, self.group, self.device, self.recipe.seed + done)

    def run(self) -> Net:
        """Train to the end; return the network, or its average, in evaluation mode."""
        started = self._resumed or bool(self.history) or self.tally.step > 0
        if not started and not self._overwrite and self.folder.last.exists():
            raise FileExistsError(
                f"{self.out}: holds a run already; call resume() to continue it, choose another "
                "folder, or pass overwrite=True"
            )
        if self.group.rank == 0 and not self.finished:
            self.folder.begin(self.about(), self._resumed)
            if self.tensorboard:
                self._board = TensorBoard(self.out, len(self.history))
        self._timer, self._saved = StepTimer(), time.monotonic()
        with avx512.products(self.device):
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
            self._timer.tick()
            self._tell(len(self.history))
            if save and self.tally.step < self.steps_per_epoch:
                self._save()
        task, objective = self.task, self.task.objective
        with nullcontext() if self.average is None else self.average.applied(self.net):
            validation = evaluate(self.net, task.validation, objective=objective, group=self.group)
        seconds = round(time.monotonic() - began, 2)
        self.history.append(self.tally.epoch(objective.name, validation, seconds))
        self._tell(len(self.history), validation)
        self.tally = Tally()
        if self._board is not None:  # first, as a resumed run overwrites what it repeats
            self._board.add(self.history[-1], len(self.history))
        self._save()

    def _step(self) -> bool:
        """Train on a batch; return whether a checkpoint should follow."""
        epoch, step, size = len(self.history), self.tally.step, self.recipe.batch
        count = min(size, len(self.source) - step * size)
        share = self.group.share(count)
        x, y = placed(*self.source.draw(self.recipe.seed, epoch, step, size, share), self.net)
        self.optimizer.zero_grad()
        loss, score = torch.zeros(()), 0.0
        if len(y):  # with more processes than samples, some have none
            look(self.net, x, self.tally)
            outputs = self.net(x := self.adversary.watched(x))
            loss = self.task.objective.loss(outputs, y) * (len(y) / count)
            score = float(self.task.objective.scores(outputs.detach(), y).sum())
        # One loss for all processes, so that they stop and save together.
        mean, score, save = self.group.totals([loss.item(), score, self._due()], self.device)
        if not math.isfinite(mean):
            raise FloatingPointError(
                f"epoch {epoch + 1} step {step + 1}: expected a finite loss, got {mean}; "
                "lower the learning rate"
            )
        if len(y):
            self.adversary.backward(self.net, self.task, x, y, loss, len(y) / count)
        self.group.add_gradients(self.net.parameters())
        updated = self._update(epoch * self.steps_per_epoch + step)
        self.tally.add(mean, score, count, skipped=not updated)
        return save > 0

    def _update(self, step: int) -> bool:
        """Take an optimiser step; return False if the gradient overflowed and it was skipped."""
        te_updates.transform_gradients(self.net, self.recipe.te_update)
        norm = torch.nn.utils.clip_grad_norm_(self.net.parameters(), self.recipe.clip or math.inf)
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
        state = self.state_dict()  # in all processes
        self._saved = time.monotonic()
        if self.group.rank > 0:
            return
        about = {**self.about(), **self._results()}
        if self.tally.step == 0:  # an epoch has just ended
            if self.best_epoch == len(self.history) - 1:
                checkpoint.save(self.folder.best, self.net, **about)
            self.folder.write_history(about)
        # Written last: a run that is killed before this repeats what it has written, identically.
        checkpoint.save(self.folder.last, self.net, **state)

    def _tell(self, epoch: int, validation: float | None = None) -> None:
        if self.group.rank == 0:
            sizes = (self.recipe.epochs, self.steps_per_epoch)
            speed, objective = self._timer.speed(), self.task.objective
            self.report(self.tally.progress(epoch, *sizes, speed, objective, validation))
