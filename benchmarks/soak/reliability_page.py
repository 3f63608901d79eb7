"""``python -m benchmarks.soak.reliability_page``: write docs/reliability.md from the records.

Every ``docs/reliability/NAME.json`` holds ``counts`` and ``failures`` of one command, its seed and
the machine that it ran on.
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
[SECURITY.md](../SECURITY.md) says what is promised.
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
is full, read-only or refuses large files (a tmpfs of 4 MB, a file-size limit). Every time the
former or the new content must be whole, an error must name the file, the next writer must work, and
no draft may be left behind. Training runs are killed twice, resumed, and compared bit for bit with
an undisturbed run.""",
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


def page(folder: Path = FOLDER) -> str:
    """Return the text of the page."""
    records = {path.stem: json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))}
    return INTRODUCTION + "".join(section(name, record) for name, record in records.items())


def main() -> None:
    """Write the page."""
    with atomic_file(FOLDER.with_suffix(".md")) as draft:
        draft.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
