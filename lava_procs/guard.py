"""The far side of :func:`lava_procs.supervise.supervise`: three generations of processes.

::

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
import threading
import time
import traceback
import warnings
from collections.abc import Callable
from multiprocessing import connection, resource_tracker
from typing import IO, Any, NamedTuple

POLL = 0.1
_PR_SET_CHILD_SUBREAPER = 36

fork = multiprocessing.get_context("fork")


class Failure(Exception):
    """Raised in the worker: text for the caller as it is, without a traceback added."""


class Outcome(NamedTuple):
    """What became of the worker: "done", "failed", "died", "timeout" or "stopped"."""

    kind: str
    value: Any


def guard(
    function: Callable[[], Any],
    timeout: float,
    caller: int,
    folder: str,
    log: IO[bytes],
    answer: connection.Connection,
    stopped: connection.Connection,
    stop: connection.Connection,
) -> None:
    """Run ``function`` in a worker, send its outcome to ``answer``, leave nothing behind."""
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
    results, result = fork.Pipe(duplex=False)
    worker = fork.Process(target=_work, args=(function, folder, os.getpid(), result))
    worker.start()
    result.close()  # so that a worker killed in mid-send ends the message, and nobody waits for it
    with contextlib.suppress(OSError):  # the worker does so too; who comes first is open
        os.setpgid(worker.pid or 0, worker.pid or 0)
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
) -> Outcome:
    sources = [results, stopped]
    while True:
        left = deadline - time.monotonic()
        exitcode = worker.exitcode  # before the results, which it sends before it ends
        ready = connection.wait(sources, max(0, min(left, POLL)))
        if results in ready:
            try:
                return results.recv()
            except (EOFError, OSError):  # it died before the end of its message
                sources.remove(results)
        if stopped in ready or os.getppid() != caller:
            return Outcome("stopped", None)
        if exitcode is not None:
            return Outcome("died", exitcode)
        if left <= 0:
            return Outcome("timeout", None)


def _work(
    function: Callable[[], Any], folder: str, guard: int, result: connection.Connection
) -> None:
    os.setpgid(0, 0)
    # Nor may what the worker forks, and leaves behind, hold the pipe open.
    os.register_at_fork(after_in_child=result.close)
    threading.Thread(target=_die_with, args=(guard,), daemon=True).start()
    # Managers keep their sockets here; killed, they could not remove a folder of their own.
    multiprocessing.current_process()._config["tempdir"] = folder  # type: ignore[attr-defined]
    warnings.simplefilter("ignore")
    try:
        outcome = Outcome("done", function())
    except Failure as failure:
        outcome = Outcome("failed", str(failure))
    except BaseException as error:
        text = "".join(traceback.format_exception(error))
        outcome = Outcome("failed", f"{type(error).__name__}: {error}\n\n{text}")
    result.send(outcome)
    os._exit(0)


def _die_with(guard: int) -> None:
    while os.getppid() == guard:
        time.sleep(POLL)
    os.killpg(0, signal.SIGKILL)


def _redirect(log: IO[bytes]) -> None:
    """Send what anyone below says, in Python or C, to the log."""
    for descriptor in (1, 2):
        os.dup2(log.fileno(), descriptor)
    # New objects: the old ones may belong to a test runner, or be locked by a thread that the
    # fork left behind.
    sys.stdout = os.fdopen(1, "w", closefd=False)
    sys.stderr = os.fdopen(2, "w", closefd=False)
