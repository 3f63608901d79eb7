"""What a neuromorphic chip offers: figures that a fit counts against, each with its source.

A description is a set of named figures. The built-in one is :data:`export.fit.figures.CHIP`; a JSON
file overrides any of them, with a bare number or with ``{"value": …, "source": …, "sure": …}``::

    {"name": "our board", "cores": 120, "synapse_words": {"value": 12000, "source": "measured"}}
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from training.support.plain_files import read_json

CONFIDENCE = ("agreed", "compiler", "single", "conflicting", "other chip", "assumed")
"""How sure a figure is: several sources agree; read off tables that Intel's compiler printed; one
source; sources differ (the source text says how); measured on a predecessor; our guess where
nothing is published."""


@dataclass(frozen=True)
class Figure:
    """A number of the chip, what it counts, where it is from and how sure it is."""

    value: float
    about: str
    source: str
    sure: str
    whole: bool = True
    """Whether it is a whole number."""
    least: float = 0


@dataclass(frozen=True)
class Board:
    """Chips that are sold together; ``cores`` is what each of them has in use."""

    name: str
    chips: int
    cores: int
    source: str
    sure: str


@dataclass(frozen=True)
class Chip:
    """A chip by its figures; ``chip["cores"]`` is a whole number, ``chip.rate`` any."""

    name: str
    figures: Mapping[str, Figure]
    boards: Mapping[str, Board]

    def __getitem__(self, figure: str) -> int:
        return int(self.figures[figure].value)

    def rate(self, figure: str) -> float:
        """Return a figure that need not be whole."""
        return float(self.figures[figure].value)

    def with_figures(self, **values: float) -> Chip:
        """Return the same chip with other values, whose source is the caller."""
        figures = dict(self.figures)
        for name, value in values.items():
            figures[name] = _changed(self, name, {"value": value, "source": "given"})
        return replace(self, figures=figures)

    def board(self, name: str) -> Board:
        """Find a board by its name, however it is spelt: ``hala-point`` is Hala Point."""
        wanted = _plain(name)
        for board in self.boards.values():
            if _plain(board.name) == wanted:
                return board
        known = ", ".join(self.boards)
        raise ValueError(f"board: expected one of {known}, got {name!r}")

    def on(self, board: Board) -> Chip:
        """Return the chip as it is on a board, whose chips may have fewer cores in use."""
        if board.cores == self["cores"]:
            return self
        figure = replace(
            self.figures["cores"], value=board.cores, source=board.source, sure=board.sure
        )
        return replace(
            self,
            name=f"{self.name} on {board.name}",
            figures={**self.figures, "cores": figure},
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON; what :func:`read_chip` reads."""
        return {
            "name": self.name,
            **{
                name: {"value": f.value, "source": f.source, "sure": f.sure}
                for name, f in self.figures.items()
            },
        }


def _plain(name: str) -> str:
    return "".join(c for c in name.lower() if c.isalnum())


def _changed(base: Chip, name: str, given: Any, file: str = "chip") -> Figure:
    """Return a figure of ``base`` with what a file says of it."""

    def error(expected: str, found: Any) -> ValueError:
        return ValueError(f"{file} {name}: expected {expected}, got {found!r}")

    old = base.figures.get(name)
    if old is None:
        raise error(f"a figure of {base.name}: {', '.join(base.figures)}", name)
    given = given if isinstance(given, dict) else {"value": given}
    if unknown := set(given) - {"value", "source", "sure"}:
        raise error("value, source and sure", sorted(unknown)[0])
    value = given.get("value", old.value)
    if isinstance(value, bool):
        value = int(value)
    if not isinstance(value, (int, float)) or not math.isfinite(value):
        raise error("a finite number", value)
    if old.whole and value != int(value):
        raise error("a whole number", value)
    if value < old.least:
        raise error(f"at least {old.least:g}", value)
    sure = given.get("sure", "single" if "source" in given else "assumed")
    if sure not in CONFIDENCE:
        raise error(f"sure to be one of {', '.join(CONFIDENCE)}", sure)
    return replace(old, value=value, source=str(given.get("source", file)), sure=sure)


def read_chip(file: Path, base: Chip) -> Chip:
    """Return ``base`` with the figures that a JSON file overrides."""
    try:
        given = read_json(file)
    except (OSError, ValueError) as reason:
        raise ValueError(
            f"chip {file}: expected {base.name} or a JSON file of its figures, found none "
            f"that can be read ({reason})"
        ) from None
    if not isinstance(given, dict):
        raise ValueError(
            f'chip {file}: expected an object of figures, such as {{"cores": 64}}, '
            f"got {type(given).__name__}"
        )
    name = str(given.pop("name", file.stem))
    changed = {key: _changed(base, key, value, f"chip {file}") for key, value in given.items()}
    return replace(base, name=name, figures={**base.figures, **changed})
