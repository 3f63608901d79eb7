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
        Folder of the run; trainings in it are resumed.
    quick
        The small size, a minute or two on two cores, in place of the paper's.
    data
        Folder of MNIST, for those that need it.
    minutes, only
        For those of many long trainings, see :mod:`celif.experiments.machinery.deadline`: stop
        after so long; train only those whose names contain one of these.
    """

    out: Path
    quick: bool = False
    data: Path | None = None
    minutes: float | None = None
    only: tuple[str, ...] = ()


@dataclass(frozen=True)
class Row:
    """A number of ours beside the paper's; None where there is none.

    ``spread`` is the standard deviation of what ours is the mean of, e.g. over seeds. Of numbers
    that are not ``comparable``, such as those of another task, no difference is taken.
    """

    what: str
    ours: float | None
    paper: float | None = None
    unit: str = ""
    note: str = ""
    comparable: bool = True
    spread: float | None = None

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
    """What came of an experiment.

    Parameters
    ----------
    rows, claims
        Numbers to compare, statements tested.
    budget
        What was spent: sizes, steps, samples, in words.
    figure
        Drawn so that it can be read at the width of a page.
    numbers
        Everything else worth keeping, as plain values.
    notes
        What a reader must know to judge the numbers.
    options
        What to type beside the experiment's name for the same size.
    """

    rows: list[Row]
    claims: list[Claim]
    budget: str
    figure: Figure
    numbers: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    options: tuple[str, ...] = ()


@dataclass(frozen=True)
class Experiment:
    """A name, what the paper shows with it, and the function that runs it.

    One that is run in ``parts`` can be given a time and a choice of rows, and shows what is not
    run as such.
    """

    name: str
    title: str
    run: Callable[[Settings], Outcome]
    parts: bool = False


def model(name: str) -> Path:
    """A file of the repository's ``models``."""
    path = MODELS / name
    if not path.is_file():
        raise ValueError(
            f"{path}: expected a trained network of the repository, found none; run from a clone, "
            "or use --quick"
        )
    return path
