"""Training runs of CE-LIF, ALIF and LSTM at one length of the adding problem or copy memory.

All of them are read alike: in copy memory at every step, in the adding problem from the mean over
all steps. That mean adds up the two numbers by itself, so that the task can be solved without any
memory; :data:`LAST` are models that are read at the last step instead, when nothing but what they
remember is left.

CE-LIF is trained twice: by its own recipe, and by the trials that ALIF and LSTM have, too
(:mod:`celif.experiments.memory.equal_trials`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial

from celif.experiments.machinery.compared_models import make
from celif.experiments.machinery.deadline import Sitting, how_far, steps_an_epoch
from celif.experiments.machinery.runs import Trained
from celif.experiments.memory import equal_trials
from celif.experiments.memory.equal_trials import EQUAL, Tuned
from training import tasks
from training.tasks import Task
from training.trainer import presets
from training.trainer.presets import Preset
from training.trainer.recipe import Recipe

QUICK_MODELS = ("CE-LIF", "ALIF", "LSTM")
MODELS = ("CE-LIF", *equal_trials.NAMES)
LAST = {"CE-LIF-last": "CE-LIF", "LSTM-last": "LSTM"}
"""Models that are read at the last step, by the names of their runs."""
LAST_LENGTHS = {"adding": (100, 200), "copy": ()}
"""Lengths at which they are trained."""
LAST_EPOCHS = 100
"""5,000 steps, as CE-LIF has at the longer lengths; by 1,200 it had not learnt to the end."""


def models(problem: str, steps: int) -> tuple[str, ...]:
    """Return the models that are trained at a length."""
    equation = ("ALIF",) if steps in equal_trials.EQUATION[problem] else ()
    last = tuple(LAST) if steps in LAST_LENGTHS[problem] else ()
    return (MODELS[0], *equation, *MODELS[1:], EQUAL, *last)


def label(name: str) -> str:
    """Return a model's name in words."""
    if name == EQUAL:
        return "CE-LIF, equal tuning"
    return f"{LAST[name]} read at the last step" if name in LAST else name


@dataclass(frozen=True)
class LengthRuns:
    """Training runs of the models at one length T, each by its recipe.

    ``tuned`` says what the trials of a model chose, if it has any.
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

    def common(self, names: Iterable[str]) -> int:
        """Steps of the optimiser that all of ``names`` have done."""
        return min(len(self.runs[name].history) * self.each(name) for name in names)


def contest(
    steps: int,
    preset: Preset,
    cells: int,
    sitting: Sitting,
    tried: dict[str, dict[Tuned, Trained]] | None = None,
    names: Iterable[str] = MODELS,
) -> LengthRuns:
    """Train each model on the problem of that length.

    ``tried`` has the trials of each model that has some; the others have CE-LIF's own recipe.
    """
    task = tasks.load(preset.task)
    celif = {**presets.get(task.name).network, **preset.network}
    found = LengthRuns(steps, task, {}, dict.fromkeys(names, preset.recipe), {})
    for name in found.recipes:
        given = preset
        if name in LAST:
            given = replace(preset, recipe=replace(preset.recipe, epochs=LAST_EPOCHS))
            found.recipes[name] = given.recipe
        if tried is not None and LAST.get(name, name) in tried:
            trials = tried[LAST.get(name, name)]
            recipe, run, chosen = equal_trials.train(name, task, given, trials, cells, sitting)
            found.recipes[name], found.runs[name], found.tuned[name] = recipe, run, chosen
            continue
        built = equal_trials.network(name, task, given, given.recipe, cells)
        if name == "CE-LIF":
            built = partial(make, name, task, given.hidden, given.recipe, celif=celif)
        elif name == "CE-LIF-last":  # its thresholds must keep what comes first to the end
            kept = {**celif, "beta": 1 - 1 / steps}
            built = partial(
                make, "CE-LIF", task, given.hidden, given.recipe, celif=kept, readout="last"
            )
        found.runs[name] = sitting.train(f"{task.name}-{name}", built, task, given.recipe)
    return found
