"""The page of all results, made of the records that runs left.

Records and figures are first copied into a folder next to the page that has the page's name, so
that the page can be made again wherever the repository is, without the runs. The page opens with
the table of :mod:`celif.experiments.machinery.results_summary`, then has a section for each
experiment. An experiment that has only a quick size is shown in that; all other quick sizes share a
table in the appendix.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from celif.experiments import catalogue
from celif.experiments.machinery import items, results_summary, results_text
from celif.experiments.machinery.record import PNG, RESULT, duration, number, with_unit
from training.support.atomic import atomic_file
from training.support.replaceable import beginning

KIND = beginning("a page of all results", results_text.INTRODUCTION.splitlines()[0].encode())
"""What an existing page must be to be replaced."""
SHOWN = 7
"""Numbers of a quick size that the appendix shows."""
_TOGETHER = "\N{NO-BREAK SPACE}"
_OF_LENGTH = re.compile(r"(?P<what>.+), T = (?P<length>\d+): (?P<number>.+)")
_AT_LENGTH = re.compile(r"T = (?P<length>\d+): (?P<text>.+)")


def write(page: Path, roots: Iterable[Path] = ()) -> None:
    """Gather the records below ``roots``, then write ``page``."""
    folder = page.with_suffix("")
    folder.mkdir(parents=True, exist_ok=True)
    for root in roots:
        for path in sorted(root.glob(f"*/{RESULT}")):
            if (record := _record(path)) is None:
                continue
            shutil.copyfile(path, folder / f"{_stem(record)}.json")
            shutil.copyfile(path.with_name(PNG), folder / f"{_stem(record)}.png")
    order = list(catalogue.EXPERIMENTS)
    known = [record for path in folder.glob("*.json") if (record := _record(path)) is not None]
    known.sort(key=lambda record: order.index(record["name"]))
    records = {(record["name"], record["quick"]): record for record in known}
    anchors = {name: _anchor(name) for name in order}
    parts = [
        results_text.INTRODUCTION, *results_summary.table(items.GROUPS, records, anchors),
        results_text.CITED.format(items.CITED), *_not_run(), results_text.READING,
    ]  # fmt: skip
    shown = [
        record for record in known if not (record["quick"] and (record["name"], False) in records)
    ]
    parts += [_section(record, folder.name) for record in shown]
    rest = [record for record in known if record not in shown]
    parts += (
        [results_text.QUICK, *(_appendix_row(each, folder.name) for each in rest), ""]
        if rest
        else []
    )
    parts += _trials(shown)
    for record in rest:  # the table in the appendix has no figures
        (folder / f"{_stem(record)}.png").unlink(missing_ok=True)
    with atomic_file(page) as draft:
        draft.write_text("\n".join(parts), encoding="utf-8")


def _record(path: Path) -> dict[str, Any] | None:
    """Read the record of an experiment; None for a file that holds anything else."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    if not isinstance(found, dict) or not {"name", "quick", "rows", "claims"} <= set(found):
        return None
    return found if found["name"] in list(catalogue.EXPERIMENTS) else None


def _stem(record: dict[str, Any]) -> str:
    return record["name"] + ("-quick" if record["quick"] else "")


def _heading(name: str) -> str:
    experiment = catalogue.get(name)
    return f"{experiment.item}: {experiment.title}" if experiment.item else experiment.title


def _anchor(name: str) -> str:
    """Where GitHub puts the heading of an experiment's section."""
    return re.sub(r"[^\w\- ]", "", _heading(name).lower()).replace(" ", "-")


def _not_run() -> list[str]:
    lines = [results_text.NOT_RUN, "", "| what | core-hours |", "|---|---|"]
    return [*lines, *(f"| {what} | {hours} |" for what, hours in items.NOT_RUN.items())]


def _paper(row: dict[str, Any]) -> str:
    """The paper's number, or what it prints in place of one."""
    return row.get("paper_says") or number(row["paper"], row["unit"])


def _section(record: dict[str, Any], folder: str) -> str:
    experiment = catalogue.get(record["name"])
    size = "a smaller task" if record["quick"] else experiment.size
    lines = [f"## {_heading(record['name'])}", "", f"    {record['command']}", ""]
    lines += [experiment.about, ""] if experiment.about else []
    ran = [row for row in record["rows"] if row["ours"] is not None]
    claims = record["claims"]
    if ran and all(_OF_LENGTH.fullmatch(row["what"]) for row in ran):
        lines += [*_by_length(ran, claims), *_folded("Every run", _table(ran))]
        claims = []
    else:
        lines += [*_table(ran), ""]
    missing = [row for row in record["rows"] if row["ours"] is None and not row.get("cited")]
    if missing:
        count = len(ran) + len(missing)
        lines.append(f"- Not run: {len(missing)} of {count} rows.")
    lines += [f"- {_said(claim)}" for claim in claims]
    lines += [f"- {note}" for note in record["notes"]]
    if record.get("trials"):
        lines.append("- What was tried before these recipes were chosen is in the last appendix.")
    lines.append(f"- Size: {size}. {record['budget']}; {_made(record)}.")
    lines += ["", f"![{record['title']}]({folder}/{_stem(record)}.png)", ""]
    return "\n".join(lines)


