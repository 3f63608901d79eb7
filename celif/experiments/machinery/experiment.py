"""What an experiment is given, and what it answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

MODELS = Path(__file__).resolve().parents[3] / "models"
"""Trained networks of the repository; not part of the installed package."""


@dataclass(frozen=True)
class Settings:
    """How an experiment is to run.

    Parameters
    ----------
    out
        Folder of the run; training runs in it are resumed.
    quick
        Run a small size, a minute or two on two cores, instead of the paper's.
    data
        Folder of MNIST, for experiments that need it.
    minutes, only
        For experiments of many long training runs, see
        :mod:`celif.experiments.machinery.deadline`: stop after this time; train only runs whose
        names contain one of these.
    again
        Train again what the repository's record already holds.
    """

    out: Path
    quick: bool = False
    data: Path | None = None
    minutes: float | None = None
    only: tuple[str, ...] = ()
    again: bool = False


@dataclass(frozen=True)
class Row:
    """Our number and the paper's; None where there is none.

    ``spread`` is the standard deviation where ours is a mean, for example over seeds. No
    difference is taken of numbers that are not ``comparable``, such as those of another task. A
    number that the paper only cites is ``cited``; ``paper_says`` is what the paper prints in place
    of a number, such as "did not converge".
    """

    what: str
    ours: float | None
    paper: float | None = None
    unit: str = ""
    note: str = ""
    comparable: bool = True
    spread: float | None = None
    cited: bool = False
    paper_says: str = ""

    @property
    def difference(self) -> float | None:
        """Ours less the paper's."""
        if self.ours is None or self.paper is None or not self.comparable:
            return None
        return self.ours - self.paper


@dataclass(frozen=True)
class Claim:
    """A statement that the experiment tests, and whether it held in this run."""

    text: str
    holds: bool


@dataclass(frozen=True)
class Outcome:
    """Results of an experiment.

    Parameters
    ----------
    rows, claims
        Numbers to compare, and statements tested.
    budget
        Sizes, steps and samples, in words.
    figure
        A figure that can be read at the width of a page.
    numbers
        Everything else worth keeping, as plain values.
    notes
        What a reader must know to judge the numbers.
    options
        Options of the command for the same size.
    trials
        What was tried before the recipes were chosen, a sentence for each group of trials.
    """

    rows: list[Row]
    claims: list[Claim]
    budget: str
    figure: Figure
    numbers: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    options: tuple[str, ...] = ()
    trials: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Experiment:
    """A name, what the paper shows with it, and the function that runs it.

    An experiment that runs in ``parts`` can be given a time and a choice of rows, and shows what is
    not run as such. ``item`` is the table or figure of the paper, ``size`` says how the full size
    compares with the paper's, and ``about`` explains the experiment on the results page.
    """

    name: str
    title: str
    run: Callable[[Settings], Outcome]
    parts: bool = False
    item: str = ""
    size: str = "the paper's size"
    about: str = ""


def model(name: str) -> Path:
    """A file of the repository's ``models``."""
    path = MODELS / name
    if not path.is_file():
        raise ValueError(
            f"{path}: expected a trained network of the repository, found none; run from a clone, "
            "or use --quick"
        )
    return path
