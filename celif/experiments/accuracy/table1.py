"""The paper's first table: Seq-MNIST and PS-MNIST, every model that the paper ran.

Each model is trained on a share of the images at every rate of a sweep, then to the end at the rate
with the best validation. Models that end at chance are shown as not converged, and those that were
not trained as not run: all of it takes hours on one core, so it can be run in parts, by time and by
rows, that add up in one folder. The trained networks of the repository have rows of their own, and
so have the models that the paper cites, which are not trained.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from celif.experiments.accuracy import convolutional_teacher
from celif.experiments.accuracy.published_models import (
    DISTILLED,
    GENTLE,
    LARGER,
    LARGER_RECURRENT,
    LEFT_OUT,
    RECURRENT,
    RECURRENT_NOTE,
    RIVALS_NOTE,
    TABLE,
    TAKEN_OVER,
    TWO_EPOCHS,
    PublishedModel,
    TrainingBudget,
)
from celif.experiments.accuracy.table1_claims import LEARNT, claims, recurrent_and_feedforward
from celif.experiments.accuracy.table1_figure import draw
from celif.experiments.machinery.budget import Portion
from celif.experiments.machinery.compared_models import make, silence_feedback
from celif.experiments.machinery.deadline import Sitting
from celif.experiments.machinery.experiment import MODELS, Experiment, Outcome, Row, Settings
from celif.experiments.machinery.runs import Trained
from training import checkpoint, tasks
from training.tasks import Task
from training.trainer import presets
from training.trainer.evaluation import evaluate
from training.trainer.presets import Preset
from training.trainer.recipe import Recipe

CLEAN = "images as they are, chosen on validation data, one finished run"
STORED = {
    "seq-mnist-88": (98.19, CLEAN),
    "seq-mnist-152": (98.84, "distilled from a convolutional teacher, images and adversarial "
                      "changes of them, averaged weights, chosen on validation data after runs "
                      "that had been looked at on the test set"),
    "ps-mnist-88": (97.90, CLEAN),
    "ps-mnist-152": (98.14, "images shifted by up to a pixel before the permutation, which uses "
                     "the order that the task hides; averaged weights, warm start, second look at "
                     "the test set"),
}  # fmt: skip
"""Networks of the repository: the paper's test accuracy, and how they were trained."""
QUICK = tuple(
    PublishedModel(name, recurrent, seq, None)
    for name, recurrent, seq in (
        ("CE-LIF", False, 98.19), ("LIF", False, 63.45), ("LIF", True, 84.14),
        ("PLIF", True, 91.79), ("ALIF", True, None), ("LSTM", False, 98.20), ("TCN", False, 99.0),
    )
)  # fmt: skip
NOT_RUN = "not run"


@dataclass(frozen=True)
class Plan:
    """Networks of the table, and the budget of those that have none of their own."""

    preset: Preset
    budget: TrainingBudget
    wide: tuple[int, ...]
    """Widths of spiking networks without TE."""
    lstm: int


FULL = Plan(presets.get("seq-mnist-88"), TWO_EPOCHS, (64, 256, 256), 128)
SHORT = Plan(
    Preset("digits", (32, 32), Recipe()), TrainingBudget((5e-3, 1e-2), 4, 8, 64), (32, 32), 32
)


def sweep(model: PublishedModel, task: Task, plan: Plan, sitting: Sitting) -> tuple[float, Trained]:
    """Return the rate that is best on validation data, and its run, as far as time allowed."""
    found: dict[float, Trained] = {}
    rates = (model.budget or plan.budget).rates
    if len(rates) == 1:
        return rates[0], _train(model, task, plan, rates[0], sitting)
    for rate in rates:
        found[rate] = _train(model, task, plan, rate, sitting, trial=True)
        if not found[rate].finished:
            return rate, found[rate]
    rate = max(found, key=lambda each: found[each].validation)
    return rate, _train(model, task, plan, rate, sitting)


def _train(
    model: PublishedModel, task: Task, plan: Plan, rate: float, sitting: Sitting,
    trial: bool = False,
) -> Trained:  # fmt: skip
    budget = model.budget or plan.budget
    epochs = max(1, int(budget.trial)) if trial else budget.epochs
    recipe = replace(
        plan.preset.recipe, lr=rate, epochs=epochs, batch=budget.batch, average=budget.average,
        adversarial=budget.adversarial,
    )  # fmt: skip
    if trial and budget.trial < 1:
        task = replace(task, train=Portion.of(task.train, budget.trial, budget.batch))
    hidden = model.hidden or (plan.preset.hidden if model.name == "CE-LIF" else plan.wide)
    celif, cells = plan.preset.network, plan.lstm
    origin = MODELS / f"{budget.start_from}.safetensors" if budget.start_from else None
    built = partial(
        make, model.name, task, hidden, recipe, model.recurrent, celif, cells,
        start_from=origin,
    )  # fmt: skip
    # Trials of a network serve all of its rows.
    name = re.sub(r"\W+", "-", model.network if trial else model.label).strip("-")
    folder = f"{task.name}-{name}-{rate:g}" + ("-sweep" if trial else "")
    teach = None
    if budget.distilled:
        teach = partial(convolutional_teacher.teach, task, sitting.out, sitting.report)
        folder += f"-{convolutional_teacher.run_fingerprint()}"
    if origin is None:
        return sitting.train(folder, built, task, recipe, measured=not trial, prepare=teach)
    if not origin.is_file():
        return Trained(folder, [], None, 0, finished=False)
    # From other weights it is another run.
    folder += f"-{hashlib.sha256(origin.read_bytes()).hexdigest()[:8]}"
    control = silence_feedback if model.recurrent else None
    return sitting.train(folder, built, task, recipe, measured=True, control=control, prepare=teach)


