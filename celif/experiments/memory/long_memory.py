"""The adding problem and copy memory: learning curves of CE-LIF, ALIF and LSTM.

The baseline of the adding problem, always answering 1, has a mean squared error of 1/6; that of
copy memory, knowing all but the symbols, a cross entropy of 10·ln 8/(T + 20). Every step draws new
samples, so the loss during training is that on samples never seen before.

At full size these are twelve training runs of minutes to hours: ``--only`` and ``--minutes`` choose
among them, and each is reported as far as it came.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

from celif.experiments.machinery.compared_models import COLOURS, make
from celif.experiments.machinery.deadline import Sitting, how_far, steps_an_epoch
from celif.experiments.machinery.drawing import SMALL, WIDTH, legend, plain
from celif.experiments.machinery.experiment import Claim, Experiment, Outcome, Row, Settings
from celif.experiments.machinery.runs import Trained
from celif.experiments.memory import alif_and_lstm, tuning
from celif.experiments.memory.alif_and_lstm import Tuned
from training import tasks
from training.tasks import Task
from training.trainer import presets
from training.trainer.presets import Preset
from training.trainer.recipe import Recipe

QUICK_MODELS = ("CE-LIF", "ALIF", "LSTM")
MODELS = ("CE-LIF", *alif_and_lstm.NAMES)
WITH_EQUATION = ("CE-LIF", "ALIF", *alif_and_lstm.NAMES)

PUBLISHED = (
    "SoftALIF is ALIF as it was published, recurrent, with learnt time constants and a soft reset; "
    "ALIF is that of the paper's equation 3, by CE-LIF's recipe and without trials of its own. The "
    "paper does not say which ALIF its curves are of."
)


@dataclass(frozen=True)
class Problem:
    """A task of any length: the paper's lengths and a quick one, and when it is solved."""

    name: str
    lengths: tuple[int, ...]
    quick: Preset
    baseline: Callable[[int], float]
    solved: Callable[[int], float]
    quick_solved: float
    """Share of the baseline that the quick size must come below."""

    def preset(self, steps: int) -> Preset:
        """Network and recipe for sequences of length T = ``steps``."""
        return presets.get(f"{self.name}-{steps}")


ADDING = Problem(
    "adding", (100, 200, 500, 800),
    Preset("adding-50", (64, 64), Recipe(epochs=8, batch=128, weight_decay=0.0)),
    lambda steps: 1 / 6, lambda steps: 0.01, 1 / 3,
)  # fmt: skip
COPY = Problem(
    "copy", (100, 200, 400, 500),
    Preset("copy-30", (64, 256), replace(presets.get("copy-30").recipe, epochs=8)),
    lambda steps: 10 * math.log(8) / (steps + 20),
    lambda steps: math.log(8) / (steps + 20), 0.6,
)  # fmt: skip


@dataclass(frozen=True)
class LengthRuns:
    """Training runs of the models at one length T, each by its recipe.

    ``tuned`` says what the trials of ALIF and LSTM chose.
    """

    steps: int
    task: Task
    runs: dict[str, Trained]
    recipes: dict[str, Recipe]
    tuned: dict[str, str]

    def each(self, name: str) -> int:
        """Steps of the optimiser in an epoch of a model."""
        return steps_an_epoch(self.task, self.recipes[name])

    def budget(self, name: str) -> str:
        """Steps of the optimiser in a whole run of a model, and the batch."""
        recipe = self.recipes[name]
        return f"{recipe.epochs * self.each(name):,} steps of batch {recipe.batch}"

    def how_far(self, name: str) -> str:
        """How far a model's training came, if it is not finished."""
        return how_far(self.runs[name].history, self.task, self.recipes[name])

    def loss(self, name: str, steps: int | None = None) -> float | None:
        """Mean loss of the last epoch, or of that within ``steps``; None if there is none."""
        history = self.runs[name].history
        epoch = len(history) if steps is None else steps // self.each(name)
        return history[epoch - 1]["loss"] if history and epoch else None

    @property
    def common(self) -> int:
        """Steps of the optimiser that all the models have done."""
        return min(len(run.history) * self.each(name) for name, run in self.runs.items())


