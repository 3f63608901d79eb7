"""Seq-MNIST and PS-MNIST: every model at equal budget, its learning rate chosen on validation data.

Each model is trained for a few epochs at every rate of a small sweep, then to the end at the one
with the best validation. What ends at chance is shown as not converged, what was not trained as not
run: all of it takes weeks on a few cores, so that it can be run in parts, by time and by rows, and
the parts add up in one folder. Beside them stand the trained networks of the repository.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from celif.experiments.machinery.deadline import Sitting
from celif.experiments.machinery.experiment import MODELS, Claim, Experiment, Outcome, Row, Settings
from celif.experiments.machinery.models import make
from celif.experiments.machinery.runs import Trained
from celif.experiments.table1_figure import draw
from training import checkpoint, tasks
from training.tasks import Task
from training.trainer import presets
from training.trainer.evaluation import evaluate
from training.trainer.presets import Preset
from training.trainer.recipe import Recipe

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
STORED = {
    "seq-mnist-88": 98.19,
    "seq-mnist-152": 98.84,
    "ps-mnist-88": 97.90,
    "ps-mnist-152": 98.14,
}
"""Networks of the repository, and the paper's test accuracy."""
NEAR = 0.3
"""Points below the paper's that count as reproduced."""
QUICK = (
    ("CE-LIF", False), ("LIF", False), ("LIF", True), ("PLIF", True), ("ALIF", True),
    ("LSTM", False), ("TCN", False),
)  # fmt: skip
LEARNT = 15.0
"""Percent of ten classes above which a model has learnt anything."""
NOT_RUN = "not run"


@dataclass(frozen=True)
class Plan:
    """What each model is given: rates to choose from, epochs to choose by, the whole training."""

    preset: Preset
    rates: tuple[float, ...]
    sweep_epochs: int
    wide: tuple[int, ...]
    """Widths of spiking networks without TE."""
    lstm: int


FULL = Plan(presets.get("seq-mnist-88"), (5e-4, 2e-3, 5e-3, 1e-2), 2, (64, 256, 256), 128)
SHORT = Plan(
    Preset("digits", (32, 32), Recipe(epochs=8, batch=64)), (5e-3, 1e-2), 4, (32, 32), 32
)  # fmt: skip


def label(name: str, recurrent: bool) -> str:
    """A row's name."""
    artificial = name in ("LSTM", "IndRNN", "TCN")
    return name if artificial else f"{name} {'recurrent' if recurrent else 'feedforward'}"


def sweep(
    name: str, recurrent: bool, task: Task, plan: Plan, sitting: Sitting
) -> tuple[float, Trained]:
    """The rate that is best on validation data, and its training: as far as time allowed."""
    found: dict[float, Trained] = {}
    for rate in plan.rates:
        found[rate] = _train(name, recurrent, task, plan, rate, sitting, plan.sweep_epochs)
        if not found[rate].finished:
            return rate, found[rate]
    rate = max(found, key=lambda each: found[each].validation)
    return rate, _train(name, recurrent, task, plan, rate, sitting)


def _train(
    name: str, recurrent: bool, task: Task, plan: Plan, rate: float, sitting: Sitting,
    sweep_epochs: int | None = None,
) -> Trained:  # fmt: skip
    epochs = sweep_epochs or plan.preset.recipe.epochs
    recipe = replace(plan.preset.recipe, lr=rate, epochs=epochs)
    hidden = plan.preset.hidden if name == "CE-LIF" else plan.wide
    celif, cells = plan.preset.network, plan.lstm
    built = partial(make, name, task, hidden, recipe, recurrent, celif, cells)
    folder = f"{task.name}-{label(name, recurrent).replace(' ', '-')}-{rate:g}"
    folder += "-sweep" if sweep_epochs else ""
    return sitting.train(folder, built, task, recipe, measured=not sweep_epochs)


