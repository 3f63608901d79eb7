"""``celif fit --calibration`` on a terminal: our counts next to what others printed or measured."""

from __future__ import annotations

from collections.abc import Sequence

from rich import box
from rich.table import Table

from celif.console import results, say
from celif.views.chip.fit_table import prose
from export.fit.calibration import TOLERANCE, Comparison
from export.fit.energy.measured import UNCOUNTED, Measurement

_HEADINGS = ("layer", "w", "synapses", "Total", "printed", "residual", "cores", "")


def _row(one: Comparison) -> list[str]:
    row, synapses = one.row, one.to_dict()["words"]["synapses"]
    return [
        f"{'' if one.agrees else '≠ '}{row.layer.name}",
        f"{row.layer.weight_bits}{'*' if row.bits_inferred else ' '}",
        f"{synapses:,.0f}",
        f"{one.total:.2f}",
        "" if row.total is None else f"{row.total:.2f}",
        "" if one.residual is None else f"{one.residual:+.3f}",
        f"{one.cores}/{row.cores}",
        "fitted" if row.fitted else "predicted",
    ]


def show_calibration(rows: Sequence[Comparison]) -> None:
    """Print every published row with our count of it."""
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for i, heading in enumerate(_HEADINGS):
        table.add_column(heading, justify="right" if i else "left", no_wrap=True)
    for before, one in zip([None, *rows], rows, strict=False):
        if before is None or before.row.network != one.row.network:
            table.add_row(one.row.network)
        table.add_row(*_row(one))
    results.print(table)
    prose(
        "Total in percent of the pool, counted and printed; words of synapses on a core; cores, "
        "counted/printed; a * marks weight bits that were chosen so that the row's own synapses "
        "come out. The pool was fitted on all rows with a Total, the rules for convolutions and "
        "splits on the rows marked fitted. On the others neurons, axons, split and cores are "
        "predictions. Axon memory, and what the printed core holds, are taken from the tables."
    )
    totals = [one.residual for one in rows if one.residual is not None]
    agree = sum(one.agrees for one in rows)
    prose(
        f"{agree} of {len(rows)} rows agree: Total within {TOLERANCE} points where one is printed "
        f"(largest residual {max(map(abs, totals)):.3f}), otherwise every column, and the number "
        "of cores"
    )
    for one in rows:
        if one.row.note:
            differing = ", ".join(name.replace("_", " ") for name in one.differing)
            what = f" ({differing})" if differing else ""
            prose(f"- {one.row.network}, {one.row.layer.name}{what}: {one.row.note}")


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
    prose(f"The model is given rates of {low} to {high}, as none are published.")
    for text in UNCOUNTED:
        prose(f"- without counts: {text}")
