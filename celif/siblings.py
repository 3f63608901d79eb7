"""A check that ``training``, ``export``, … are ours, and not a user's file of the same name."""

from __future__ import annotations

import importlib.util
from pathlib import Path

ROOMS = ("training", "export", "lava_procs", "hw_tests")


def check_siblings() -> None:
    """Raise ImportError if a module elsewhere shadows one of our packages."""
    home = Path(__file__).resolve().parent.parent
    for room in ROOMS:
        spec = importlib.util.find_spec(room)
        found = Path(spec.origin).resolve() if spec and spec.origin else None
        if found is None or found.parent.parent != home:
            raise ImportError(
                f"{room}: expected celif's package in {home}, found {found}; "
                f"rename your {room}.py or run celif from another folder"
            )
