"""Errors of a run in Lava, in one process or in Lava's own runtime."""

from __future__ import annotations

import traceback


class LavaRunError(RuntimeError):
    """A run failed: where, with the traceback of the model that failed."""


class LavaTimeoutError(LavaRunError, TimeoutError):
    """A run took longer than it was given."""


class LavaStalledError(LavaTimeoutError):
    """A run made no step for longer than its heartbeat."""


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
