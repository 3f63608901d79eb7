"""The page of all results, made of the records that runs left.

Records and figures are first copied into a folder next to the page that has the page's name, so
that the page can be made again wherever the repository is, without the runs. The page opens with
the table of :mod:`celif.experiments.machinery.summary`; quick sizes are in an appendix.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from celif.experiments import catalogue
from celif.experiments.machinery import summary
from celif.experiments.machinery.items import ITEMS
from celif.experiments.machinery.record import PNG, RESULT, duration, number, ours
from training.support.atomic import atomic_file

_INTRODUCTION = """# The paper's experiments

What the CE-LIF paper (arXiv 2308.15150) shows, and what stands here. **Reproduced** means at the
paper's size: an accuracy not more than 0.3 points below the paper's, a loss below its limit, or all
claims of the experiment. **Smaller task** is a task or a training run smaller than the paper's,
whose numbers cannot be compared. **Partly** was run at the paper's size and fell short, was
stopped, or used means that the paper did not. **Cited** numbers are not the paper's own. Accuracies
are single runs unless a spread is given; the standard error of one on 10,000 test images is 0.1
points. Costs are core-hours on the machine of the records.
"""

_AFTER = """
`celif reproduce NAME` prints a record and trains only the runs that it lacks; `celif reproduce
--page docs/results.md` makes this page from the records in `docs/results/`. Every section has its
command, budget and commit. Seconds on the wall were taken on a busy machine, whose load is given;
processor time hardly depends on it.
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
    found = [json.loads(path.read_text(encoding="utf-8")) for path in folder.glob("*.json")]
    order = list(catalogue.EXPERIMENTS)
    known = [record for record in found if record["name"] in order]
    known.sort(key=lambda record: order.index(record["name"]))
    records = {(record["name"], record["quick"]): record for record in known}
    parts = [_INTRODUCTION, *summary.table(ITEMS, records), _AFTER]
    parts += [_section(record, folder.name) for record in known if not record["quick"]]
    quick = [_section(record, folder.name) for record in known if record["quick"]]
    if quick:
        parts.append(
            "# Appendix: quick sizes\n\n`celif reproduce NAME --quick` runs these in a minute or "
            "two. They show an effect, not the paper's numbers: the paper's column is there for "
            "the order only.\n"
        )
    with atomic_file(page) as draft:
        draft.write_text("\n".join([*parts, *quick]), encoding="utf-8")


def _stem(record: dict[str, Any]) -> str:
    return record["name"] + ("-quick" if record["quick"] else "")


def _paper(row: dict[str, Any]) -> str:
    """The paper's number, or what it prints in place of one."""
    return row.get("paper_says") or number(row["paper"])


def _section(record: dict[str, Any], folder: str) -> str:
    experiment = catalogue.get(record["name"])
    size = "quick" if record["quick"] else experiment.size
    item = f"{experiment.item}: " if experiment.item else ""
    lines = [f"## {item}{record['title']} ({size})", "", f"    {record['command']}", ""]
    if experiment.about and not record["quick"]:
        lines += [experiment.about, ""]
    lines += ["| | ours | paper | difference | |", "|---|---|---|---|---|"]
    missing = [row for row in record["rows"] if row["ours"] is None]
    for row in record["rows"]:
        if row["ours"] is None:
            continue
        values = (ours(row), _paper(row), number(row["difference"], signed=True))
        unit = " ".join(part for part in (row["unit"], row["note"]) if part)
        lines.append(f"| {row['what']} | {' | '.join(values)} | {unit} |")
    lines.append("")
    for cited, heading in ((False, "Not run"), (True, "Cited by the paper, not run")):
        rows = [row for row in missing if row.get("cited", False) == cited]
        listed = [f"{row['what']} (paper: {_paper(row)})" for row in rows]
        lines += [f"- {heading}: {'; '.join(listed)}"] if listed else []
    for claim in record["claims"]:
        lines.append(f"- {'Holds' if claim['holds'] else '**Does not hold**'}: {claim['text']}")
    lines += [f"- {note}" for note in record["notes"]]
    machine = record["machine"]
    commits = {run["commit"] for run in record.get("runs", {}).values() if run["commit"]}
    commits -= {machine["commit"]}
    trained = f", runs trained at {', '.join(sorted(commits))}" if commits else ""
    lines.append(
        f"- Budget: {record['budget']}; {duration(record)}, {machine['cores']} cores under a "
        f"load of {machine['load'][0]:g}, {machine['date'][:10]}, commit {machine['commit']}"
        f"{trained}"
    )
    lines += ["", f"![{record['title']}]({folder}/{_stem(record)}.png)", ""]
    return "\n".join(lines)
