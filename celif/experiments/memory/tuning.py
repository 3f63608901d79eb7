"""How the recipes of the adding problem and copy memory were found: every trial, and what it gave.

A trial is a short run from seed 0, judged by its mean training loss, which is a loss on fresh
samples. Records have the list under ``tried``. There is no list of the trials at T = 30 and 100
that came first, some 35 for copy memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import groupby
from typing import Any


@dataclass(frozen=True)
class Trial:
    """A short training run.

    Parameters
    ----------
    task, model
        What was trained on what.
    steps
        The steps of the optimiser whose losses the mean is of.
    recipe
        In what the recipe differs from the others.
    loss
        The mean.
    """

    task: str
    model: str
    steps: str
    recipe: str
    loss: float


def _trials(task: str, model: str, steps: str, losses: dict[str, float]) -> list[Trial]:
    return [Trial(task, model, steps, recipe, loss) for recipe, loss in losses.items()]


TRIALS = [
    *_trials("copy-200", "CE-LIF", "701–800", {
        "clip 0.01 (chosen)": 0.052, "clip 0.1": 0.055, "clip 1": 0.068,
        "clip 0.01, TE 1.2/T": 0.060, "clip 0.01, both rates doubled": 0.090,
        "clip 0.01, half the rate, TE 1.2/T": 0.058,
        "clip 1, twice the rate": 0.081, "clip 1, both rates doubled": 0.087,
        "clip 1, TE 1.8/T": 0.069, "clip 1, surrogate 0.6": 0.082,
    }),
    *_trials("copy-200", "CE-LIF", "4,901–5,000", {"clip 1": 0.0124}),
    *_trials("copy-400", "CE-LIF", "up to 400, trained apart from the following", {
        "2e-3, TE 0.6/T by entries": 0.0472, "the same, TE 2.4/T without the mean": 0.0456,
        "the same, TE 8/T without the mean": 0.0469,
    }),
    *_trials("copy-400", "CE-LIF", "up to 500, trained apart from the following", {
        "2e-3, TE 0.6/T by entries": 0.0458, "the same, TE starting at 100/T of its size": 0.0473,
    }),
    *_trials("copy-400", "CE-LIF", "401–500", {
        "2e-3, TE 0.6/T by entries": 0.0483, "2e-3, TE 1.2/T by rows": 0.0451,
        "2e-3, TE 2.4/T by rows": 0.0430, "2e-3, TE 8/T by rows": 0.0448,
        "1e-3, TE 2.4/T by rows (chosen)": 0.0409, "5e-4, TE 2.4/T by rows": 0.0424,
        "1e-3, TE 2.4/T by rows, without updates by 10 times the usual gradient": 0.0422,
        "2e-3, TE 2.4/T by rows and with a weight decay of 1": 0.0495,
        "2e-3, TE 0.6/T, one second moment per row but the mean left in": 0.0486,
    }),
    *_trials("copy-400", "CE-LIF", "101–200", {
        "1e-3, TE 4/T by rows": 0.0460, "1e-3, TE 2.4/T by rows (chosen)": 0.0455,
    }),
    *_trials("copy-400", "CE-LIF", "2,351–2,400, from one state after 2,300 of batch 64", {
        "the same rates": 0.0231, "half the rates": 0.0220, "a fifth of the rates": 0.0217,
        "TE 0.3/T": 0.0220, "TE 0.1/T": 0.0221, "weights 1e-4": 0.0230,
        "weights 2e-3, TE 0.3/T": 0.0236, "weights 2e-3, TE 0.1/T": 0.0232,
        "half the rates, TE by entries at 0.3/T": 0.0223,
        "half the rates, a fifth of the mean left in": 0.0226,
        "the same rates, batch 256 (chosen)": 0.0211,
    }),
    *_trials("copy-500", "CE-LIF", "2,976–3,000", {"3,000 steps in all": 0.0047}),
    *_trials("adding-200", "CE-LIF", "151–200", {
        "TE at 0.3 of the rate (chosen)": 0.038, "TE at the rate": 0.046, "clip 10": 0.045,
        "clip 0.1": 0.060, "surrogate 0.4": 0.096,
    }),
    *_trials("adding-200", "CE-LIF", "1,151–1,200", {"TE at the rate": 0.0135}),
    *_trials("adding-500", "CE-LIF", "101–150", {"β = 0.99 (chosen)": 0.160, "β = 0.998": 0.167}),
    *_trials("adding-500", "CE-LIF", "1,151–1,200", {
        "1,200 steps in all, TE at 0.3 of the rate": 0.0146,
    }),
    *_trials("adding-500", "CE-LIF", "1,951–2,000", {
        "2,000 steps in all, TE at 0.1 of the rate": 0.0114,
    }),
    *_trials("adding-800", "CE-LIF", "1,151–1,200", {
        "1,200 steps in all, TE at 0.3 of the rate": 0.0163,
    }),
]  # fmt: skip


ABOUT = {
    "adding": "Unlike the paper, which trains at 5e-4 with a batch of 256, CE-LIF's rate goes up "
    "to 5e-3, TE's to 1.5e-3, at T = 500 and 800 to 0.25/T. The steps at these two lengths were "
    "raised from 1,200 to 5,000 after shorter runs had missed the limit.",
    "copy": "As in the paper, β is 1 − 1/T. Unlike there, the surrogate is twice as wide, and "
    "TE has a rate of its own. At T = 100 and 200 the batch is 64 and the rates go up to 2e-3 and "
    "0.6/T, found by some 35 short trials at T = 30 and 100. At T = 400 and 500 batch and rate are "
    "the paper's 256 and 1e-3, TE's is 2.4/T, and a neuron's TE is updated as a row: without the "
    "mean over time of its gradient, and with one second moment for all steps. Gradients are "
    "clipped at a norm of 0.01, as in the authors' later code. The task follows the paper's words; "
    "that code draws its 50,000 sequences once, has nine channels, with zeros for a blank, and "
    "begins its markers one step before the recall. The steps at T = 500 were raised from 3,000 to "
    "5,000 after the shorter run had missed the limit.",
}
"""What a reader must know of the recipes."""


def _of(problem: str) -> list[Trial]:
    return [trial for trial in TRIALS if trial.task.startswith(f"{problem}-")]


def tried(problem: str) -> list[dict[str, Any]]:
    """The trials of ``"adding"`` or ``"copy"``, as plain values."""
    return [asdict(trial) for trial in _of(problem)]


def sentences(problem: str) -> Iterator[str]:
    """Say what was tried, one sentence for each task, model and range of steps."""
    for key, trials in groupby(_of(problem), lambda t: (t.task, t.model, t.steps)):
        task, model, steps = key
        losses = "; ".join(f"{trial.recipe}: {trial.loss:g}" for trial in trials)
        length = task.partition("-")[2]
        yield f"{model} at T = {length}, mean loss of steps {steps}: {losses}."
