"""Trials that ALIF, LSTM and CE-LIF have alike on the adding problem and copy memory.

CE-LIF's own recipes were found by many trials (:mod:`celif.experiments.memory.tuning`). Here every
model has the same few, :data:`TRIALS`: short runs at T = 100 of each learning rate and limit of the
gradient's norm. The best is used at all lengths, with the same steps and batches for all.
:data:`EQUAL` is CE-LIF so trained, with the paper's surrogate and one rate for all parameters.

At full size ALIF is the published one, SoftALIF (:mod:`training.baselines.gated_neurons`); that of
the paper's equation 3 is trained by CE-LIF's own recipe, at the lengths of :data:`EQUATION` and in
the quick sizes. A step of ALIF or LSTM takes 1.5 to 3 times as long as CE-LIF's, so there are fewer
steps in copy memory and at the longer lengths of the adding problem than by CE-LIF's own recipes,
and smaller batches at the longer lengths of both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from itertools import product

from torch import nn

from celif.experiments.machinery.compared_models import make
from celif.experiments.machinery.deadline import Sitting
from celif.experiments.machinery.runs import Trained, parameters
from training import tasks
from training.tasks import Task
from training.trainer import presets
from training.trainer.presets import Preset
from training.trainer.recipe import Recipe

NAMES = ("SoftALIF", "LSTM")
EQUAL = "CE-LIF-equal"
"""CE-LIF by the same trials, by the name of its runs."""
EQUATION = {"adding": (100, 200), "copy": (100,)}
"""Lengths at which ALIF of the paper's equation 3 is trained, too."""
LENGTH = 100
"""T of the trials."""
RATES, CLIPS = (1e-3, 3e-3, 1e-2), (0.01, 1.0)
TRIALS = tuple(product(RATES, CLIPS))
"""Learning rate and largest norm of a gradient of each trial."""
TRIAL_EPOCHS = {"adding": 6, "copy": 5}
"""300 steps of the adding problem, 500 of copy memory."""
LONG = 200
"""Lengths above it have :data:`LONG_BATCH`."""
LONG_BATCH = 64
LONG_EPOCHS = 20
"""2,000 steps of the adding problem."""
COPY_EPOCHS = 30
"""3,000 steps of copy memory, at every length; CE-LIF solves T = 100 and 200 in 2,500."""


@dataclass(frozen=True)
class Tuned:
    """A trial: its rate and clip, and the loss of its last epoch."""

    rate: float
    clip: float
    loss: float

    def recipe(self, preset: Preset) -> Recipe:
        """The recipe at the length of ``preset``, with one rate for all parameters."""
        problem, _, steps = preset.task.partition("-")
        found = replace(preset.recipe, lr=self.rate, clip=self.clip, te_lr=1.0, te_update="entries")
        if int(steps) > LONG:
            found = replace(found, epochs=LONG_EPOCHS, batch=LONG_BATCH)
        return replace(found, epochs=COPY_EPOCHS) if problem == "copy" else found

    def __str__(self) -> str:
        return f"rate {self.rate:g}, clip {self.clip:g}"


def trials(problem: str, name: str, cells: int, sitting: Sitting) -> dict[Tuned, Trained]:
    """Every finished trial of a model, trained now or before."""
    preset = presets.get(f"{problem}-{LENGTH}")
    task, found = tasks.load(preset.task), {}
    for rate, clip in TRIALS:
        recipe = replace(Tuned(rate, clip, 0.0).recipe(preset), epochs=TRIAL_EPOCHS[problem])
        folder = f"{task.name}-{name}-{rate:g}-clip-{clip:g}-sweep"
        run = sitting.train(folder, network(name, task, preset, recipe, cells), task, recipe)
        if run.finished:
            loss = run.history[-1]["loss"] if len(run.history) == recipe.epochs else float("inf")
            found[Tuned(rate, clip, loss)] = run
    return found


def best(tried: Iterable[Tuned]) -> Tuned:
    """The trial with the lowest loss."""
    return min(tried, key=lambda each: each.loss)


def network(
    name: str, task: Task, preset: Preset, recipe: Recipe, cells: int
) -> Callable[[], nn.Module]:
    """What builds a model; ALIF of either kind is recurrent, as in the paper.

    One that is called "-last" is read at the last step.
    """
    if name == EQUAL:  # the width of the preset's surrogate was found by CE-LIF's own trials
        paper = {option: value for option, value in preset.network.items() if option != "width"}
        return partial(make, "CE-LIF", task, preset.hidden, recipe, celif=paper)
    model, readout = name.removesuffix("-last"), "last" if name.endswith("-last") else None
    return partial(make, model, task, preset.hidden, recipe, "ALIF" in model, None, cells, readout)


def train(
    name: str, task: Task, preset: Preset, tried: dict[Tuned, Trained], cells: int, sitting: Sitting
) -> tuple[Recipe, Trained, str]:
    """Train a model by the best of its trials; without all of them it is not begun.

    Returns the recipe, the run, and what to say of it.
    """
    folder = f"{task.name}-{name}"
    if len(tried) < len(TRIALS):
        recipe = preset.recipe
        net = network(name, task, preset, recipe, cells)()
        return recipe, Trained(folder, [], None, parameters(net), finished=False), ""
    chosen = best(tried)
    recipe = chosen.recipe(preset)
    run = sitting.train(folder, network(name, task, preset, recipe, cells), task, recipe)
    return recipe, run, str(chosen)


def sentence(name: str, tried: dict[Tuned, Trained], problem: str) -> str:
    """Say what was tried for a model, best first."""
    ordered = sorted(tried, key=lambda each: each.loss)
    losses = "; ".join(f"{each}: {each.loss:.3g}" for each in ordered)
    recipe = presets.get(f"{problem}-{LENGTH}").recipe
    steps = TRIAL_EPOCHS[problem] * -(-len(tasks.load(f"{problem}-{LENGTH}").train) // recipe.batch)
    edge = (ordered[0].rate, ordered[0].clip) in product((RATES[0], RATES[-1]), CLIPS)
    said = f"The best{', at the edge of the rates,' if edge else ''} is used at all lengths."
    if ordered[-1].loss < 1.05 * ordered[0].loss:
        said = "They hardly differ, so that the one used at all lengths, the first, is by chance."
    return (
        f"{name} at T = {LENGTH}, mean loss of the last 6,400 samples of {steps} steps: "
        f"{losses}. {said}"
    )
