"""Seq-MNIST and PS-MNIST: every model at equal budget, its learning rate chosen on validation data.

Each model is trained once for every rate of a small sweep; the one with the best validation is
reported, on test data. What ends at chance is shown as not converged.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

from pipeline.experiments.experiment import Claim, Experiment, Outcome, Row, Settings
from pipeline.experiments.models import make
from pipeline.experiments.sessions import Trained, train
from pipeline.figures import FLOAT, GREY
from training import presets, tasks
from training.presets import Preset
from training.recipe import Recipe
from training.tasks import Task

PAPER: dict[tuple[str, bool], tuple[float | None, float | None]] = {
    ("CE-LIF", False): (98.19, 97.90),
    ("CE-LIF", True): (98.41, 97.83),
    ("LIF", False): (63.45, None),
    ("LIF", True): (84.14, 55.13),
    ("LTMD", False): (68.56, None),
    ("LTMD", True): (84.62, 54.93),
    ("PLIF", False): (87.92, None),
    ("PLIF", True): (91.79, None),
    ("GLIF", False): (95.27, None),
    ("GLIF", True): (96.64, 90.47),
    ("ALIF", False): (None, None),
    ("ALIF", True): (98.70, 94.30),
    ("DEXAT", True): (96.4, None),
    ("AHP", True): (96.0, None),
    ("LSTM", False): (98.20, 88.00),
    ("IndRNN", False): (99.5, 96.0),
    ("TCN", False): (99.0, 97.2),
}
"""Test accuracy in percent, Seq-MNIST and PS-MNIST, by model and whether it is recurrent."""
QUICK = (
    ("CE-LIF", False), ("LIF", False), ("LIF", True), ("PLIF", True), ("ALIF", True),
    ("LSTM", False), ("TCN", False),
)  # fmt: skip
RATES: tuple[float, ...] = (5e-4, 2e-3, 5e-3, 1e-2)
QUICK_RATES: tuple[float, ...] = (5e-3, 1e-2)
LEARNT = 15.0
"""Percent of ten classes above which a model has learnt anything."""


def label(name: str, recurrent: bool) -> str:
    """A row's name."""
    artificial = name in ("LSTM", "IndRNN", "TCN")
    return name if artificial else f"{name} {'recurrent' if recurrent else 'feedforward'}"


def sweep(
    name: str, recurrent: bool, task: Task, preset: Preset, rates: tuple[float, ...],
    settings: Settings,
) -> tuple[float, Trained]:  # fmt: skip
    """Train for each learning rate; return the best on validation data, and its rate."""
    found = []
    hidden = preset.hidden
    if not settings.quick and name != "CE-LIF":
        hidden = (64, 256, 256)  # the paper's, to equal numbers of parameters
    for rate in rates:
        recipe = replace(preset.recipe, lr=rate)
        celif = preset.network if name == "CE-LIF" else None
        width = 32 if settings.quick else 128
        net = make(name, task, hidden, recipe, recurrent, celif, width)
        folder = f"{task.name}-{label(name, recurrent).replace(' ', '-')}-{rate:g}"
        run_ = train(folder, net, task, recipe, settings.out)
        best = max((epoch["validation"] for epoch in run_.history), default=0.0)
        found.append((best, rate, run_))
    _, rate, run_ = max(found, key=lambda each: each[0])
    return rate, run_


def run(settings: Settings) -> Outcome:
    """Every model on both tasks; quick: some of them on digits."""
    preset, models, rates = presets.get("seq-mnist-88"), tuple(PAPER), RATES
    names = ["seq-mnist", "ps-mnist"]
    if settings.quick:
        preset = Preset("digits", (32, 32), Recipe(epochs=8, batch=64))
        names, models, rates = ["digits"], QUICK, QUICK_RATES
    rows, numbers, results = [], {}, {}
    for column, task_name in enumerate(names):
        task = tasks.load(task_name, settings.data)
        for name, recurrent in models:
            rate, one = sweep(name, recurrent, task, preset, rates, settings)
            what = label(name, recurrent)
            learnt = one.percent is not None and one.percent > LEARNT
            note = f"{one.parameters:,} parameters, rate {rate:g}" + (
                "" if learnt else ", did not converge"
            )
            paper = PAPER[name, recurrent][column]
            rows.append(
                Row(f"{what}, {task_name}", one.percent, paper, "%", note, not settings.quick)
            )
            results[f"{what}, {task_name}"] = one
            numbers[f"{task_name}/{what}"] = {**one.plain(), "rate": rate}
    claims = [
        Claim(
            f"{task_name}: CE-LIF feedforward beats every other spiking model at equal epochs",
            _beats_other_spiking(results, task_name),
        )
        for task_name in names
    ]
    budget = (
        f"{', '.join(names)}: {preset.recipe.epochs} epochs of batch {preset.recipe.batch} for "
        f"each of the learning rates {', '.join(f'{rate:g}' for rate in rates)}, seed 0"
    )
    notes = ["The paper's LSTM, ALIF, DEXAT, AHP, IndRNN and TCN are cited from elsewhere."]
    if settings.quick:
        notes.append(
            "Widths and epochs are equal, numbers of parameters are not; most of these models need "
            "far more epochs than this to learn."
        )
    figure = _figure(results, rows, budget)
    return Outcome(rows, claims, budget, figure, numbers, notes)


def _beats_other_spiking(results: dict[str, Trained], task_name: str) -> bool:
    scores = {what: one.percent or 0.0 for what, one in results.items() if task_name in what}
    kinds = ("feedforward", "recurrent")  # the artificial ones are neither
    others = [
        score for what, score in scores.items()
        if "CE-LIF" not in what and any(kind in what for kind in kinds)
    ]  # fmt: skip
    return scores[f"{label('CE-LIF', False)}, {task_name}"] > max(others)


def _figure(results: dict[str, Trained], rows: list[Row], budget: str) -> Figure:
    figure, ax = plt.subplots(figsize=(9, 1.2 + 0.42 * len(results)), layout="constrained")
    place = np.arange(len(results))
    paper = [row.paper or 0 for row in rows]
    ax.barh(place - 0.2, paper, 0.38, color=GREY, label="paper, MNIST")
    ours = [one.percent or 0 for one in results.values()]
    bars = ax.barh(place + 0.2, ours, 0.38, color=FLOAT, label="ours")
    ax.bar_label(bars, fmt="%.1f", fontsize=8, padding=2)
    ax.set_yticks(place, list(results))
    ax.invert_yaxis()
    ax.set(xlabel="test accuracy, %", xlim=(0, 112))
    ax.legend(frameon=False, fontsize=8, ncols=2, loc="lower right", bbox_to_anchor=(1, 1))
    ax.spines[["top", "right"]].set_visible(False)
    figure.suptitle(budget, fontsize=8)
    return figure


EXPERIMENT = Experiment("table1", "Sequential classification, all models", run)