def stored(name: str, task: Task) -> Row:
    """The row of a network of the repository, measured on the test data."""
    what, (paper, how) = f"CE-LIF feedforward, models/{name}, {task.name}", STORED[name]
    if not (MODELS / f"{name}.safetensors").is_file():
        return Row(what, None, paper, "%", f"{NOT_RUN}: models/{name}.safetensors is not there")
    net = checkpoint.load(MODELS / f"{name}.safetensors")
    score = 100 * evaluate(net, task.test)
    return Row(what, score, paper, "%", f"{net.num_parameters:,} parameters; {how}")


def _row(
    what: str, one: Trained, rate: float, paper: float | str | None, budget: TrainingBudget,
    comparable: bool,
) -> Row:  # fmt: skip
    note = f"{one.parameters:,} parameters, {len(one.history)} epochs at rate {rate:g}"
    note += ", adversarial inputs" if budget.adversarial else ""
    note += ", a teacher" if budget.distilled else ""
    if not one.history:
        note = NOT_RUN
    elif not one.finished:
        note = f"{NOT_RUN} to the end: {len(one.history)} epochs at rate {rate:g}, validation "
        note += f"{100 * one.validation:.1f} %"
    elif one.percent is None or one.percent <= LEARNT:
        note += ", at chance"
    if one.control is not None:
        note += f", {100 * one.control:.2f} % without its feedback"
    given, says = (None, paper) if isinstance(paper, str) else (paper, "")
    return Row(what, one.percent, given, "%", note, comparable, paper_says=says)


def _cited(model: PublishedModel, task_name: str, paper: float | str | None) -> Row | None:
    """The row of a number that the paper cites, if there is one."""
    if not isinstance(paper, float):
        return None
    return Row(f"{model.label}, {task_name}", None, paper, "%", "cited by the paper", cited=True)


def run(settings: Settings) -> Outcome:
    """Every model on both tasks; quick: some of them on digits."""
    names: tuple[str, ...] = ("seq-mnist", "ps-mnist")
    models, plan, sitting = TABLE, FULL, Sitting.of(settings)
    if settings.quick:
        names, models, plan = ("digits",), QUICK, SHORT
    rows: list[Row] = []
    numbers: dict[str, Any] = {}
    for column, task_name in enumerate(names):
        task = tasks.load(task_name, settings.data)
        rows += [stored(name, task) for name in STORED if name.startswith(task_name)]
        for model in models:
            what, paper = f"{model.label}, {task_name}", (model.seq, model.ps)[column]
            if paper == LEFT_OUT:
                continue
            if model.cited:
                rows += filter(None, [_cited(model, task_name, paper)])
                continue
            rate, one = sweep(model, task, plan, sitting)
            budget = model.budget or plan.budget
            comparable = not (settings.quick or budget.unfinished)
            rows.append(_row(what, one, rate, paper, budget, comparable))
            swept = len(budget.rates) > 1
            numbers[what] = {
                **one.plain(), "rate": rate, "finished": one.finished, "swept": swept
            }  # fmt: skip
    done = sum(one["finished"] for one in numbers.values())
    own = (
        f"; CE-LIF [64, 152, 152] {LARGER}, distilled {DISTILLED}; recurrent CE-LIF "
        f"[64, 136, 136] {RECURRENT}, [64, 152, 152] {LARGER_RECURRENT}, begun feedforward "
        f"{TAKEN_OVER}, at the lower rate {GENTLE}"
    )
    own = "" if settings.quick else own
    size = (
        f"{', '.join(names)}: {plan.budget}{own}; seed {plan.preset.recipe.seed}; {done} of "
        f"{len(numbers)} models have been trained"
    )
    notes = [
        "Biases of the baselines have PyTorch's default initialisation, those of CE-LIF start at "
        "zero; CE-LIF has a "
        f"dropout of {plan.preset.network.get('dropout', 0):g}, the baselines none but LTMD's own. "
        "docs/baselines.md says how they differ from the published models.",
    ]
    if settings.quick:
        notes.append(
            "Widths and epochs are equal, numbers of parameters are not; most of these models need "
            "far more epochs than this to learn."
        )
    else:
        notes.append(
            "The networks of models/ were trained by the recipes in models/README.md, on 55,000 "
            "images; the epoch was chosen on the other 5,000 training images. The authors' later "
            "code trains on 60,000 and keeps the epoch with the best test accuracy."
        )
        notes += [RECURRENT_NOTE, convolutional_teacher.DESCRIPTION]
        notes += recurrent_and_feedforward(rows, names)
        chosen = [one["rate"] for one in numbers.values() if one["finished"] and one["swept"]]
        largest, smallest = (
            sum(rate == edge for rate in chosen)
            for edge in (max(plan.budget.rates), min(plan.budget.rates))
        )
        notes.append(
            f"Of the {len(chosen)} models whose rate was chosen among three, {largest} took the "
            f"largest and {smallest} the smallest: a rate beyond might have served them better."
        )
        notes.append(RIVALS_NOTE)
    return Outcome(
        rows,
        claims(rows, names),
        size,
        draw(rows, f"{plan.budget.epochs} epochs"),
        numbers,
        notes,
    )


EXPERIMENT = Experiment(
    "table1", "Sequential classification, all models", run, parts=True,
    item="Table 1", size="the paper's networks and tasks, fewer epochs",
)  # fmt: skip
