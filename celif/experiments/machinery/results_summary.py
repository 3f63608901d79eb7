"""The table at the top of the results page: every item of the paper, and what stands here.

An item takes its numbers from rows of an experiment's record. Its status follows from them:

reproduced
    With the paper's networks and task, and an accuracy at most :data:`NEAR` points below the
    paper's, a loss below our limit, an energy within 10 %, or every claim of the experiment.
smaller task
    Run on a smaller task or network; no number can be compared.
fewer epochs
    Stopped long before the models have learnt; no number can be compared.
partly
    At the paper's size, but short of that, stopped early, or reached by means that the paper did
    not or may not have used (:attr:`Item.unlike`); or a rival's loss that stays high, as in the
    paper, after fewer samples than CE-LIF had.
not reproduced
    At the paper's size, and the losses that the paper shows to fall all stay above our limit, or
    one that it shows to stay high falls, where our means may be the reason.
contradicted
    A rival learns more than the paper says, by the paper's means.
cited
    The paper cites the number; there is nothing of its own to reproduce.
measured
    Not in the paper, and measured here.
not run
    Nothing was run; the cost is what it would take.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from celif.experiments.machinery.record import number, ours

NEAR = 0.3
"""Points of accuracy below the paper that count as reproduced."""
EXTRA = "not in the paper"
"""Where items of this project's own stand."""
Records = dict[tuple[str, bool], dict[str, Any]]
"""Records by the name of the experiment and whether they are of the quick size."""


@dataclass(frozen=True)
class Line:
    """A row of the table."""

    item: str
    status: str
    ours: str
    paper: str
    remarks: str
    cost: str


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
        Rows of the record whose numbers stand in the table; none for how many claims hold.
    paper
        What the paper says, where the rows do not have it.
    limits
        For losses: below what each row's task counts as solved.
    above
        Whether the paper's losses stay above ``limits`` instead: those of rivals that do not learn.
        Ours never count as reproduced, as one more recipe might learn.
    cost
        What it would take, if it was not run to the end.
    smaller, short
        Whether even the full size of the experiment is smaller than the paper's, or trains for far
        fewer epochs.
    note
        What a reader must know about our number; the name of a row in braces stands for its number.
    unlike
        Whether our number was reached by means that the paper did not use, or may not have used, so
        that it neither reproduces nor contradicts it.
    claims
        Whether all claims of the experiment must hold, besides what the rows must reach.
    """

    where: str
    what: str
    experiment: str = ""
    rows: tuple[str, ...] = ()
    paper: str = ""
    limits: tuple[float, ...] = ()
    above: bool = False
    cost: str = ""
    smaller: bool = False
    short: bool = False
    note: str = ""
    unlike: bool = False
    claims: bool = False

    def line(self, records: Records) -> Line:
        """Return the item's row of the table."""
        full = records.get((self.experiment, False))
        record = full or records.get((self.experiment, True))
        name = f"{self.where}: {self.what}"
        if not self.experiment:
            return Line(name, "cited", "", self.paper, "", "")
        if record is None:
            return Line(name, "not run", "", self.paper, "", self.cost)
        if self.rows:
            return self._by_rows(name, record, full is not None)
        held = [claim["holds"] for claim in record["claims"]]
        status = "reproduced" if all(held) else "partly"
        if full is None or self.smaller:
            status = "smaller task"
        elif self.where == EXTRA:
            status = "measured"
        said = f"{sum(held)} of {len(held)} claims hold"
        cost = "" if status in ("reproduced", "measured") else self.cost
        return Line(name, status, said, self.paper, self.note, cost)

    def _by_rows(self, name: str, record: dict[str, Any], full: bool) -> Line:
        found = {row["what"]: row for row in record["rows"]}
        rows = [found[what] for what in self.rows if what in found]
        ran = [row for row in rows if row["ours"] is not None]
        said = [_papers(row) for row in rows]
        paper = self.paper or (said[0] if len(set(said)) == 1 else " / ".join(said))
        if not ran:
            return Line(name, "not run", "", paper, "", self.cost)
        shown = " / ".join(ours(row) if row["ours"] is not None else "not run" for row in rows)
        held = not self.claims or all(claim["holds"] for claim in record["claims"])
        status = self._status(rows, held, full)
        notes = [row["note"] for row in ran if len(self.limits) == 1 and row["note"]]
        notes += [_filled(self.note, found)] if self.note else []
        missing = any(row["ours"] is None or "stopped" in row["note"] for row in rows)
        missing = missing or self.unlike or status in ("smaller task", "fewer epochs")
        return Line(name, status, shown, paper, "; ".join(notes), self.cost if missing else "")

    def _status(self, rows: Sequence[dict[str, Any]], held: bool, full: bool) -> str:
        if not full or self.smaller:
            return "smaller task"
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


def _filled(note: str, rows: dict[str, dict[str, Any]]) -> str:
    """The note with the numbers of the rows that it names; of a row that is not there, a dash."""
    return re.sub(r"\{(.+?)\}", lambda named: ours(rows.get(named[1], {"ours": None})), note)


def _papers(row: dict[str, Any]) -> str:
    return row.get("paper_says") or number(row["paper"])


def table(items: Sequence[Item], records: Records) -> list[str]:
    """Return the table in Markdown."""
    lines = [
        "| the paper's item | status | ours | the paper's | remarks | core-hours still needed |",
        "|---|---|---|---|---|---|",
    ]
    for item in items:
        line = item.line(records)
        cells = (line.item, line.status, line.ours, line.paper, line.remarks, line.cost)
        lines.append(f"| {' | '.join(cells)} |")
    return lines