def contest(
    steps: int,
    preset: Preset,
    cells: int,
    sitting: Sitting,
    tried: dict[str, dict[Tuned, Trained]] | None = None,
    names: Iterable[str] = MODELS,
) -> LengthRuns:
    """Train each model on the problem of that length.

    ``tried`` has the trials of ALIF and LSTM; without them they have CE-LIF's recipe.
    """
    task = tasks.load(preset.task)
    celif = {**presets.get(task.name).network, **preset.network}
    found = LengthRuns(steps, task, {}, dict.fromkeys(names, preset.recipe), {})
    for name in found.recipes:
        if tried is not None and name in tried:
            recipe, run, chosen = alif_and_lstm.train(
                name, task, preset, tried[name], cells, sitting
            )
            found.recipes[name], found.runs[name], found.tuned[name] = recipe, run, chosen
            continue
        built = alif_and_lstm.network(name, task, preset, preset.recipe, cells)
        if name == "CE-LIF":
            built = partial(make, name, task, preset.hidden, preset.recipe, celif=celif)
        found.runs[name] = sitting.train(f"{task.name}-{name}", built, task, preset.recipe)
    return found


def run(problem: Problem, settings: Settings) -> Outcome:
    """All models at every length of the paper, or at a quick one."""
    sitting, cells = Sitting.of(settings), 64 if settings.quick else 128
    tried: dict[str, dict[Tuned, Trained]] = {}
    if settings.quick:
        preset = problem.quick
        length = int(preset.task.split("-")[1])
        found = [contest(length, preset, cells, sitting, names=QUICK_MODELS)]
    else:
        preset = problem.preset(problem.lengths[0])
        tried = {
            name: alif_and_lstm.trials(problem.name, name, cells, sitting)
            for name in alif_and_lstm.NAMES
        }
        found = [
            contest(
                steps,
                problem.preset(steps),
                cells,
                sitting,
                tried,
                WITH_EQUATION if steps in alif_and_lstm.EQUATION[problem.name] else MODELS,
            )
            for steps in problem.lengths
        ]
    usual = found[0].budget("CE-LIF")
    rows = [row for each in found for row in _rows(problem, each, usual)]
    claims = [claim for each in found for claim in _claims(problem, each, settings.quick)]
    recipe = preset.recipe
    budget = (
        f"{usual} where not said otherwise, hidden {list(preset.hidden)}, LSTM of {cells} cells, "
        f"learning rate rising and falling along a {recipe.schedule}, seed {recipe.seed}, fresh "
        "samples"
    )
    numbers: dict[str, Any] = {
        str(each.steps): {n: r.plain() for n, r in each.runs.items()} for each in found
    }
    numbers["tried"] = tuning.tried(problem.name)
    notes = [
        "The paper shows curves and gives no numbers except the baselines. Losses are means over "
        f"the last {len(found[0].task.train):,} samples; one seed. Biases of LSTM start as torch "
        "draws them, those of CE-LIF at zero"
        + (" and of ALIF as torch draws them." if settings.quick else ", as those of SoftALIF."),
        tuning.ABOUT[problem.name],
        *([] if settings.quick else [PUBLISHED]),
    ]
    if settings.quick:
        notes.append("The quick size's limit was set after a first look at these curves.")
    trials = [
        *tuning.sentences(problem.name),
        *(alif_and_lstm.sentence(name, each, problem.name) for name, each in tried.items() if each),
    ]
    figure = _figure(problem, found)
    return Outcome(rows, claims, budget, figure, numbers, notes, trials=trials)


