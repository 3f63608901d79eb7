"""LIF and ALIF, recurrent, against CE-LIF on Seq-MNIST: each with the same processor time.

One thread each. A model is first trained for a sixth of the time at every rate of a small sweep;
the rate with the best validation then gets the whole time, from the start. ``--minutes`` is that
time.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

from celif.experiments.accuracy.table1_claims import LEARNT
from celif.experiments.machinery.budget import Spent, one_thread, seconds_a_step, spend
from celif.experiments.machinery.compared_models import COLOURS, make
from celif.experiments.machinery.drawing import WIDTH, legend, plain
from celif.experiments.machinery.experiment import Claim, Experiment, Outcome, Row, Settings
from training import tasks
from training.tasks import Split, Task
from training.trainer.recipe import Recipe

RATES = (2e-3, 1e-2)


@dataclass(frozen=True)
class Contender:
    """A model, its widths, the paper's accuracy on Seq-MNIST."""

    model: str
    hidden: tuple[int, ...]
    recurrent: bool
    paper: float

    @property
    def label(self) -> str:
        """A row's name."""
        kind = "recurrent" if self.recurrent else "feedforward"
        return f"{self.model} {kind} {list(self.hidden)}"


CONTENDERS = (
    Contender("LIF", (64, 256, 256), True, 84.14),
    Contender("ALIF", (64, 256, 256), True, 98.70),
    Contender("CE-LIF", (64, 152, 152), False, 98.84),
)
"""The paper's widths at which all have some 155,000 parameters."""
QUICK = tuple(replace(each, hidden=(32, 32)) for each in CONTENDERS)


@dataclass(frozen=True)
class Budget:
    """Processor seconds of a training run; the epochs of its recipe are the points of its curve."""

    seconds: float
    recipe: Recipe
    validated: int
    tested: int
    """Number of validation and test samples that are used, from the first."""

    @property
    def sweep(self) -> float:
        """Processor seconds of each rate to choose from."""
        return self.seconds / 6


FULL = Budget(600, Recipe(epochs=6, batch=32), 500, 2000)
SHORT = Budget(6, Recipe(epochs=6, batch=32), 144, 360)


