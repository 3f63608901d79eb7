"""The one command that adds Lava to the running environment."""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path

PACKAGES = ("lava-nc==0.10.0", "lava-dl==0.6.0")
"""Lava's last releases. Their own pins would take Python, numpy and torch back by years."""


def _has_pip() -> bool:
    return importlib.util.find_spec("pip") is not None


def _made_by_uv() -> bool:
    """Whether uv made this environment, or runs this process."""
    try:
        made = (Path(sys.prefix) / "pyvenv.cfg").read_text()
    except OSError:
        made = ""
    return "UV" in os.environ or any(line.startswith("uv =") for line in made.splitlines())


def lava_command() -> str:
    """Return the command that installs Lava, without its pins, for this Python and installer."""
    if _made_by_uv() and not _has_pip():
        return " ".join(("uv pip install --no-deps", *PACKAGES))
    # uv takes no notice of an upper bound on Python; pip has to be told so.
    newer = ("--ignore-requires-python",) if sys.version_info >= (3, 11) else ()
    return " ".join(("python -m pip install --no-deps", *newer, *PACKAGES))
