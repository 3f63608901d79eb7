"""The machine and the software that a run used, without which its figures mean little."""

from __future__ import annotations

import datetime
import os
import platform
import subprocess
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path
from typing import Any

import torch

from training.support import openmp


def _cpu_model() -> str:
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"


def _commit() -> str:
    """Return the revision of the source tree, or "unknown" for an installed package."""
    here = Path(__file__)

    def git(*words: str) -> str:
        done = subprocess.run(
            ["git", *words], cwd=here.parent, capture_output=True, text=True, check=False
        )
        return done.stdout.strip()

    try:
        # An installed package may lie inside a repository of the user, whose revision is not ours.
        ours = git("ls-files", here.name)
        return (git("describe", "--always", "--dirty") if ours else "") or "unknown"
    except OSError:
        return "unknown"


def describe(packages: Iterable[str] = ("celif-lava", "torch", "numba", "numpy")) -> dict[str, Any]:
    """Describe the CPU, threads, versions, date, commit, and the load before the run."""
    return {
        "date": datetime.datetime.now().astimezone().isoformat(timespec="seconds"),
        "commit": _commit(),
        "cpu": _cpu_model(),
        "cores": os.cpu_count(),
        "load": [round(load, 2) for load in os.getloadavg()],
        "torch_threads": torch.get_num_threads(),
        "omp_wait_policy": openmp.wait_policy(),
        "system": platform.platform(terse=True),
        "python": platform.python_version(),
        "versions": {package: _version(package) for package in packages},
    }
