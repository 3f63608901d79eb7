"""Run a function that forks, hangs or dies, and be sure that nothing of it remains.

The work is done behind a guard, see :mod:`lava_procs.guard`; here is the caller's side.
"""

from __future__ import annotations

import contextlib
import os
import signal
import tempfile
from collections.abc import Callable
from typing import IO, Any

from lava_procs.guard import POLL, Failure, Outcome, fork, guard

# For a guard to end everything; it takes some milliseconds.
_PATIENCE = 30.0

__all__ = ["Failure", "LavaRunError", "LavaTimeoutError", "manner", "supervise"]


class LavaRunError(RuntimeError):
    """A run failed: where, with the traceback of the model that failed."""


class LavaTimeoutError(LavaRunError, TimeoutError):
    """A run took longer than it was given."""


def supervise(
    function: Callable[[], Any],
    *,
    what: str,
    timeout: float,
    folder: str,
    poll: Callable[[], None] | None = None,
) -> Any:
    """Return ``function()``, computed in a forked process.

    Parameters
    ----------
    function
        Its value must be picklable. It must not use parallel numba or threaded torch, which do
        not survive a fork.
    what
        Names the run in errors.
    timeout
        Seconds.
    folder
        Where temporary files go. The caller removes it; the guard does if the caller dies.
    poll
        Called in the caller some ten times a second.

    Raises
    ------
    LavaRunError
        The function raised, or its process died.
    LavaTimeoutError
        It did not end in time.
    """
    answers, answer = fork.Pipe(duplex=False)
    stopped, stop = fork.Pipe(duplex=False)
    with tempfile.TemporaryFile(dir=folder) as log, answers, stop:
        with answer, stopped:
            arguments = (function, timeout, os.getpid(), folder, log, answer, stopped, stop)
            process = fork.Process(target=guard, args=arguments, name=f"guard of {what}")
            process.start()
        outcome = Outcome("died", None)
        try:
            # Not the guard's sentinel: its descendants hold that open when it is killed.
            while not answers.poll(POLL) and process.is_alive():
                if poll is not None:
                    poll()
            with contextlib.suppress(EOFError):
                if answers.poll():
                    outcome = answers.recv()
        finally:
            with contextlib.suppress(OSError):
                stop.send(None)
            process.join(_PATIENCE)
            if process.exitcode is None:
                process.kill()
                process.join()
            process.close()
        return _unpack(outcome, what, timeout, log)


def _unpack(outcome: Outcome, what: str, timeout: float, log: IO[bytes]) -> Any:
    kind, value = outcome
    if kind == "done":
        return value
    if kind == "failed":
        raise LavaRunError(f"{what}: {value}")
    if kind == "timeout":
        raise LavaTimeoutError(
            f"{what}: not finished after {timeout:g} s; stopped it and all its processes. "
            "If it was only slow, give it a longer timeout"
        )
    log.seek(0)
    words = log.read().decode(errors="replace").strip().splitlines()[-20:]
    said = "\n".join(["; it last said:", *words]) if words else ""
    raise LavaRunError(f"{what}: its main process died{manner(value)}{said}")


def manner(exitcode: int | None) -> str:
    """How a process died, as the end of a sentence."""
    if exitcode is None or exitcode == 0:
        return ""
    if exitcode > 0:
        return f" with exit code {exitcode}"
    name = signal.Signals(-exitcode).name
    hint = ", as by the system when memory runs out" if name == "SIGKILL" else ""
    return f" of {name}{hint}"
