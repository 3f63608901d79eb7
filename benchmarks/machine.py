"""What a measurement was taken on; without it the figures mean nothing."""

from __future__ import annotations

import datetime
import os
import platform
import subprocess
from importlib import metadata
from pathlib import Path
from typing import Any

import torch

_PACKAGES = ("torch", "numba", "numpy", "lava-dl", "lava-nc", "snntorch", "spikingjelly")


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
    command = ["git", "describe", "--always", "--dirty"]
    try:
        done = subprocess.run(
            command, cwd=Path(__file__).parent, capture_output=True, text=True, check=False
        )
    except OSError:
        return "unknown"
    return done.stdout.strip() or "unknown"


def describe() -> dict[str, Any]:
    """CPU, threads, versions, date, commit, and how busy the machine was already."""
    return {
        "date": datetime.datetime.now().astimezone().isoformat(timespec="seconds"),
        "commit": _commit(),
        "cpu": _cpu_model(),
        "cores": os.cpu_count(),
        "load": [round(load, 2) for load in os.getloadavg()],
        "torch_threads": torch.get_num_threads(),
        "omp_wait_policy": os.environ.get("OMP_WAIT_POLICY", "not set"),
        "system": platform.platform(terse=True),
        "python": platform.python_version(),
        "versions": {package: _version(package) for package in _PACKAGES},
    }


def in_words(about: dict[str, Any]) -> str:
    """The description in two lines."""
    versions = ", ".join(f"{name} {version}" for name, version in about["versions"].items())
    return (
        f"{about['date']}, commit {about['commit']}, {about['cpu']}, {about['cores']} cores, "
        f"{about['torch_threads']} torch threads, OMP_WAIT_POLICY {about['omp_wait_policy']}, "
        f"load {about['load'][0]} before\n"
        f"{about['system']}, Python {about['python']}, {versions}"
    )