@dataclass(frozen=True)
class TimedRun:
    """Result of a contender: its rate, and its training run with all of the time."""

    rate: float
    spent: Spent

    @property
    def minutes(self) -> np.ndarray:
        """Processor time up to the end of each epoch."""
        return np.cumsum(self.spent.seconds) / 60

    @property
    def validation(self) -> np.ndarray:
        """Accuracy in percent after each epoch."""
        return np.array([100 * epoch["validation"] for epoch in self.spent.run.history])

    def validation_at(self, minutes: float) -> float:
        """Accuracy in percent after so much time, between epochs along a line."""
        return float(np.interp(minutes, self.minutes, self.validation))

    def samples(self, batch: int) -> np.ndarray:
        """Samples seen up to the end of each epoch."""
        epochs = len(self.spent.seconds)
        return np.arange(1, epochs + 1) * self.spent.steps // epochs * batch

    def plain(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {
            **self.spent.run.plain(),
            "rate": self.rate,
            "steps": self.spent.steps,
            "processor_seconds": np.round(self.spent.seconds, 1).tolist(),  # by epoch
        }


def _first(split: Split, samples: int) -> Split:
    return Split(split.x[:samples], split.y[:samples])


def contend(contender: Contender, task: Task, budget: Budget, out: Path) -> TimedRun:
    """Sweep, then train with all of the time."""
    task = replace(
        task,
        validation=_first(task.validation, budget.validated),
        test=_first(task.test, budget.tested),
    )
    folder = "-".join((contender.model, *map(str, contender.hidden), f"{budget.seconds:g}s"))
    found: dict[float, Spent] = {}
    step: float | None = None
    for rate in RATES:
        recipe = replace(budget.recipe, lr=rate, epochs=1)
        net = make(contender.model, task, contender.hidden, recipe, contender.recurrent)
        step = step or seconds_a_step(net, task, recipe)
        steps = int(budget.sweep / step)
        found[rate] = spend(f"{folder}-sweep-{rate:g}", net, task, recipe, out, steps, False)
    rate = max(found, key=lambda each: found[each].run.validation)
    recipe = replace(budget.recipe, lr=rate)
    steps = int(budget.seconds / found[rate].seconds_a_step)
    net = make(contender.model, task, contender.hidden, recipe, contender.recurrent)
    return TimedRun(rate, spend(folder, net, task, recipe, out, steps))


def run(settings: Settings) -> Outcome:
    """All contenders one after the other, on one thread; quick: three small ones on digits."""
    task = tasks.load("digits" if settings.quick else "seq-mnist", settings.data)
    budget, contenders = (SHORT, QUICK) if settings.quick else (FULL, CONTENDERS)
    if settings.minutes is not None:
        budget = replace(budget, seconds=60 * settings.minutes)
    with one_thread():
        found = {each: contend(each, task, budget, settings.out) for each in contenders}
    rows = [_row(each, contest, not settings.quick) for each, contest in found.items()]
    scores = {each: contest.spent.run.percent or 0.0 for each, contest in found.items()}
    common = min(contest.minutes[-1] for contest in found.values())
    then = {each: contest.validation_at(common) for each, contest in found.items()}
    claims = []
    for each in found:
        if each.model == "CE-LIF":
            rest = [other for other in found if other.model != "CE-LIF"]
            text = f"{each.label} beats LIF and ALIF"
            claims += [
                Claim(f"{text} on test data", scores[each] > max(scores[o] for o in rest)),
                Claim(
                    f"{text} in validation after {common:.2g} min, the time that all of them had",
                    then[each] > max(then[other] for other in rest),
                ),
            ]
    words = (
        f"{task.name}, T = {task.steps}, {budget.seconds / 60:g} processor minutes each on one "
        f"thread, batch {budget.recipe.batch}, cosine; before, {budget.sweep:g} s for each "
        f"of the rates {', '.join(f'{rate:g}' for rate in RATES)}; {budget.validated} validation "
        f"and {budget.tested:,} test samples, seed 0"
    )
    notes = [
        "Processor time of the training alone, without validation: it does not count what other "
        "programs take of the machine. The number of steps is planned from the sweep's speed, so "
        "that the time in the rows is near the budget, not equal to it.",
        "CE-LIF runs through kernels that keep blocks of samples in the cache from layer to layer; "
        "a recurrent layer has to be walked step by step. The right half of the figure shows the "
        "samples seen in place of the time.",
        "The paper's number of ALIF is that of the published neuron; the one here is that of the "
        "paper's equation 3.",
        "Biases of LIF and ALIF start as torch draws them, those of CE-LIF at zero.",
        "The paper's numbers are those of finished training runs.",
    ]
    numbers = {each.label: contest.plain() for each, contest in found.items()}
    figure = _figure(found, budget)
    options = () if settings.minutes is None else (f"--minutes {settings.minutes:g}",)
    return Outcome(rows, claims, words, figure, numbers, notes, options)


def _row(contender: Contender, contest: TimedRun, of_paper: bool) -> Row:
    spent = contest.spent
    note = (
        f"{spent.run.parameters:,} parameters, rate {contest.rate:g}, {spent.steps:,} steps, "
        f"{sum(spent.seconds) / 60:.2g} min"
    )
    if (spent.run.percent or 0.0) <= LEARNT:
        note += ", hardly above chance"
    paper = contender.paper if of_paper else None
    return Row(contender.label, spent.run.percent, paper, "%", note, comparable=False)


def _figure(found: dict[Contender, TimedRun], budget: Budget) -> Figure:
    figure, (left, right) = plt.subplots(
        1, 2, figsize=(WIDTH, 3.4), layout="constrained", sharey=True
    )
    for each, contest in found.items():
        look = {"color": COLOURS[each.model], "marker": "o", "ms": 3}
        left.plot(contest.minutes, contest.validation, label=each.label, **look)
        right.plot(contest.samples(budget.recipe.batch), contest.validation, **look)
    left.set(xlabel="processor time, minutes", ylabel="validation accuracy, %", ylim=(0, 100))
    right.set(xlabel="samples seen", xscale="log")
    left.set_xlim(0, None)
    legend(left)
    plain((left, right), "y")
    return figure


EXPERIMENT = Experiment(
    "equal-time", "LIF, ALIF and CE-LIF at equal processor time", run, parts=True,
    item="Figure 4a",
    size="another design: equal processor time",
    about="Times depend on how well each network is implemented. LIF's run was unstable: it ended "
    "near chance, although its trial had come to 24.6 % on validation data, and the same network "
    "comes to 48.21 % after two epochs in Table 1. ALIF was still learning.",
)  # fmt: skip
