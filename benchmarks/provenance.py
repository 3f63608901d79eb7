"""What a measurement was taken on; without it the figures mean nothing."""

from __future__ import annotations

from typing import Any

from training.support import machine

_PACKAGES = ("torch", "numba", "numpy", "lava-dl", "lava-nc", "snntorch", "spikingjelly")


def describe() -> dict[str, Any]:
    """CPU, threads, versions, date, commit, and how busy the machine was already."""
    return machine.describe(_PACKAGES)


def in_words(about: dict[str, Any]) -> str:
    """The description in two lines."""
    versions = ", ".join(f"{name} {version}" for name, version in about["versions"].items())
    return (
        f"{about['date']}, commit {about['commit']}, {about['cpu']}, {about['cores']} cores, "
        f"{about['torch_threads']} torch threads, OMP_WAIT_POLICY {about['omp_wait_policy']}, "
        f"load {about['load'][0]} before\n"
        f"{about['system']}, Python {about['python']}, {versions}"
    )
