"""An outcome on disk, as ``result.json`` and ``figure.png`` and ``.svg``, and in the terminal."""

from __future__ import annotations

import json
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich import box
from rich.markup import escape
from rich.table import Table

from celif.console import results, say
from celif.experiments.machinery.experiment import Experiment, Outcome, Settings
from celif.experiments.machinery.stopwatch import spent_below
from celif.views import figures
from training.support import machine
from training.support.atomic import atomic_file

RESULT, PNG, SVG = "result.json", "figure.png", "figure.svg"
_DPI = 130


def perform(experiment: Experiment, settings: Settings) -> dict[str, Any]:
    """Run an experiment; write and return its record."""
    settings.out.mkdir(parents=True, exist_ok=True)
    began, processor = time.monotonic() - _spent(settings.out), time.process_time()
    outcome = experiment.run(settings)
    # Of trainings that were gone on with, or shared with other processes, their own count.
    processor = max(time.process_time() - processor, spent_below(settings.out))
    record = {
        "name": experiment.name,
        "title": experiment.title,
        "quick": settings.quick,
        "command": command(experiment, settings, outcome.options),
        "budget": outcome.budget,
        "seconds": round(time.monotonic() - began, 1),
        "processor_seconds": round(processor, 1),
        "rows": [{**asdict(row), "difference": row.difference} for row in outcome.rows],
        "claims": [asdict(claim) for claim in outcome.claims],
        "notes": outcome.notes,
        "numbers": outcome.numbers,
        "machine": machine.describe(),
    }
    _write(settings.out, outcome, record)
    return record


def _spent(out: Path) -> float:
    """Seconds of the run that this one goes on with."""
    if not (out / RESULT).is_file():
        return 0.0
    return float(json.loads((out / RESULT).read_text(encoding="utf-8"))["seconds"])


def command(experiment: Experiment, settings: Settings, options: tuple[str, ...]) -> str:
    """What to type for the same."""
    parts = ["celif reproduce", experiment.name]
    parts += ["--quick"] if settings.quick else []
    parts += ["--data DIR"] if settings.data is not None else []
    return " ".join([*parts, *options])


def _write(out: Path, outcome: Outcome, record: dict[str, Any]) -> None:
    with atomic_file(out / PNG) as draft:
        outcome.figure.savefig(draft, format="png", dpi=_DPI)
    with atomic_file(out / SVG) as draft:
        draft.write_text(figures.svg(outcome.figure), encoding="utf-8")
    # Last: a record without its figures would be taken for a finished run.
    with atomic_file(out / RESULT) as draft:
        draft.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def duration(record: dict[str, Any]) -> str:
    """How long a run took, on the wall and, if known, of the processors' time."""
    processor = record.get("processor_seconds")  # not in records of earlier versions
    if processor is None:
        return f"{record['seconds']:.0f} s"
    if processor > record["seconds"] * record["machine"]["cores"]:
        return f"{processor:.0f} s of processor time in several runs"
    return f"{record['seconds']:.0f} s ({processor:.0f} s of processor time)"


def number(value: float | None, signed: bool = False) -> str:
    """A number of a table, to four digits; a dash for none."""
    if value is None:
        return "–"
    return f"{value:+.4g}" if signed else f"{value:.4g}"


def ours(row: dict[str, Any]) -> str:
    """Our number of a row, with its spread where it is a mean."""
    spread = row.get("spread")  # not in records of earlier versions
    return number(row["ours"]) + ("" if spread is None else f" ± {spread:.2g}")


def show(record: dict[str, Any], out: Path) -> None:
    """Print ours beside the paper's."""
    size = "quick" if record["quick"] else "full"
    table = Table(title=f"{record['title']} ({size})", title_justify="left", box=box.SIMPLE_HEAD)
    for name in ("", "ours", "paper", "difference", "unit"):
        table.add_column(name, justify="left" if name in ("", "unit") else "right")
    for row in record["rows"]:
        shown = (ours(row), number(row["paper"]), number(row["difference"], signed=True))
        table.add_row(escape(row["what"]), *shown, escape(row["unit"]))
    results.print(table)
    for claim in record["claims"]:
        say(f"{'holds' if claim['holds'] else 'DOES NOT HOLD'}: {claim['text']}")
    say(f"budget: {record['budget']}")
    for note in record["notes"]:
        say(f"note: {note}")
    say(f"{duration(record)}; {out / RESULT}, {out / PNG}, {out / SVG}")
