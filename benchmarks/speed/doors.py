"""How long the doors take to open: processor time of ``celif --help`` and of slow imports."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from typing import Any

TARGETS = {
    "celif --help": 0.5,
    "celif inspect": 0.8,
    "import lava_procs": 2.4,
    "lava_procs.run": 2.4,
}
"""Seconds of processor time that each may take."""

MODEL = "models/seq-mnist-88.net"

_COMMANDS = {
    "celif --help": ("-m", "celif.cli", "--help"),
    "celif inspect": ("-m", "celif.cli", "inspect", MODEL),
    "import celif": ("-c", "import celif"),
    "import export": ("-c", "import export"),
    "import lava_procs": ("-c", "import lava_procs"),
    # Its names are imported on first use; these are the ones that need Lava.
    "lava_procs.run": ("-c", "from lava_procs import Network, run"),
}


def _seconds(arguments: tuple[str, ...]) -> float | None:
    """Processor time of a Python process, user and system; None if it failed."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = os.environ | {"PYTHONPATH": os.getcwd()}
    done = subprocess.run(
        [sys.executable, *arguments], capture_output=True, check=False, env=environment
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return spent if done.returncode == 0 else None


def measure(repetitions: int = 5) -> dict[str, Any]:
    """Return the least processor time of several runs of each, in seconds."""
    found: dict[str, float | None] = {}
    for name, arguments in _COMMANDS.items():
        runs = [_seconds(arguments) for _ in range(repetitions)]
        times = [seconds for seconds in runs if seconds is not None]
        found[name] = round(min(times), 3) if times else None
    passed = {
        name: None if found[name] is None else bool((found[name] or 0.0) <= limit)
        for name, limit in TARGETS.items()
    }
    return {"seconds": found, "passed": passed}
