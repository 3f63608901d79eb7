"""``make kill`` on a small scale: writers are killed and their disks fail, and nothing is lost."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from benchmarks.soak import reliability_page

ROOT = Path(__file__).parents[2]


def test_killed_writers_and_failing_disks_lose_nothing(tmp_path):
    record = tmp_path / "kill.json"
    options = (
        "--kills",
        "14",
        "--disks",
        "16",
        "--runs",
        "1",
        "--no-kits",
        "--record",
        str(record),
    )
    command = [sys.executable, "-m", "benchmarks.soak.kill", *options]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    told = json.loads(record.read_text())
    assert told["failures"] == []
    assert told["counts"]["kills"] >= 8
    assert told["counts"]["disk faults"] == 16
    assert told["counts"]["of these: slow"] >= 4
    assert told["counts"]["reads while a slow disk was writing"] > 10
    assert told["counts"]["runs resumed bit for bit"] == 1


def test_page_says_what_the_records_say():
    text = (ROOT / "docs" / "reliability.md").read_text(encoding="utf-8")
    assert text == reliability_page.page()
    assert "| kills | 220 |" in text
