"""Errors of a run in one process, in addition to those of every run."""

from __future__ import annotations

import traceback

from lava_procs.runner.supervise import LavaRunError


class LavaDeadlockError(LavaRunError):
    """Models wait for one another, and none of them can go on."""


class LavaInlineError(LavaRunError, NotImplementedError):
    """A network has a part that cannot run in the calling process."""


def raised(name: str, error: Exception) -> LavaRunError:
    """The error of a model, as the caller of the run sees it; ``error`` becomes its cause."""
    frames = traceback.extract_tb(error.__traceback__)
    where = ""
    if frames:
        last = frames[-1]
        where = f" (in {last.name}, {last.filename}:{last.lineno})"
    return LavaRunError(f"{name} raised {type(error).__name__}: {error}{where}")
