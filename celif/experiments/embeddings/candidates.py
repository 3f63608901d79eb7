"""The recipes that every context of the threshold is tried with, and the choice among them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any

from celif.experiments.machinery.runs import Trained

RATES = (1e-3, 3e-3, 1e-2)
"""Peak learning rates of the trials."""
STYLES: tuple[tuple[Any, ...], ...] = (
    (1, 0.2),
    (0.1, 0.5),
    (10, 0.5, "sums", False),
    (30, 0.5, "sums", False),
)
"""Settings that are tried with each rate, see :class:`Candidate`: V⊙TE's; a slower TE and a wider
surrogate; and, with the latter and without dropout, the sums of TE."""


@dataclass(frozen=True)
class Candidate:
    """A recipe to try: a rate, TE's as a multiple of it, and the surrogate's width.

    ``te_update`` is that of :class:`training.trainer.recipe.Recipe`; ``dropout`` is whether the
    network has its usual dropout.
    """

    rate: float
    te_lr: float
    width: float
    te_update: str = "entries"
    dropout: bool = True

    def __str__(self) -> str:
        te = "that of TE's sums" if self.te_update == "sums" else "TE's"
        said = f"rate {self.rate:g}, {te} {self.rate * self.te_lr:g}, surrogate {self.width:g}"
        return said if self.dropout else f"{said}, no dropout"

    @property
    def folder(self) -> str:
        """The end of the name of a run's folder."""
        sums = "-sums" if self.te_update == "sums" else ""
        dropout = "" if self.dropout else "-no-dropout"
        return f"{self.rate:g}-te-{self.te_lr:g}-width-{self.width:g}{sums}{dropout}"


ALIKE = 0.01
"""Difference in accuracy below which trials hardly differ."""
TRIALS = tuple(Candidate(rate, *style) for rate, style in product(RATES, STYLES))


def trials(context: str) -> tuple[Candidate, ...]:
    """Return the trials of a context; S and V have no TE, so that the last two settings are one."""
    return tuple(trial for trial in TRIALS if "te" in context or trial.te_lr != STYLES[-1][0])


def best(tried: dict[Candidate, Trained]) -> Candidate:
    """The trial with the best validation; of equal ones, that with the lowest rate."""
    return max(tried, key=lambda trial: (tried[trial].validation, -TRIALS.index(trial)))


def alike(tried: dict[Candidate, Trained]) -> bool:
    """Whether the trials hardly differ."""
    validations = [one.validation for one in tried.values()]
    return max(validations) < min(validations) + ALIKE


ABOUT = (
    "Every context has the same trials. They combine three rates with four settings: TE at "
    "that rate and a surrogate of 0.2, as in the paper; TE at a tenth of it and a surrogate of "
    "0.5; and, with that surrogate and without dropout, updates of TE's sums at 10 and at 30 "
    "times the rate. In an update of the sums AdamW moves Σ β^(t−k)·TE[k], which is what TE "
    "adds to a threshold where it enters it without a factor, in place of TE[t]: a step that "
    "the paper's optimiser does not take. S and V do not read TE, so that the last two are one "
    "for them. The settings were chosen after some fifty trials by hand of S, V, TE and V+TE "
    "on validation data of Seq-MNIST (rates from 1e-3 to 1e-2, TE's from 0.1 to 1 and its "
    "sums' from 0.3 to 100 times that, surrogates from 0.2 to 2, with PyTorch's default biases "
    "or none, with and without dropout), which were not kept; V⊙TE had been tuned before. The "
    "best trial is the one with the best validation. Until S⊙TE was trained it was, of those "
    "within a point of that, the one with the lowest rate, which for S⊙TE is TE's sums at 0.01; so "
    "trained it fell to 83 % on validation data and was stopped after 11 epochs. β and biases that "
    "start at zero are V⊙TE's for all. TE is 68,992 of the 83,562 parameters; the paper's V⊙TE has "
    "153,962."
)
"""What was tried, and how."""
SHORTER = (
    "Two shorter sets of runs came before, and their test accuracies were known when these were "
    "planned: 4 epochs by the best of four trials of 0.2 epochs, and 10 epochs by the best of six "
    "trials of an epoch, in which AdamW updated TE's entries. S, V, TE, V+TE, S⊙TE and V⊙TE came "
    "to 15.45, 44.48, 80.96, 68.51, 84.87 and 95.54, then to 14.69, 58.00, 78.93, 74.70, 93.81 and "
    "98.12 % of the test images of Seq-MNIST, and to 18.81, 26.76, 57.30, 38.17, 83.04 and 94.58, "
    "then to 19.78, 30.75, 51.68, 52.44, 93.13 and 97.47 % of PS-MNIST "
    "(docs/results/contexts.json in commits 2757ffe and 993439d). TE and V+TE stayed far below the "
    "paper. Trials by hand showed a reason, on validation data of Seq-MNIST without dropout: after "
    "two epochs TE came to 60.1 % with updates of its entries and to 79.3 % with updates of its "
    "sums, V+TE to 65.6 and 75.1 %."
)
"""What the contexts came to in shorter runs."""