def _rows(problem: Problem, found: LengthRuns, usual: str) -> list[Row]:
    """A row for each model; runs of another budget than ``usual`` say theirs."""
    limit, rows = problem.solved(found.steps), []
    for name, one in found.runs.items():
        last = one.history[-1] if one.history else {}
        above = [i for i, epoch in enumerate(one.history, 1) if epoch["loss"] >= limit]
        since = above[-1] if above else 0
        budget = found.budget(name)
        notes = [found.how_far(name), "" if budget == usual else budget, found.tuned.get(name)]
        if last and since < len(one.history):
            notes.append(f"below {limit:.3g} after {since * found.each(name):,} steps")
        if "recall" in last:
            notes.append(f"recalls {last['recall']:.1%} of the symbols")
        elif last:
            notes.append(f"{last['validation']:.4f} on held-out samples")
        note = ", ".join(filter(None, notes))
        rows.append(Row(f"{name}, T = {found.steps}: loss", last.get("loss"), note=note))
    return rows


def _claims(problem: Problem, found: LengthRuns, quick: bool) -> list[Claim]:
    """What can be said of training runs as far as they came."""
    steps, baseline, last = found.steps, problem.baseline(found.steps), found.loss("CE-LIF")
    limit = problem.quick_solved * baseline if quick else problem.solved(steps)
    claims = []
    if last is not None and not found.how_far("CE-LIF"):  # decided at the end, not when it is met
        claims.append(Claim(f"T = {steps}: CE-LIF's loss comes below {limit:.3g}", last < limit))
    if found.common and not any(found.how_far(name) for name in found.runs):
        losses = {name: found.loss(name, found.common) or 0.0 for name in found.runs}
        ours, others = losses.pop("CE-LIF"), " and ".join(losses)
        text = f"T = {steps}: CE-LIF is below {others} after the same {found.common:,} steps"
        claims.append(Claim(text, ours < min(losses.values())))
    return claims


def _figure(problem: Problem, found: list[LengthRuns]) -> Figure:
    # A length whose runs have hardly begun would be an empty frame.
    begun = [
        each for each in found
        if any(10 * len(run.history) > each.recipes[name].epochs for name, run in each.runs.items())
    ]  # fmt: skip
    found = begun or found[:1]
    columns = min(2, len(found))
    lines = -(-len(found) // columns)
    figure, axes = plt.subplots(
        lines, columns, figsize=(WIDTH, 0.4 + 2.9 * lines), layout="constrained", squeeze=False,
        sharex=True, sharey=True,
    )  # fmt: skip
    for ax in axes.flat[len(found) :]:
        ax.set_visible(False)
    for ax, each in zip(axes.flat, found, strict=False):
        for name, one in each.runs.items():
            losses = [epoch["loss"] for epoch in one.history]
            if losses:
                stopped = " (stopped)" if each.how_far(name) else ""
                ax.plot(each.each(name) * np.arange(1, len(losses) + 1), losses,
                        color=COLOURS[name], label=name + stopped)  # fmt: skip
        baseline, solved = problem.baseline(each.steps), problem.solved(each.steps)
        ax.axhline(baseline, color="black", ls="--", lw=1, label=f"baseline, {baseline:.3f}")
        ax.axhline(solved, color="black", ls=":", lw=1, label=f"solved, {solved:.3g}")
        ax.set_yscale("log")
        ax.set_title(f"T = {each.steps}", fontsize=SMALL + 1)
        legend(ax)
    axes.flat[0].set_xlim(left=0, auto=None)  # for all, which go on to fit the longest run
    for ax in axes[:, 0]:
        ax.set_ylabel("loss")
    for ax in axes.flat[: len(found)][-columns:]:  # the lowest of each column
        ax.set_xlabel("steps of the optimiser")
        ax.tick_params(labelbottom=True)
    plain(axes.flat, "y")
    return figure


ADDING_EXPERIMENT = Experiment(
    "adding", "The adding problem", partial(run, ADDING), parts=True,
    item="Figure 5a–d", size="the paper's networks and lengths, by another recipe",
    about="A run counts as solved below 0.01; the baseline is 1/6.",
)  # fmt: skip
COPY_EXPERIMENT = Experiment(
    "copy", "Copy memory", partial(run, COPY), parts=True,
    item="Figure 5e–h", size="the paper's networks and lengths, by another recipe",
    about="A run counts as solved below a tenth of the baseline, 10·ln 8/(T + 20). The learning "
    "rate falls to zero over a run, so that a curve that was still falling flattens.",
)  # fmt: skip
