"""Mends of Lava for the Python, numpy and torch that run, applied while Lava is imported.

Lava 0.10 and lava-dl 0.6, both archived, were made for Python 3.10, numpy 1 and torch 2.3.
"""

from lava_procs.mends import hook
from lava_procs.mends.command import lava_command
from lava_procs.mends.hook import Mend
from lava_procs.mends.table import MENDS

__all__ = ["MENDS", "Mend", "install", "lava_command"]


def install() -> None:
    """Mend Lava: its modules as they are imported, and those that are imported already."""
    hook.install(MENDS)
