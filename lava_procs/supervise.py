"""Run a function that forks, hangs or dies, and be sure that nothing of it remains.

Three generations::

    caller ── guard (own session) ─┬─ worker (own process group) ── whatever it forks
                                   └─ resource tracker

The guard does nothing but wait: for the worker's answer, its death, the deadline, the caller's
death or the caller's wish to stop. Then it kills the worker's whole group, takes in the orphans,
and closes the tracker, which unlinks the shared memory that killed processes leave behind. When
the guard is gone, so is everything else. If the guard itself is killed, the worker's group kills
itself.
"""

from __future__ import annotations

import contextlib
import ctypes
import multiprocessing
import os
import shutil
import signal
import sys
import tempfile
import threading
import time
import traceback
import warnings
from collections.abc import Callable
from multiprocessing import connection, resource_tracker
from typing import IO, Any, NamedTuple

_PATIENCE = 30.0
_POLL = 0.1
_PR_SET_CHILD_SUBREAPER = 36

_fork = multiprocessing.get_context("fork")


class LavaRunError(RuntimeError):
    """A run failed: where, with the traceback of the model that failed."""


class LavaTimeoutError(LavaRunError, TimeoutError):
    """A run took longer than it was given."""


class Failure(Exception):
    """Raised in the worker: text for the caller as it is, without a traceback added."""


class _Outcome(NamedTuple):
    kind: str  # "done", "failed", "died", "timeout" or "stopped"
    value: Any


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
    answers, answer = _fork.Pipe(duplex=False)
    stopped, stop = _fork.Pipe(duplex=False)
    with tempfile.TemporaryFile(dir=folder) as log, answers, stop:
        with answer, stopped:
            arguments = (function, timeout, os.getpid(), folder, log, answer, stopped, stop)
            guard = _fork.Process(target=_guard, args=arguments, name=f"guard of {what}")
            guard.start()
        outcome = _Outcome("died", None)
        try:
            while not connection.wait([answers, guard.sentinel], timeout=_POLL):
                if poll is not None:
                    poll()
            with contextlib.suppress(EOFError):
                if answers.poll():
                    outcome = answers.recv()
        finally:
            with contextlib.suppress(OSError):
                stop.send(None)
            guard.join(_PATIENCE)
            if guard.exitcode is None:
                guard.kill()
                guard.join()
            guard.close()
        return _unpack(outcome, what, timeout, log)


def _unpack(outcome: _Outcome, what: str, timeout: float, log: IO[bytes]) -> Any:
    kind, value = outcome
    if kind == "done":
        return value
    if kind == "failed":
        raise LavaRunError(f"{what}: {value}")
    if kind == "timeout":
        raise LavaTimeoutError(
            f"{what}: not finished after {timeout:.0f} s; stopped it and all its processes. "
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


def _guard(
    function: Callable[[], Any],
    timeout: float,
    caller: int,
    folder: str,
    log: IO[bytes],
    answer: connection.Connection,
    stopped: connection.Connection,
    stop: connection.Connection,
) -> None:
    stop.close()
    os.setsid()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    _redirect(log)
    if sys.platform == "linux":  # elsewhere orphans go to init, and end there
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    # A tracker of our own: the caller's, if there is one, cleans up only when the caller ends.
    tracker: Any = resource_tracker._resource_tracker
    resource_tracker.ResourceTracker.__init__(tracker)
    tracker.ensure_running()
    results, result = _fork.Pipe(duplex=False)
    worker = _fork.Process(target=_work, args=(function, folder, os.getpid(), result))
    worker.start()
    outcome = _await(worker, results, stopped, caller, time.monotonic() + timeout)
    # Twice: a process of the group may have been forking while the first signal went round.
    for _ in range(2):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(worker.pid or 0, signal.SIGKILL)
        worker.join()
    tracker._stop()
    with contextlib.suppress(ChildProcessError):
        while True:
            os.waitpid(-1, 0)
    if os.getppid() != caller:
        shutil.rmtree(folder, ignore_errors=True)
    with contextlib.suppress(OSError):
        answer.send(outcome)
    os._exit(0)


def _await(
    worker: Any,
    results: connection.Connection,
    stopped: connection.Connection,
    caller: int,
    deadline: float,
) -> _Outcome:
    while True:
        left = deadline - time.monotonic()
        ready = connection.wait([results, stopped, worker.sentinel], max(0, min(left, _POLL)))
        if results in ready:
            return results.recv()
        if stopped in ready or os.getppid() != caller:
            return _Outcome("stopped", None)
        if worker.sentinel in ready:
            worker.join()
            return _Outcome("died", worker.exitcode)
        if left <= 0:
            return _Outcome("timeout", None)


def _work(
    function: Callable[[], Any], folder: str, guard: int, result: connection.Connection
) -> None:
    os.setpgid(0, 0)
    threading.Thread(target=_die_with, args=(guard,), daemon=True).start()
    # Managers keep their sockets here; killed, they could not remove a folder of their own.
    multiprocessing.current_process()._config["tempdir"] = folder  # type: ignore[attr-defined]
    warnings.simplefilter("ignore")
    try:
        outcome = _Outcome("done", function())
    except Failure as failure:
        outcome = _Outcome("failed", str(failure))
    except BaseException as error:
        text = "".join(traceback.format_exception(error))
        outcome = _Outcome("failed", f"{type(error).__name__}: {error}\n\n{text}")
    result.send(outcome)
    os._exit(0)


def _die_with(guard: int) -> None:
    while os.getppid() == guard:
        time.sleep(_POLL)
    os.killpg(0, signal.SIGKILL)


def _redirect(log: IO[bytes]) -> None:
    """Send what anyone below says, in Python or C, to the log."""
    for descriptor in (1, 2):
        os.dup2(log.fileno(), descriptor)
    # New objects: the old ones may belong to a test runner, or be locked by a thread that the
    # fork left behind.
    sys.stdout = os.fdopen(1, "w", closefd=False)
    sys.stderr = os.fdopen(2, "w", closefd=False)
