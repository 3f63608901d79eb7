"""``celif fit --calibration`` on a terminal: our counts next to what others printed or measured."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from celif.console import say
from celif.views.chip.fit_table import prose
from export.fit.calibration import RULES, TOLERANCE, TableComparison
from export.fit.energy.measured import UNCOUNTED, Measurement

_COLUMNS = (
    ("layer", 17), ("w", 3), ("synapses", 9), ("memory", 7), ("Total", 6), ("printed", 8),
    ("residual", 9), ("cores", 8), ("from", 6),
)  # fmt: skip
"""Headings, and the widths of the columns."""


def _line(cells: Sequence[str]) -> str:
    first, *rest = (
        cell.rjust(width) if i else cell.ljust(width)
        for i, (cell, (_, width)) in enumerate(zip(cells, _COLUMNS, strict=True))
    )
    return "".join((first, *rest)).rstrip()


def _row(one: TableComparison) -> list[str]:
    row, words = one.row, one.to_dict()["words"]
    return [
        f"{' ' if one.agrees else '≠'} {row.layer.name}",
        f"{row.layer.weight_bits}{'*' if row.inferred else ' '}",
        f"{int(words['synapses']):,}",  # cut to whole words, as the tables are
        f"{int(words['axon_mem']):,}",
        f"{one.total:.2f}",
        "" if row.total is None else f"{row.total:.2f}",
        "" if one.residual is None else f"{one.residual:+.3f}",
        f"{one.cores}/{row.cores}",
        row.fitted,
    ]


def show_calibration(rows: Sequence[TableComparison]) -> None:
    """Print every published row with our count of it, and below it why it differs if it does."""
    heading = _line([name for name, _ in _COLUMNS])
    say(heading)
    say("─" * len(heading))
    for before, one in zip([None, *rows], rows, strict=False):
        if before is None or before.table != one.table:
            say(f"{one.table.name}, compiler of {one.table.year}")
        say(_line(_row(one)))
        if one.row.why:
            differing = ", ".join(name.replace("_", " ") for name in one.differing)
            for line in textwrap.wrap(f"{differing}: {one.row.why}", 74):
                say(f"      {line}")
    say("")
    letters = "; ".join(f"{letter}: {rule}" for letter, rule in RULES.items())
    prose(
        "Every count is ours, also how a layer is cut and what it sends. Total in percent of the "
        "pool, counted and printed; words of synapses and of axon memory on a core (the first in "
        "tables of 2024, the mean in those of 2022); cores, counted/printed. A * marks weight "
        "bits, which are not printed, chosen so that the row's own synapses come out."
    )
    prose(f"from: what was found on this row ({letters}). All else of a row is predicted.")
    totals = [abs(one.residual) for one in rows if one.residual is not None]
    within = sum(total <= TOLERANCE for total in totals)
    agree = sum(one.agrees for one in rows)
    prose(
        f"{within} of {len(totals)} Totals are within {TOLERANCE} points, the largest residual is "
        f"{max(totals):.3f}; {agree} of {len(rows)} rows agree in every column and in the cores"
    )


def show_measured(measured: Sequence[Measurement]) -> None:
    """Print published measurements of a step with what our model makes of the same networks."""
    say("")
    say("energy and time of a step, measured and by our model:")
    for one in measured:
        said = one.to_dict()
        nj, us = said["model"]["step_nj"], said["model"]["step_us"]
        low, high = (f"{rate:.0%}" for rate in said["model"]["rates"])
        prose(
            f"- {one.name} on {one.chip}: {one.dynamic_nj:,.0f} nJ measured, {nj[0]:,.0f} to "
            f"{nj[1]:,.0f} by the model; {one.step_us:,.1f} µs measured, {us[0]:,.1f} to "
            f"{us[1]:,.1f} by the model ({one.about}; {one.source})"
        )
        if one.why:
            prose(f"  outside the range, {one.why}")
    prose(
        f"The model is given rates of {low} to {high}, as none are published, and neurons that "
        "are all idle or all active."
    )
    for text in UNCOUNTED:
        prose(f"- without counts: {text}")
