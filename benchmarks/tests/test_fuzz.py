"""``make fuzz`` on a small scale, and whether it sees a reader that is careless."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

# One process for both: it has to import everything, and may not have run a compiled kernel before.
BOTH = """
import sys
from pathlib import Path
from benchmarks.soak import fuzz
from export.netx import integrity
folder = Path(sys.argv[1])
options = {"seconds": 600.0, "seed": 7}
def run(record, **counts):
    try:
        fuzz.main(**counts, **options, record=folder / record)
    except SystemExit as ending:
        return ending.code
assert run("careful.json", netx=60, checkpoints=25, handmade=30) == 0
integrity.verify = lambda path, found: True
assert run("careless.json", netx=18, checkpoints=0, handmade=0) == 1
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The records of a run with our reader, and of one that ignores the checksum."""
    folder = tmp_path_factory.mktemp("fuzz")
    command = [sys.executable, "-c", BOTH, str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def test_damaged_and_hostile_files_are_refused_by_name_or_read_as_the_original(folder):
    told = json.loads((folder / "careful.json").read_text())
    assert told["failures"] == []
    assert told["counts"]["mutants of netx files"] == 60
    assert told["counts"]["mutants of checkpoints"] == 25
    assert told["counts"]["netx flip: named error"] > 0
    assert told["counts"]["attack: named error"] > 60


def test_a_reader_that_ignores_the_checksum_is_caught(folder):
    told = json.loads((folder / "careless.json").read_text())
    assert any(line.startswith("netx flip") and "other" in line for line in told["failures"])
