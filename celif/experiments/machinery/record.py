"""An outcome on disk, as ``result.json`` and ``figure.png`` and ``.svg``, and in the terminal.

The records of the repository (:data:`STORED`) also serve as results: :func:`stored` reads one, and
:func:`perform` takes the finished training runs from it and trains only what is missing.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich import box
from rich.markup import escape
from rich.table import Table

from celif.console import results, say
from celif.experiments.machinery.experiment import Experiment, Outcome, Settings
from celif.experiments.machinery.runs import RUN
from celif.experiments.machinery.stopwatch import spent_below
from celif.views import pictures
from training.support import machine
from training.support.atomic import atomic_file

RESULT, PNG, SVG = "result.json", "figure.png", "figure.svg"
STORED = Path(__file__).resolve().parents[3] / "docs" / "results"
"""Records of the repository; not part of the installed package."""
_DPI = 130


def perform(experiment: Experiment, settings: Settings) -> dict[str, Any]:
    """Run an experiment; write and return its record."""
    settings.out.mkdir(parents=True, exist_ok=True)
    if settings.again:
        _drop_taken(settings.out, settings.only)
    elif not settings.quick:
        _take_runs(stored(experiment), settings.out)
    began, processor = time.monotonic() - _spent(settings.out), time.process_time()
    outcome = experiment.run(settings)
    # Resumed runs, runs of other processes and those of a record have counted their own time.
    runs = _runs_below(settings.out)
    counted = sum(sum(run["spent"]) for run in runs.values())
    processor = max(time.process_time() - processor, spent_below(settings.out), counted)
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
        "trials": outcome.trials,
        "numbers": outcome.numbers,
        "machine": machine.describe(),
    }
    if not settings.quick:
        record["runs"] = runs
    _write(settings.out, outcome, record)
    return record


def stored(experiment: Experiment) -> dict[str, Any] | None:
    """Return the repository's record of an experiment at full size, or None."""
    path = STORED / f"{experiment.name}.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else None


def complete(record: dict[str, Any]) -> bool:
    """Whether a record lacks neither a training run nor a number that could be trained."""
    unfinished = [run for run in record.get("runs", {}).values() if not run["finished"]]
    return not unfinished and all(
        row["ours"] is not None or row.get("cited") for row in record["rows"]
    )


def _take_runs(record: dict[str, Any] | None, out: Path) -> None:
    """Put the runs of a record where the experiment looks for them, unless it has its own."""
    for name, run in (record or {}).get("runs", {}).items():
        folder = out / name
        if not folder.exists():
            folder.mkdir(parents=True)
            with atomic_file(folder / RUN) as draft:
                draft.write_text(json.dumps(run), encoding="utf-8")


def _drop_taken(out: Path, only: Sequence[str]) -> None:
    """Remove what :func:`_take_runs` put there: folders that hold a run's record alone.

    ``only`` are parts of the names of the runs that will be trained, none if all will be.
    """
    for path in out.glob(f"*/{RUN}"):
        asked = not only or any(part in path.parent.name for part in only)
        if asked and [*path.parent.iterdir()] == [path]:
            path.unlink()
            path.parent.rmdir()


def _runs_below(out: Path) -> dict[str, Any]:
    """Return the records of all training runs in ``out``, by name."""
    paths = sorted(out.glob(f"*/{RUN}"))
    return {path.parent.name: json.loads(path.read_text(encoding="utf-8")) for path in paths}


def _spent(out: Path) -> float:
    """Return the seconds of the run that this one continues."""
    if not (out / RESULT).is_file():
        return 0.0
    return float(json.loads((out / RESULT).read_text(encoding="utf-8"))["seconds"])


def command(experiment: Experiment, settings: Settings, options: tuple[str, ...]) -> str:
    """Return the command that runs the same."""
    parts = ["celif reproduce", experiment.name]
    parts += ["--quick"] if settings.quick else []
    parts += ["--data DIR"] if settings.data is not None else []
    return " ".join([*parts, *options])


def _write(out: Path, outcome: Outcome, record: dict[str, Any]) -> None:
    with atomic_file(out / PNG) as draft:
        outcome.figure.savefig(draft, format="png", dpi=_DPI)
    with atomic_file(out / SVG) as draft:
        draft.write_text(pictures.svg(outcome.figure), encoding="utf-8")
    # Last: a record without its figures would be taken for a finished run.
    with atomic_file(out / RESULT) as draft:
        draft.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def duration(record: dict[str, Any]) -> str:
    """Say how long a run took, in processor time if that is known."""
    processor = record.get("processor_seconds")  # not in records of earlier versions
    if processor is None:
        return f"{_time(record['seconds'])} on the wall"
    return f"{_time(processor)} of processor time"


def _time(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"


def number(value: float | None, unit: str = "", signed: bool = False) -> str:
    """Format a number: a percentage to two decimals, others to three digits; a dash for none."""
    if value is None:
        return "–"
    form = ".2f" if unit == "%" else ",.0f" if 1e3 <= abs(value) < 1e5 else ".3g"
    return f"{value:{'+' * signed}{form}}"


def ours(row: dict[str, Any]) -> str:
    """Format our number of a row, with its spread if it is a mean."""
    spread = row.get("spread")  # not in records of earlier versions
    shown = number(row["ours"], row["unit"])
    return shown + ("" if spread is None else f" ± {number(spread, row['unit'])}")


def with_unit(row: dict[str, Any]) -> str:
    """Format our number of a row with its unit."""
    return f"{ours(row)} {row['unit']}".rstrip()


def show(record: dict[str, Any], out: Path, *files: str) -> None:
    """Print our numbers next to the paper's."""
    size = "quick" if record["quick"] else "full"
    table = Table(title=f"{record['title']} ({size})", title_justify="left", box=box.SIMPLE_HEAD)
    for name in ("", "ours", "paper", "difference", "unit"):
        table.add_column(name, justify="left" if name in ("", "unit") else "right")
    for row in record["rows"]:
        unit = row["unit"]
        shown = (
            ours(row), number(row["paper"], unit), number(row["difference"], unit, signed=True)
        )  # fmt: skip
        table.add_row(escape(row["what"]), *shown, escape(unit))
    results.print(table)
    for claim in record["claims"]:
        say(f"{'holds' if claim['holds'] else 'DOES NOT HOLD'}: {claim['text']}")
    say(f"budget: {record['budget']}")
    for note in record["notes"]:
        say(f"note: {note}")
    for trial in record.get("trials", []):  # not in records of earlier versions
        say(f"tried: {trial}")
    names = ", ".join(str(out / name) for name in files or (RESULT, PNG, SVG))
    say(f"{duration(record)}; {names}")
