"""How much CE-LIF's accuracy depends on the seed, and what the paper's learning rate gives.

The paper's smaller network is trained from three seeds by the recipe of the repository's networks,
and once at the paper's rate of 5e-4, which then falls as in the authors' later code. A run takes a
quarter of an hour on one core: ``--only`` and ``--minutes`` choose among them.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

from celif.experiments.accuracy.published_models import TABLE
from celif.experiments.machinery.compared_models import make
from celif.experiments.machinery.deadline import Sitting
from celif.experiments.machinery.drawing import SMALL, WIDTH, legend, plain
from celif.experiments.machinery.experiment import Claim, Experiment, Outcome, Row, Settings
from celif.experiments.machinery.results_summary import NEAR
from celif.experiments.machinery.runs import Trained
from celif.views.pictures import FIXED, FLOAT
from training import tasks
from training.trainer import presets
from training.trainer.presets import Preset
from training.trainer.recipe import Recipe

SEEDS = (0, 1, 2)
PAPERS = {"lr": 5e-4, "schedule": "step", "decay": 0.8, "decay_every": 10}
"""The paper's rate, with the schedule of the authors' later code."""
QUICK = Preset("digits", (32, 32), Recipe(epochs=12, batch=64))
OURS, PAPER = "our rate", "the paper's rate"


def recipes(preset: Preset) -> dict[str, Recipe]:
    """The recipe of each run, by the name of its folder."""
    found = {f"seed-{seed}": replace(preset.recipe, seed=seed) for seed in SEEDS}
    changed: dict[str, Any] = PAPERS
    return {**found, "paper-rate-0": replace(preset.recipe, **changed)}


def run(settings: Settings) -> Outcome:
    """Train the runs on both tasks; quick: a smaller network on digits."""
    sitting = Sitting.of(settings)
    chosen = [presets.get(f"{name}-88") for name in ("seq-mnist", "ps-mnist")]
    found: dict[str, dict[str, Trained]] = {}
    for preset in [QUICK] if settings.quick else chosen:
        task, network = tasks.load(preset.task, settings.data), preset.network
        found[task.name] = {
            name: sitting.train(
                f"{task.name}-{name}",
                partial(make, "CE-LIF", task, preset.hidden, recipe, celif=network),
                task, recipe, measured=True,
            )
            for name, recipe in recipes(preset).items()
        }  # fmt: skip
        last = preset
    recipe = last.recipe
    budget = (
        f"{', '.join(found)}: hidden {list(last.hidden)}, {recipe.epochs} epochs of batch "
        f"{recipe.batch}, {recipe.schedule} up to {recipe.lr:g}, seeds "
        f"{', '.join(map(str, SEEDS))}; once at {PAPERS['lr']:g}, times {PAPERS['decay']:g} after "
        f"every {PAPERS['decay_every']} epochs, seed 0"
    )
    notes = [
        "± is the standard deviation over the seeds (n − 1). Accuracies are those after the last "
        f"epoch. A dropout of {last.network.get('dropout', 0):g}, AdamW, clipping and biases that "
        "start at zero are ours at either rate; the paper does not say for how many epochs it "
        "trains."
    ]
    rows = [row for name, runs in found.items() for row in _rows(name, runs)]
    numbers = {
        f"{task}-{name}": {**run.plain(), "finished": run.finished}
        for task, runs in found.items() for name, run in runs.items()
    }  # fmt: skip
    return Outcome(rows, _claims(rows), budget, _figure(found), numbers, notes)


def _rows(task_name: str, runs: dict[str, Trained]) -> list[Row]:
    """The mean over the seeds that are finished, and the run at the paper's rate."""
    smaller = TABLE[0]
    paper = {"seq-mnist": smaller.seq, "ps-mnist": smaller.ps}.get(task_name)
    assert not isinstance(paper, str)
    done = [run for name, run in runs.items() if name.startswith("seed") and run.finished]
    scores = np.array([run.percent or 0.0 for run in done])
    shown = ", ".join(f"{score:.2f}" for score in scores)
    mean = float(scores.mean()) if done else None
    spread = float(scores.std(ddof=1)) if len(done) > 1 else None
    note = f"{len(done)} of {len(SEEDS)} seeds: {shown}" if done else "not run"
    other = next(run for name, run in runs.items() if not name.startswith("seed"))
    return [
        Row(f"CE-LIF, {OURS}, {task_name}", mean, paper, "%", note, paper is not None, spread),
        Row(f"CE-LIF, {PAPER}, {task_name}", other.percent if other.finished else None, paper, "%",
            "one seed" if other.finished else "not run", paper is not None),
    ]  # fmt: skip


def _claims(rows: list[Row]) -> list[Claim]:
    return [
        Claim(f"{row.what}: at most {NEAR:g} points below the paper's", row.difference >= -NEAR)
        for row in rows if row.difference is not None
    ]  # fmt: skip


def _figure(found: dict[str, dict[str, Trained]]) -> Figure:
    begun = {name: runs for name, runs in found.items() if any(r.history for r in runs.values())}
    shown = begun or found
    figure, axes = plt.subplots(
        1, len(shown), figsize=(WIDTH, 3.4), layout="constrained", squeeze=False, sharey=True
    )
    for ax, (task_name, runs) in zip(axes.flat, shown.items(), strict=True):
        for name, one in runs.items():
            ours = name.startswith("seed")
            wrong = [100 * (1 - epoch["validation"]) for epoch in one.history]
            label = (OURS if ours else PAPER) if wrong and name.endswith("-0") else None
            ax.plot(range(1, len(wrong) + 1), wrong, color=FLOAT if ours else FIXED, lw=1.2,
                    label=label)  # fmt: skip
        ax.set_yscale("log")
        ax.yaxis.set_major_formatter("{x:g}")
        ax.yaxis.set_minor_formatter("{x:g}")
        ax.set_title(task_name, fontsize=SMALL + 1)
        ax.set_xlabel("epoch")
        legend(ax, loc="upper right")
    axes[0, 0].set_ylabel("wrong on validation data, %")
    plain(axes.flat, "y")
    return figure


EXPERIMENT = Experiment(
    "seeds", "CE-LIF from several seeds, and at the paper's rate", run, parts=True,
    item="Table 1", size="the paper's smaller network and its tasks, 30 epochs",
)  # fmt: skip
