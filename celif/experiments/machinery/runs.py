"""Resumable training runs inside experiments, one folder each.

Every run leaves a file :data:`RUN` with its curve, score, recipe and commit. An experiment's record
holds the same (:mod:`celif.experiments.machinery.record`), so that a run that is in a record need
not be trained again.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeVar

from torch import nn

from celif import console
from celif.experiments.machinery.stopwatch import SPENT, Stopwatch
from training import checkpoint
from training.support import machine
from training.support.atomic import atomic_file
from training.tasks import Task
from training.trainer.evaluation import evaluate
from training.trainer.loop import Trainer
from training.trainer.progress import Progress
from training.trainer.recipe import Recipe
from training.trainer.run_folder import CONFIG, LAST, METRICS, Epoch

Net = TypeVar("Net", bound=nn.Module)
SCORE, RUN = "score.json", "run.json"


class Stopped(Exception):
    """Ends a training run whose time is up."""


@dataclass(frozen=True)
class Trained:
    """The outcome of a training run: its history by epoch and its test score.

    ``score`` is None if the loss overflowed, which ends a run, if time ran out
    (``finished`` is False then), or if it was not asked for. ``spent`` are processor seconds by
    epoch, without validation. ``commit`` is that of the code that trained it. ``control`` is the
    test score of the trained network after a change that shows what a part of it is worth.
    """

    name: str
    history: list[dict[str, Any]]
    score: float | None
    parameters: int
    finished: bool = True
    spent: tuple[float, ...] = ()
    commit: str = ""
    control: float | None = None

    @property
    def percent(self) -> float | None:
        """The score as a percentage."""
        return None if self.score is None else 100 * self.score

    @property
    def controlled(self) -> bool:
        """Whether no control is missing; what diverged has no score and needs none."""
        return self.score is None or self.control is not None

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
    reusable: bool = False,
    control: Callable[[nn.Module], object] | None = None,
    **options: Any,
) -> Trained:
    """Train ``net`` in ``out/name``, or resume what is there.

    Parameters
    ----------
    name, net, task, recipe, out
        What is trained, how, and where.
    measured
        Whether to measure the network on test data; candidates of a search are not.
    report
        Called after every step and epoch; raising :class:`Stopped` leaves the run unfinished.
    reusable
        Whether the record of a finished run will do, without its weights.
    control
        Changes the finished network in place, which is then measured once more.
    options
        Options of :class:`training.trainer.loop.Trainer`.
    """
    known = recorded(out / name, recipe, net, len(task.train))
    known = known if known is not None and known.finished else None
    if reusable and known is not None:
        return known

    def tell(progress: Progress) -> None:
        watch(progress)
        if report is not None:
            report(progress)

    _require_length(out / name, recipe)
    trainer = Trainer(net, task, recipe, out / name, tell, **options)
    if not trainer.resume():
        known = None
        for left in (SCORE, METRICS, SPENT):  # of weights that are no longer there
            (out / name / left).unlink(missing_ok=True)
    watch = Stopwatch(out / name)
    score, finished = None, True
    try:
        trainer.run()
        if measured:
            score = _score(net, task, out / name)
    except FloatingPointError as error:
        console.warn(f"{name}: {error}")
    except Stopped:
        finished = False
    count = parameters(net)
    shown = f"{len(trainer.history)} of {recipe.epochs} epochs"
    if score is not None:
        shown = f"test {task.objective.name} {task.objective.text(score)}"
    console.note(f"{name}: {count:,} parameters, {shown}")
    # A finished run is loaded, not trained: it keeps the commit that trained it.
    commit = machine.describe()["commit"] if known is None else known.commit
    changed = None
    if control is not None and score is not None:
        control(net)
        changed = evaluate(net, task.test, objective=task.objective)
    done = Trained(
        name, trainer.history, score, count, finished, tuple(watch.seconds), commit, changed
    )
    network = checkpoint.plain_config(net)
    write_run(out / name, done, asdict(recipe), network, len(task.train))
    return done


def parameters(net: nn.Module) -> int:
    """Return the number of parameters that are trained."""
    return sum(p.numel() for p in net.parameters() if p.requires_grad)


def write_run(
    folder: Path,
    run: Trained,
    recipe: dict[str, Any],
    network: dict[str, Any] | None = None,
    samples: int | None = None,
) -> None:
    """Write a run's own record: the run, the recipe, the network, and the samples of an epoch."""
    folder.mkdir(parents=True, exist_ok=True)
    content = {**asdict(run), "recipe": recipe, "network": network, "samples": samples}
    with atomic_file(folder / RUN) as draft:
        draft.write_text(json.dumps(content), encoding="utf-8")


def recorded(folder: Path, recipe: Recipe, net: nn.Module, samples: int) -> Trained | None:
    """Return the recorded run in ``folder``, or None if it trained something else.

    It must have trained such a network by ``recipe``, on ``samples`` samples an epoch.
    """
    path = folder / RUN
    if not path.is_file():
        return None
    known = json.loads(path.read_text(encoding="utf-8"))
    if not _same(known.pop("recipe"), recipe):
        return None
    # Earlier records have neither the samples nor the network's options, but all have its size.
    if known.pop("samples", None) not in (None, samples):
        return None
    if known["parameters"] != parameters(net) or not _of_network(known.pop("network", None), net):
        return None
    return Trained(**{**known, "spent": tuple(known["spent"])})


def _require_length(folder: Path, recipe: Recipe) -> None:
    """Refuse to lengthen a run: its rate has followed the schedule of a shorter one."""
    if not (folder / LAST).is_file():
        return
    epochs = checkpoint.read(folder / LAST)["recipe"]["epochs"]
    if epochs != recipe.epochs:
        raise ValueError(
            f"{folder}: expected a run of {recipe.epochs} epochs, found one of {epochs}; remove "
            "the folder, or pass another --out"
        )


def begun(folder: Path, recipe: Recipe, net: nn.Module, samples: int) -> list[Epoch]:
    """Return the epochs of the run in ``folder`` so far, none if it trains something else."""
    path, config = folder / METRICS, folder / CONFIG
    if not path.is_file():
        return []
    known = json.loads(path.read_text(encoding="utf-8"))
    about = json.loads(config.read_text(encoding="utf-8")) if config.is_file() else {}
    same = _same(known["recipe"], recipe) and _of_network(about.get("network"), net)
    same = same and about.get("samples") in (None, samples)
    return known["history"] if same else []


def _same(known: dict[str, Any], recipe: Recipe) -> bool:
    """Whether a recipe on disk is ``recipe``; options that it does not know have their defaults."""
    return {**asdict(Recipe()), **known} == asdict(recipe)


def _of_network(options: dict[str, Any] | None, net: nn.Module) -> bool:
    """Whether options on disk, None if they were not kept, are those of ``net``."""
    return options in (None, json.loads(json.dumps(checkpoint.plain_config(net))))


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
