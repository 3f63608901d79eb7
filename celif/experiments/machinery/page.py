"""The page of all results, made of the records that runs left.

Records and figures are first copied beside the page, into a folder of its own name, so that the
page can be made again wherever the repository is, without the runs.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from celif.experiments import catalogue
from celif.experiments.machinery.record import PNG, RESULT, duration, number, ours
from training.support.atomic import atomic_file

_INTRODUCTION = """# The paper's experiments

Each with the command that runs it, what was spent, and the paper's numbers beside ours. "Quick" is
a small size that shows the effect, not the paper's numbers: where the task is another one, the
paper's column is there for the order only. A full-size run that was stopped goes on when its
command is given again; what was not run is said to be. Seconds on the wall were taken on a busy
machine, whose load is given; processor time hardly depends on it, and is that of all threads.

This page is made by `celif reproduce --page docs/results.md` from the records in `docs/results/`.
"""


def write(page: Path, roots: Iterable[Path] = ()) -> None:
    """Gather the records below ``roots``, then write ``page``."""
    folder = page.with_suffix("")
    folder.mkdir(parents=True, exist_ok=True)
    for root in roots:
        for path in sorted(root.glob(f"*/{RESULT}")):
            record = json.loads(path.read_text(encoding="utf-8"))
            shutil.copyfile(path, folder / f"{_stem(record)}.json")
            shutil.copyfile(path.with_name(PNG), folder / f"{_stem(record)}.png")
    records = [json.loads(path.read_text(encoding="utf-8")) for path in folder.glob("*.json")]
    order = list(catalogue.EXPERIMENTS)
    known = [record for record in records if record["name"] in order]
    known.sort(key=lambda record: (order.index(record["name"]), record["quick"]))
    ran = {(record["name"], record["quick"]) for record in known}
    missing = [name for name in order if (name, False) not in ran]
    parts = [_INTRODUCTION, *(_section(record, folder.name) for record in known)]
    if missing:
        parts.append(f"## Not run at full size yet\n\n{', '.join(missing)}\n")
    with atomic_file(page) as draft:
        draft.write_text("\n".join(parts), encoding="utf-8")


def _stem(record: dict[str, Any]) -> str:
    return record["name"] + ("-quick" if record["quick"] else "")


def _section(record: dict[str, Any], folder: str) -> str:
    size = "quick" if record["quick"] else "full size"
    lines = [f"## {record['title']} ({size})", "", f"    {record['command']}", ""]
    lines += ["| | ours | paper | difference | |", "|---|---|---|---|---|"]
    for row in record["rows"]:
        values = (ours(row), number(row["paper"]), number(row["difference"], signed=True))
        unit = " ".join(part for part in (row["unit"], row["note"]) if part)
        lines.append(f"| {row['what']} | {' | '.join(values)} | {unit} |")
    lines.append("")
    for claim in record["claims"]:
        lines.append(f"- {'Holds' if claim['holds'] else '**Does not hold**'}: {claim['text']}")
    lines += [f"- {note}" for note in record["notes"]]
    machine = record["machine"]
    lines.append(
        f"- Budget: {record['budget']}; {duration(record)}, {machine['cores']} cores under a "
        f"load of {machine['load'][0]:g}, {machine['date'][:10]}, commit {machine['commit']}"
    )
    lines += ["", f"![{record['title']}]({folder}/{_stem(record)}.png)", ""]
    return "\n".join(lines)
