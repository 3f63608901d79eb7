"""A task of two classes that is learnt within a second, and runs of it."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from training.tasks import Split, Task
from training.trainer.distributed import Group
from training.trainer.loop import Progress, Recipe, Trainer, start

RECIPE = Recipe(epochs=3, batch=16, seed=4)
HIDDEN = (6, 5)


def bursts() -> Task:
    """An early and a late burst; the last batch of an epoch is not full."""
    generator = torch.Generator().manual_seed(0)

    def split(n: int) -> Split:
        y = torch.arange(n) % 2
        x = 0.3 * torch.rand(n, 1, 10, generator=generator)
        x[y == 0, 0, :5] += 4  # enough for neurons to fire from the start
        x[y == 1, 0, 5:] += 4
        return Split(x, y)

    return Task("bursts", split(56), split(20), split(20), classes=2, image=(2, 5))


def train(
    task: Task,
    out: Any,
    recipe: Recipe = RECIPE,
    report: Callable[[Progress], None] = lambda progress: None,
    dropout: float = 0.2,
    network: dict[str, Any] | None = None,
    **options: Any,
) -> Trainer[Any]:
    """Train, from a checkpoint if there is one; ``network`` has further options of the network."""
    net = start(task, HIDDEN, recipe, dropout=dropout, **(network or {}))
    run = Trainer(net, task, recipe, out, report, **options)
    run.resume()
    run.run()
    return run


def weights(net: torch.nn.Module) -> list[torch.Tensor]:
    return [p.detach().clone() for p in net.parameters()]


def assert_same_weights(a: torch.nn.Module, b: torch.nn.Module) -> None:
    for one, two in zip(weights(a), weights(b), strict=True):
        assert torch.equal(one, two)


def assert_same_history(a: Trainer[Any], b: Trainer[Any]) -> None:
    for one, two in zip(a.history, b.history, strict=True):
        assert one | {"seconds": 0} == two | {"seconds": 0}


KILLED = Recipe(epochs=4, batch=2, seed=4, average=0.9, augment="shift")
"""A run of 112 steps, of which each is saved: whoever is killed is likely to be saving."""


TWENTY_STEPS = Recipe(epochs=4, batch=11, seed=4, lr=0.02)
"""24 steps. 56 samples make five batches that two processes share as 5 and 6, and one sample."""


def losses_in_float64(out: Path) -> None:
    """Train in float64 and keep what is told after every step."""
    task, told = bursts(), []
    net = start(task, HIDDEN, TWENTY_STEPS).double()
    run = Trainer(
        net, task, TWENTY_STEPS, out, lambda p: told.append((p.loss, p.score, p.validation))
    )
    run.run()
    if run.group.rank == 0:
        torch.save(told, out / "told")


class Interrupted(Exception):
    pass


def with_dropout(out: Path, saves: int | None = None) -> None:
    """Train with dropout, on from a checkpoint if there is one; end after ``saves`` of them."""
    net = start(bursts(), HIDDEN, RECIPE, dropout=0.4)
    run = Trainer(net, bursts(), RECIPE, out, save_steps=1)
    run.resume()
    save, done = run._save, 0

    def save_or_end() -> None:
        nonlocal done
        if done == saves:
            raise Interrupted
        save()
        done += 1

    run._save = save_or_end  # type: ignore[method-assign]
    run.run()


def in_two_processes(group: Group, device: torch.device, folder: str) -> None:
    """All that the tests want to see of two processes, because starting them takes seconds."""
    losses_in_float64(Path(folder, "float64"))
    with_dropout(Path(folder, "whole"))
    with contextlib.suppress(Interrupted):
        with_dropout(Path(folder, "cut"), saves=6)
    with_dropout(Path(folder, "cut"))


if __name__ == "__main__":
    # python -m training.tests.kernels.bursts OUT: the run that test_kill kills, a line for every
    # step.
    train(
        bursts(),
        sys.argv[1],
        KILLED,
        lambda progress: print(progress.epoch, progress.step, flush=True),
        save_steps=1,
    )