def _by_length(rows: list[dict[str, Any]], claims: list[dict[str, Any]]) -> list[str]:
    """Tables with a column for each length: the numbers, then what is said of them."""
    lengths = sorted({_match(_OF_LENGTH, row["what"])["length"] for row in rows}, key=int)
    heads = [f"T = {length}" for length in lengths]
    (unit,) = {_match(_OF_LENGTH, row["what"])["number"] for row in rows}
    numbers: dict[str, dict[str, str]] = {}
    for row in rows:
        found = _match(_OF_LENGTH, row["what"])
        numbers.setdefault(found["what"], {})[found["length"]] = with_unit(row)
    said: dict[str, dict[str, str]] = {}
    for claim in claims:
        at = _match(_AT_LENGTH, claim["text"])
        said.setdefault(at["text"], {})[at["length"]] = "yes" if claim["holds"] else "**no**"
    lines: list[str] = []
    for title, cells in ((unit, numbers), ("statement", said)):
        lines += [f"| {title} | {' | '.join(heads)} |", "|---" * (len(heads) + 1) + "|"]
        lines += [
            f"| {what} | {' | '.join(found.get(length, '–') for length in lengths)} |"
            for what, found in cells.items()
        ]
        lines.append("")
    return lines


def _match(pattern: re.Pattern[str], text: str) -> re.Match[str]:
    found = pattern.fullmatch(text)
    assert found is not None, text
    return found


def _folded(title: str, lines: list[str]) -> list[str]:
    """Markdown that a reader opens to see."""
    return [f"<details><summary>{title}</summary>", "", *lines, "", "</details>", ""]


def _table(rows: list[dict[str, Any]]) -> list[str]:
    """The rows, with a column for the paper's numbers and one for notes if there are any."""
    paper = any(_paper(row) != "–" for row in rows)
    differs = any(row["difference"] is not None for row in rows)
    notes = any(row["note"] for row in rows)
    heads = ["", "ours", *["paper"] * paper, *["difference"] * differs, *["remarks"] * notes]
    lines = [f"| {' | '.join(heads)} |".replace("|  |", "| |"), "|---" * len(heads) + "|"]
    for row in rows:
        cells = [row["what"], with_unit(row).replace(" ", _TOGETHER)]
        cells += [_paper(row)] if paper else []
        cells += [number(row["difference"], row["unit"], signed=True)] if differs else []
        cells += [row["note"]] if notes else []
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def _said(claim: dict[str, Any]) -> str:
    return f"{'Holds' if claim['holds'] else '**Does not hold**'}: {claim['text']}."


def _made(record: dict[str, Any]) -> str:
    """What a record cost, when it was made, and by which commits."""
    machine = record["machine"]
    commits = {run["commit"] for run in record.get("runs", {}).values() if run["commit"]}
    commits -= {machine["commit"]}
    trained = f", networks trained at {', '.join(sorted(commits))}" if commits else ""
    return f"{duration(record)}, {machine['date'][:10]}, commit {machine['commit']}{trained}"


def _trials(records: list[dict[str, Any]]) -> list[str]:
    """The appendix of what was tried, if anything was."""
    tried = [record for record in records if record.get("trials")]
    lines = [results_text.TRIALS] if tried else []
    for record in tried:
        lines += [f"## {record['title']}: trials", ""]
        lines += [*(f"- {trial}" for trial in record["trials"]), ""]
    return lines


def _appendix_row(record: dict[str, Any], folder: str) -> str:
    ran = [row for row in record["rows"] if row["ours"] is not None]
    numbers = "; ".join(f"{row['what']} {with_unit(row)}" for row in ran[:SHOWN])
    numbers += f"; and {len(ran) - SHOWN} more" if len(ran) > SHOWN else ""
    missed = [_said(claim) for claim in record["claims"] if not claim["holds"]]
    held = len(record["claims"]) - len(missed)
    counted = f"{held} of {len(record['claims'])} hold." if record["claims"] else "None."
    claims = " ".join([counted, *missed])
    file = f"[record]({folder}/{_stem(record)}.json)"
    return f"| `{record['command']}` | {numbers} ({file}) | {claims} | {_made(record)} |"
