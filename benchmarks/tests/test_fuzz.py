"""``make fuzz`` on a small scale, and whether it sees a reader that is careless."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
CARELESS = """
import typer
from benchmarks.soak import fuzz
from export.netx import checksum
checksum.verify = lambda path, found: True
typer.run(fuzz.main)
"""


def fuzz(record: Path, *command: str, netx: int, checkpoints: int, handmade: int) -> dict:
    counts = ("--netx", netx, "--checkpoints", checkpoints, "--handmade", handmade)
    options = [*map(str, counts), "--seed", "7", "--record", str(record)]
    done = subprocess.run(
        [sys.executable, *command, *options], cwd=ROOT, capture_output=True, text=True, check=False
    )
    told = json.loads(record.read_text())
    assert done.returncode == (1 if told["failures"] else 0), done.stdout + done.stderr
    return told


def test_damaged_and_hostile_files_are_refused_by_name_or_read_as_the_original(tmp_path):
    record, module = tmp_path / "fuzz.json", ("-m", "benchmarks.soak.fuzz")
    told = fuzz(record, *module, netx=60, checkpoints=25, handmade=30)
    assert told["failures"] == []
    assert told["counts"]["mutants of netx files"] == 60
    assert told["counts"]["mutants of checkpoints"] == 25
    assert told["counts"]["netx flip: named error"] > 0
    assert told["counts"]["attack: named error"] > 60


def test_a_reader_that_ignores_the_checksum_is_caught(tmp_path):
    told = fuzz(tmp_path / "fuzz.json", "-c", CARELESS, netx=60, checkpoints=0, handmade=0)
    assert any(line.startswith("netx flip") and "other" in line for line in told["failures"])
