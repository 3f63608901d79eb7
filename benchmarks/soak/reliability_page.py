"""``python -m benchmarks.soak.reliability_page``: write docs/reliability.md from the records.

Every ``docs/reliability/NAME.json`` holds ``counts`` and ``failures`` of one command, its seed and
the machine that it ran on; that of ``make mutants`` holds its groups and its survivors.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from benchmarks import provenance
from training.support.atomic import atomic_file

FOLDER = Path(__file__).parents[2] / "docs" / "reliability"

INTRODUCTION = """# Reliability

What happens to files when a process is killed, a disk fills up or a byte flips, counted. Each
section is made from the record of its command (`python -m benchmarks.soak.reliability_page`);
[SECURITY.md](../SECURITY.md) says what is promised. The last section asks whether the tests would
notice a mistake.
"""
ABOUT = {
    "fuzz": """\
Mutants of the netx files of eight networks (flipped bytes; bytes cut, inserted, removed or doubled;
HDF5 types, shapes, values, links, attributes and members) and of a training run's checkpoint, and
files made by hand (TorchScript, pickles, tar and zip files, polyglots, links out of the file,
FIFOs, devices, sparse files) are read, and runs are resumed from them, in processes of their own.
Each must end in a named error within 1 s of processor time and 500 MB, or give the original's
results: the same integers or weights. Other exceptions, crashes, hangs, and any access to another
file of the folder, which inotify shows, are failures. Half of the HDF5 mutants and all of the
changed fields of checkpoints get a right checksum again, so that what stands behind it is tested;
these may also be another sound file, and such a network must run.""",
    "kill": """\
Checkpoints, netx files and bring-up kits are written by processes that are killed (SIGKILL), half
of them at random moments and half right before or after each write, fsync and rename; or whose disk
is full, read-only or refuses large files (a tmpfs of 4 MB, a file-size limit), or is slow (writes
and fsyncs take their time while the file is read, and half of them end in a kill). Every time the
former or the new content must be whole, an error must name the file, the next writer must work, and
no draft may be left behind. Training runs are killed twice, resumed, and compared bit for bit with
an undisturbed run.""",
    "mutants": """\
Mutants of the sources: one operator, comparison, constant, slice, condition or statement is
changed, and the tests that call the changed function must fail. A seed draws the sample; the
interval is Wilson's of 95 %. Equivalent mutants, which change nothing that is computed, are not
counted; each of them was looked at, and its reason is below. A timeout counts as noticed. Functions
that are compiled run as plain Python here, so that those which write operations of LLVM
(training/kernels/scans/row_sums.py) are left out. The tests were improved after a first look at
survivors, so the share of mutants outside the samples may be lower.""",
}
"""What each command does, by the name of its record."""


def section(name: str, record: dict[str, Any]) -> str:
    """Return the part of the page about one command."""
    rows = [f"| {what} | {number:,} |" for what, number in record["counts"].items()]
    rows.append(f"| **failures** | **{len(record['failures'])}** |")
    failures = "".join(f"- {line}\n" for line in record["failures"][:20])
    about = provenance.in_words(record["machine"]).replace("\n", "\n    ")
    return (
        f"\n## `make {name}`\n\n{ABOUT.get(name, '')}\n\n| | |\n|---|---|\n"
        + "\n".join(rows)
        + f"\n\n{failures}Seed {record['seed']}.\n\n    {about}\n"
    )


def mutants(record: dict[str, Any]) -> str:
    """Return the part of the page about mutants of the sources."""
    head = "| | mutants | sample | killed | timeout | equivalent | survived | noticed | 95 % |"
    rows = [head, "|---|" + "---:|" * 8]
    for name, row in record["groups"].items():
        numbers = [f"{row[key]:,}" for key in _COLUMNS]
        share = _share(row["share"], row["interval"]) if row["sample"] else "not run | "
        rows.append(f"| {name} | {' | '.join(numbers)} | {share} |")
    total = [f"{sum(row[key] for row in record['groups'].values()):,}" for key in _COLUMNS]
    share = _share(record["noticed"] / record["counted"], record["interval"])
    rows.append(f"| **all** | {' | '.join(total)} | {share} |")
    survivors = sorted(record["survivors"], key=lambda each: (each["reason"], each["mutant"]))
    lines = [f"- `{each['mutant'].replace('`', '')}`: {each['reason']}" for each in survivors]
    about = provenance.in_words(record["machine"]).replace("\n", "\n    ")
    return (
        f"\n## `make mutants`\n\n{ABOUT['mutants']}\n\n"
        + "\n".join(rows)
        + "\n\nNot noticed:\n\n"
        + "\n".join(lines)
        + f"\n\nSeed {record['seed']}.{_commits(record)}\n\n    {about}\n"
    )


def _commits(record: dict[str, Any]) -> str:
    """Which group ran at another commit than the last one, if any did."""
    last = record["machine"]["commit"]
    others = [f"{name} at {row['commit']}" for name, row in record["groups"].items()
              if row["sample"] and row.get("commit", last) != last]  # fmt: skip
    return f" Groups that ran earlier: {', '.join(others)}." if others else ""


_COLUMNS = ("mutants", "sample", "killed", "timeout", "equivalent", "survived")


def _share(share: float, interval: list[float]) -> str:
    return f"{share:.1%} | {interval[0]:.0%} to {interval[1]:.0%}"


def page(folder: Path = FOLDER) -> str:
    """Return the text of the page."""
    records = {path.stem: json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))}
    parts = (
        mutants(record) if name == "mutants" else section(name, record)
        for name, record in records.items()
    )
    return INTRODUCTION + "".join(parts)


def main() -> None:
    """Write the page."""
    with atomic_file(FOLDER.with_suffix(".md")) as draft:
        draft.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