def stored(name: str, task: Task) -> Row:
    """The row of a network of the repository, measured on the test data."""
    what, paper = f"CE-LIF feedforward, models/{name}, {task.name}", STORED[name]
    if not (MODELS / f"{name}.safetensors").is_file():
        return Row(what, None, paper, "%", f"{NOT_RUN}: models/{name}.safetensors is not there")
    net = checkpoint.load(MODELS / f"{name}.safetensors")
    score = 100 * evaluate(net, task.test)
    return Row(what, score, paper, "%", f"{net.num_parameters:,} parameters, a recipe of its own")


def _row(what: str, one: Trained, rate: float, paper: float | None, comparable: bool) -> Row:
    note = f"{one.parameters:,} parameters, rate {rate:g}"
    if not one.finished:
        note = f"{NOT_RUN} to the end: {len(one.history)} epochs at rate {rate:g}, validation "
        note += f"{100 * one.validation:.1f} %"
        if not one.history:
            note = NOT_RUN
    elif one.percent is None or one.percent <= LEARNT:
        note += ", did not converge"
    return Row(what, one.percent, paper, "%", note, comparable)


def run(settings: Settings) -> Outcome:
    """Every model on both tasks; quick: some of them on digits."""
    names: tuple[str, ...] = ("seq-mnist", "ps-mnist")
    models, plan, sitting = tuple(PAPER), FULL, Sitting.of(settings)
    if settings.quick:
        names, models, plan = ("digits",), QUICK, SHORT
    rows: list[Row] = []
    numbers: dict[str, Any] = {}
    for column, task_name in enumerate(names):
        task = tasks.load(task_name, settings.data)
        rows += [stored(name, task) for name in STORED if name.startswith(task_name)]
        for name, recurrent in models:
            what, paper = f"{label(name, recurrent)}, {task_name}", PAPER[name, recurrent][column]
            rate, one = sweep(name, recurrent, task, plan, sitting)
            rows.append(_row(what, one, rate, paper, not settings.quick))
            numbers[what] = {**one.plain(), "rate": rate, "finished": one.finished}
    recipe = plan.preset.recipe
    budget = (
        f"{', '.join(names)}: {recipe.epochs} epochs of batch {recipe.batch} at the best of the "
        f"rates {', '.join(f'{rate:g}' for rate in plan.rates)} by {plan.sweep_epochs} epochs of "
        f"each, seed 0; trained so {sum(one['finished'] for one in numbers.values())} of "
        f"{len(numbers)}"
    )
    notes = [
        "The paper's LSTM, ALIF, DEXAT, AHP, IndRNN and TCN are cited from elsewhere.",
        "Biases of the baselines start as torch draws them, those of CE-LIF at zero.",
    ]
    if settings.quick:
        notes.append(
            "Widths and epochs are equal, numbers of parameters are not; most of these models need "
            "far more epochs than this to learn."
        )
    else:
        notes.append(
            "How the networks of models/ were trained, each by a recipe of its own, is in "
            "models/README.md; they are not part of the comparison at equal epochs."
        )
    return Outcome(rows, _claims(rows, names), budget, draw(rows, budget), numbers, notes)


def _claims(rows: list[Row], names: tuple[str, ...]) -> list[Claim]:
    """What can be said of the rows that were run."""
    scores = {row.what: row.ours for row in rows if row.ours is not None}
    claims = [
        Claim(f"{row.what}: not more than {NEAR} points below the paper's",
              row.ours > row.paper - NEAR)
        for row in rows
        if "models/" in row.what and row.ours is not None and row.paper is not None
    ]  # fmt: skip
    for task_name in names:
        celif = f"{label('CE-LIF', False)}, {task_name}"
        others = [
            score for what, score in scores.items()
            if what.endswith(task_name) and "CE-LIF" not in what
            and ("feedforward" in what or "recurrent" in what)  # the artificial ones are neither
        ]  # fmt: skip
        if celif in scores and others:
            text = (
                f"{task_name}: CE-LIF feedforward beats every other spiking model at equal epochs"
            )
            claims.append(Claim(text, scores[celif] > max(others)))
    return claims


EXPERIMENT = Experiment("table1", "Sequential classification, all models", run, parts=True)
