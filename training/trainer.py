"""Training: seeded, checkpointed after every epoch, and resumable bit for bit.

The order of the samples is a function of seed and epoch, and a checkpoint holds weights,
optimiser and random state, so a resumed run ends with the same weights as an undisturbed one.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from torch.nn import functional as F

from training import checkpoint
from training.files import atomic_file
from training.network import Network
from training.tasks import Split, Task

LAST, BEST, METRICS = "last.pt", "best.pt", "metrics.json"


@dataclass(frozen=True)
class Recipe:
    """How to train: AdamW, a learning rate that rises to ``lr`` and falls to 0 along a cosine."""

    epochs: int = 40
    batch: int = 64
    lr: float = 5e-3
    warmup: float = 0.1
    weight_decay: float = 0.01
    clip: float = 1.0
    seed: int = 0

    def lr_at(self, done: float) -> float:
        """Learning rate when the fraction ``done`` of all steps is done."""
        if done < self.warmup:
            return self.lr * (0.04 + 0.96 * done / self.warmup)
        return self.lr * 0.5 * (1 + math.cos(math.pi * (done - self.warmup) / (1 - self.warmup)))


@dataclass(frozen=True)
class Progress:
    """Where a training stands; ``epoch`` counts finished epochs."""

    epoch: int
    epochs: int
    step: int
    steps: int
    loss: float
    accuracy: float
    validation: float | None = None


@torch.no_grad()
def evaluate(net: Network, split: Split, batch: int = 256) -> float:
    """Accuracy of ``net`` on ``split``, 0 to 1."""
    if len(split) == 0:
        raise ValueError("split: expected at least one sample, got none; pass data to evaluate on")
    was_training, hits = net.training, 0
    net.eval()
    for x, y in zip(split.x.split(batch), split.y.split(batch), strict=True):
        hits += int((net(x).argmax(1) == y).sum())
    net.train(was_training)
    return hits / len(split)


def _batches(split: Split, recipe: Recipe, epoch: int) -> Iterator[tuple[torch.Tensor, ...]]:
    order = torch.randperm(
        len(split), generator=torch.Generator().manual_seed(recipe.seed * 100_003 + epoch)
    )
    for part in order.split(recipe.batch):
        yield split.x[part], split.y[part]


class Trainer:
    """Trains ``net`` on ``task``; the run's folder ``out`` holds checkpoints and metrics.

    Parameters
    ----------
    net, task, recipe
        What is trained, on what, and how. Seed torch before building ``net``, or use
        :func:`start`.
    out
        Folder of the run, made if need be.
    report
        Called with a :class:`Progress` after every step and epoch.
    """

    def __init__(
        self,
        net: Network,
        task: Task,
        recipe: Recipe,
        out: str | Path,
        report: Callable[[Progress], None] = lambda progress: None,
    ) -> None:
        if (net.in_features, net.config["classes"]) != (task.channels, task.classes):
            raise ValueError(
                f"network: expected {task.channels} inputs and {task.classes} classes for task "
                f"{task.name}, got {net.in_features} and {net.config['classes']}"
            )
        if task.steps > net.steps:
            raise ValueError(
                f"network: expected steps ≥ {task.steps} for task {task.name}, got {net.steps}"
            )
        self.net, self.task, self.recipe, self.report = net, task, recipe, report
        self.out = Path(out)
        self.out.mkdir(parents=True, exist_ok=True)
        self.steps_per_epoch = -(-len(task.train) // recipe.batch)
        self.total_steps = recipe.epochs * self.steps_per_epoch
        self.optimizer = torch.optim.AdamW(
            net.parameters(), lr=recipe.lr, weight_decay=recipe.weight_decay
        )
        self.history: list[dict[str, float]] = []

    def resume(self) -> bool:
        """Continue from the run's last checkpoint; False if there is none."""
        path = self.out / LAST
        if not path.exists():
            return False
        content = checkpoint.read(path)
        for name, ours in {"network": self.net.config, **self._about()}.items():
            if content.get(name) != ours:
                raise ValueError(
                    f"{path}: expected the same {name} as the run began with, {content.get(name)}, "
                    f"got {ours}; use another folder for another run"
                )
        if "optimizer" not in content:
            raise ValueError(
                f"{path}: expected the state of the optimiser, found none, as in {BEST}; only the "
                f"{LAST} that a run wrote can be resumed"
            )
        self.net.load_state_dict(content["weights"])
        self.optimizer.load_state_dict(content["optimizer"])
        self.history = content["history"]
        torch.set_rng_state(content["random"])
        return True

    def run(self) -> Network:
        """Train to the end and return the network of the last epoch, in evaluation mode."""
        for epoch in range(len(self.history), self.recipe.epochs):
            self._epoch(epoch)
            self._save()
        return self.net.eval()

    def _epoch(self, epoch: int) -> None:
        self.net.train()
        began, loss_sum, hits, seen, skipped = time.monotonic(), 0.0, 0, 0, 0
        for step, (x, y) in enumerate(_batches(self.task.train, self.recipe, epoch), 1):
            logits = self.net(x)
            loss = F.cross_entropy(logits, y)
            if not torch.isfinite(loss):
                raise FloatingPointError(
                    f"epoch {epoch + 1} step {step}: expected a finite loss, got {loss.item()}; "
                    "lower the learning rate"
                )
            self.optimizer.zero_grad()
            loss.backward()
            skipped += not self._update(epoch * self.steps_per_epoch + step - 1)
            loss_sum += loss.item() * len(y)
            hits += int((logits.argmax(1) == y).sum())
            seen += len(y)
            self.report(self._progress(epoch, step, loss_sum / seen, hits / seen))
        validation = evaluate(self.net, self.task.validation)
        self.history.append(
            {
                "loss": loss_sum / seen,
                "accuracy": hits / seen,
                "validation": validation,
                "skipped": skipped,
                "seconds": round(time.monotonic() - began, 2),
            }
        )
        self.report(self._progress(epoch + 1, step, loss_sum / seen, hits / seen, validation))

    def _update(self, step: int) -> bool:
        """Take an optimiser step; False if the gradient overflowed and the step was left out."""
        norm = torch.nn.utils.clip_grad_norm_(self.net.parameters(), self.recipe.clip)
        if not torch.isfinite(norm):
            return False
        for group in self.optimizer.param_groups:
            group["lr"] = self.recipe.lr_at(step / self.total_steps)
        self.optimizer.step()
        return True

    def _progress(
        self, epoch: int, step: int, loss: float, accuracy: float, validation: float | None = None
    ) -> Progress:
        return Progress(
            epoch, self.recipe.epochs, step, self.steps_per_epoch, loss, accuracy, validation
        )

    def _about(self) -> dict[str, Any]:
        """What makes this run this run, beside the network."""
        return {"task": self.task.name, "recipe": asdict(self.recipe)}

    def _save(self) -> None:
        about = {**self._about(), "history": self.history}
        if self.history[-1]["validation"] >= max(h["validation"] for h in self.history):
            checkpoint.save(self.out / BEST, self.net, **about)
        checkpoint.save(
            self.out / LAST,
            self.net,
            optimizer=self.optimizer.state_dict(),
            random=torch.get_rng_state(),
            **about,
        )
        with atomic_file(self.out / METRICS) as draft:
            draft.write_text(json.dumps(about, indent=1))


def start(task: Task, hidden: tuple[int, ...], recipe: Recipe, **options: Any) -> Network:
    """Build a network for ``task`` from the recipe's seed."""
    torch.manual_seed(recipe.seed)
    options = {"permutation": task.permutation, **options}
    return Network(task.channels, hidden, task.classes, task.steps, **options)
