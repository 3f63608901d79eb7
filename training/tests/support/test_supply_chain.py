"""The supply chain: every locked distribution has hashes, and every installed one a licence."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("name", ["requirements.lock", "requirements-bench.lock"])
def test_every_locked_distribution_has_a_hash(name):
    entries = re.split(r"\n(?=[A-Za-z0-9])", (ROOT / name).read_text())
    pins = [entry for entry in entries if re.match(r"[A-Za-z0-9._-]+==", entry)]
    assert len(pins) > 3
    assert [pin.partition(" ")[0] for pin in pins if "--hash=sha256:" not in pin] == []


def test_licences_of_what_is_installed_are_listed():
    command = [sys.executable, str(ROOT / ".ci" / "licences.py")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    listed = {line.split()[0]: line for line in done.stdout.splitlines()}
    assert "BSD" in listed["torch"]
    assert "Apache" in listed["safetensors"]
