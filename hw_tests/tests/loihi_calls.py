"""What was called, in order, in any process of a run: kept in a file, as Lava's are forked."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

FOLDER = "CELIF_STANDIN"
"""Variable of the environment that names the folder of a test's stand-in."""


def folder() -> Path:
    return Path(os.environ[FOLDER])


def note(call: str, *arguments: Any) -> None:
    """Write down a call."""
    with (folder() / "calls.jsonl").open("a") as f:
        f.write(json.dumps([call, *arguments]) + "\n")


def calls(*names: str) -> list[list[Any]]:
    """Calls so far, or those of the given names, each with its name first."""
    file = folder() / "calls.jsonl"
    lines = file.read_text().splitlines() if file.exists() else []
    every = [json.loads(line) for line in lines]
    return [call for call in every if not names or call[0] in names]
