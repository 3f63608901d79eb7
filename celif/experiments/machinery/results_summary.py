"""The table at the top of the results page: what the paper shows, and what stands here.

An item takes its numbers from rows of an experiment's record. Its status follows from them:

reproduced
    With the paper's networks and task, and an accuracy at most :data:`NEAR` points below the
    paper's, a loss below our limit, an energy within 10 %, or every claim of the experiment.
smaller
    Run on a smaller task or network; it neither confirms nor contradicts the paper's numbers.
fewer epochs
    Stopped long before the models have learnt; the same.
partly
    At the paper's size, but short of that, stopped early, or reached by means that the paper did
    not or may not have used (:attr:`Item.unlike`); or a rival's loss that stays high, as in the
    paper, after fewer samples than CE-LIF had.
not reproduced
    At the paper's size, and the losses that the paper shows to fall all stay above our limit, or
    one that it shows to stay high falls, where our means may be the reason.
contradicted
    A rival learns more than the paper says, by the paper's means.
measured
    Not in the paper, and measured here.
not run
    Nothing was run.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from celif.experiments.machinery.record import number, ours

NEAR = 0.3
"""Points of accuracy below the paper that count as reproduced."""
EXTRA = "not in the paper"
"""Where items of this project's own stand."""
Records = dict[tuple[str, bool], dict[str, Any]]
"""Records by the name of the experiment and whether they are of the quick size."""
Groups = Mapping[str, Sequence["Item"]]
"""Items by the title of their group."""


@dataclass(frozen=True)
class Line:
    """A row of the table."""

    item: str
    status: str
    ours: str
    paper: str
    note: str
    hours: str


@dataclass(frozen=True)
class Item:
    """Something that the paper shows.

    Parameters
    ----------
    where, what
        Its table or figure in the paper, and what it is.
    experiment
        The experiment that reproduces it.
    rows
        Rows of the record whose numbers stand in the table.
    paper
        What the paper says, where the rows do not have it.
    limits
        For losses: below what each row's task counts as solved.
    above
        Whether the paper's losses stay above ``limits`` instead: those of rivals that do not learn.
        Ours never count as reproduced, as one more recipe might learn.
    smaller, short
        Whether even the full size of the experiment is smaller than the paper's, or trains for far
        fewer epochs.
    note
        What a reader must know about our number, in few words. The name of a row in braces stands
        for its number, with the name of another experiment before it as in ``{seeds|a row}``.
    unlike
        Whether our number was reached by means that the paper did not use, or may not have used, so
        that it neither reproduces nor contradicts it.
    claims
        Whether all claims of the experiment must hold, besides what the rows must reach.
    """

    where: str
    what: str
    experiment: str
    rows: tuple[str, ...]
    paper: str = ""
    limits: tuple[float, ...] = ()
    above: bool = False
    smaller: bool = False
    short: bool = False
    note: str = ""
    unlike: bool = False
    claims: bool = False

    def line(self, records: Records, anchors: Mapping[str, str] = MappingProxyType({})) -> Line:
        """Return the item's row of the table, linked to the section of its experiment."""
        full = records.get((self.experiment, False))
        record = full or records.get((self.experiment, True))
        anchor = anchors.get(self.experiment)
        where = f"[{self.where}](#{anchor})" if anchor else self.where
        name = f"{where}: {self.what}"
        found = {row["what"]: row for row in record["rows"]} if record else {}
        rows = [found[what] for what in self.rows if what in found]
        ran = [row for row in rows if row["ours"] is not None]
        paper = self.paper or _each(rows, _papers)
        if record is None or not ran:
            return Line(name, "not run", "", paper, "", "")
        held = not self.claims or all(claim["holds"] for claim in record["claims"])
        status = self._status(rows, held, full is not None)
        hours = record.get("processor_seconds", 0) / 3600  # not in records of earlier versions
        note = _filled(self.note, found, records)
        shown = "< 0.1" if hours < 0.1 else f"{hours:.1f}"
        return Line(name, status, _each(rows, _ours), paper, note, shown)

    def _status(self, rows: Sequence[dict[str, Any]], held: bool, full: bool) -> str:
        if not full or self.smaller:
            return "smaller"
        if self.short:
            return "fewer epochs"
        if self.where == EXTRA:
            return "measured"
        below = [
            row["ours"] < limit for row, limit in zip(rows, self.limits, strict=bool(self.limits))
            if row["ours"] is not None and (self.above or "stopped" not in row["note"])
        ]  # fmt: skip
        if self.above and any(below):
            return "not reproduced" if self.unlike else "contradicted"
        if not self.above and below and not any(below):
            return "not reproduced"
        reached = self._reached(rows) and held and not self.unlike and not self.above
        return "reproduced" if reached else "partly"

    def _reached(self, rows: Sequence[dict[str, Any]]) -> bool:
        limits = self.limits or (None,) * len(rows)
        for row, limit in zip(rows, limits, strict=True):
            if row["ours"] is None or "stopped" in row["note"]:
                return False
            if limit is not None and row["ours"] >= limit:
                return False
            if limit is None and row["paper"] is not None and row["difference"] is not None:
                near = NEAR if row["unit"] == "%" else 0.1 * abs(row["paper"])
                if round(row["difference"], 2) < -near or (
                    row["unit"] != "%" and row["difference"] > near
                ):
                    return False
        return True


def _filled(note: str, own: dict[str, dict[str, Any]], records: Records) -> str:
    """The note with the numbers of the rows that it names; of a row that is not there, a dash."""

    def number_of(named: re.Match[str]) -> str:
        experiment, _, what = named[1].rpartition("|")
        other = records.get((experiment, False), {"rows": []})["rows"]
        rows = {row["what"]: row for row in other} if experiment else own
        return _ours(rows[what]) if what in rows else number(None)

    return re.sub(r"\{(.+?)\}", number_of, note)


def _each(rows: Sequence[dict[str, Any]], shown: Callable[[dict[str, Any]], str]) -> str:
    """Join what is shown of each row; once, if it is the same for all."""
    said = [shown(row) for row in rows]
    return said[0] if len(set(said)) == 1 else " / ".join(said)


def _ours(row: dict[str, Any]) -> str:
    return "not run" if row["ours"] is None else ours(row)


def _papers(row: dict[str, Any]) -> str:
    return row.get("paper_says") or number(row["paper"], row["unit"])


def table(groups: Groups, records: Records, anchors: Mapping[str, str]) -> list[str]:
    """Return the table in Markdown, with a line above each group of items."""
    lines = ["| | status | ours | the paper's | note | core-hours |", "|---|---|---|---|---|---|"]
    for title, items in groups.items():
        lines.append(f"| **{title}** | | | | | |")
        for item in items:
            line = item.line(records, anchors)
            cells = (line.item, line.status, line.ours, line.paper, line.note, line.hours)
            lines.append(f"| {' | '.join(cells)} |")
    return lines
