"""The far side of :func:`lava_procs.runner.supervise.supervise`: three generations of processes.

::

    caller ── guard (own session) ─┬─ worker (own process group) ── whatever it forks
                                   └─ resource tracker

The guard does nothing but wait: for the worker's answer, its death, the deadline, a heartbeat that
stays away, the caller's death or the caller's wish to stop. Then it kills the worker's whole
group, takes in the orphans, and closes the tracker, which unlinks the shared memory that killed
processes leave behind. When the guard is gone, so is everything else. If the guard itself is
killed, the worker's group kills itself.
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
from dataclasses import dataclass
from multiprocessing import connection, resource_tracker
from typing import IO, Any, NamedTuple

from lava_procs.runner import hang

POLL = 0.1
_PR_SET_CHILD_SUBREAPER = 36

fork = multiprocessing.get_context("fork")


class Failure(Exception):
    """Raised in the worker: text for the caller as it is, without a traceback added."""


@dataclass(frozen=True)
class GuardedJob:
    """A function to run behind a guard.

    Attributes
    ----------
    function
        Its value must be picklable. It must not use parallel numba or threaded torch, which do
        not survive a fork.
    what
        Names the run in errors.
    timeout
        Seconds.
    folder
        Where temporary files go.
    root
        What the caller removes afterwards, and the guard if the caller dies; by default the folder.
    done, total
        How many steps were taken so far, and how many there are.
    heartbeat
        Seconds without a step after which it is ended; None waits for the deadline.
    start
        As ``heartbeat``, before the first step.
    """

    function: Callable[[], Any]
    what: str
    timeout: float
    folder: str
    root: str | None = None
    done: Callable[[], int] | None = None
    total: int = 0
    heartbeat: float | None = None
    start: float = 60.0

    def patience(self) -> float:
        """Seconds that the next step may take."""
        if self.done is None or self.heartbeat is None:
            return float("inf")
        return self.heartbeat if self.done() else max(self.heartbeat, self.start)

    def progress(self) -> str:
        """How far it has come, for errors."""
        return "" if self.done is None else f" (step {self.done()} of {self.total})"


class WorkerOutcome(NamedTuple):
    """What became of the worker: "done", "failed", "died", "timeout", "stalled" or "stopped"."""

    kind: str
    value: Any


def guard(
    job: GuardedJob,
    caller: int,
    log: IO[bytes],
    answer: connection.Connection,
    stopped: connection.Connection,
    stop: connection.Connection,
) -> None:
    """Run the job in a worker, send its outcome to ``answer``, leave nothing behind."""
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
    worker = fork.Process(target=_work, args=(job, os.getpid(), result))
    worker.start()
    result.close()  # so that a worker killed in mid-send ends the message, and nobody waits for it
    with contextlib.suppress(OSError):  # the worker does so too; who comes first is open
        os.setpgid(worker.pid or 0, worker.pid or 0)
    outcome = _await(job, worker, results, stopped, caller)
    if outcome.kind in ("timeout", "stalled"):
        with contextlib.suppress(OSError):  # an explanation is worth no second failure
            outcome = outcome._replace(value=hang.behind(job.folder))
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
        shutil.rmtree(job.root or job.folder, ignore_errors=True)
    with contextlib.suppress(OSError):
        answer.send(outcome)
    os._exit(0)


def _await(
    job: GuardedJob,
    worker: Any,
    results: connection.Connection,
    stopped: connection.Connection,
    caller: int,
) -> WorkerOutcome:
    sources = [results, stopped]
    deadline = time.monotonic() + job.timeout
    done, beat = 0, time.monotonic()
    while True:
        now = time.monotonic()
        exitcode = worker.exitcode  # before the results, which it sends before it ends
        ready = connection.wait(sources, max(0, min(deadline - now, POLL)))
        if results in ready:
            try:
                return results.recv()
            except (EOFError, OSError):  # it died before the end of its message
                sources.remove(results)
        if stopped in ready or os.getppid() != caller:
            return WorkerOutcome("stopped", None)
        if exitcode is not None:
            return WorkerOutcome("died", exitcode)
        if now >= deadline:
            return WorkerOutcome("timeout", None)
        if job.done is not None and (steps := job.done()) != done:
            done, beat = steps, now
        if now - beat > job.patience():
            return WorkerOutcome("stalled", None)


def _work(job: GuardedJob, guard: int, result: connection.Connection) -> None:
    os.setpgid(0, 0)
    # Nor may what the worker forks, and leaves behind, hold the pipe open.
    os.register_at_fork(after_in_child=result.close)
    threading.Thread(target=_die_with, args=(guard,), daemon=True).start()
    # Managers keep their sockets here; killed, they could not remove a folder of their own.
    multiprocessing.current_process()._config["tempdir"] = _short(job.folder)  # type: ignore[attr-defined]
    # Lava starts its processes by this process's default method, and runs with fork alone.
    multiprocessing.set_start_method("fork", force=True)
    warnings.simplefilter("ignore")
    hang.register(job.folder)
    try:
        outcome = WorkerOutcome("done", job.function())
    except Failure as failure:
        outcome = WorkerOutcome("failed", str(failure))
    except BaseException as error:
        text = "".join(traceback.format_exception(error))
        outcome = WorkerOutcome("failed", f"{type(error).__name__}: {error}\n\n{text}")
    result.send(outcome)
    os._exit(0)


def _short(folder: str) -> str:
    """A name of the folder that a socket's address, of 107 characters, has room for."""
    if sys.platform != "linux":
        return folder
    # Open until the end, in the forked processes too.
    return f"/proc/self/fd/{os.open(folder, os.O_RDONLY | os.O_DIRECTORY)}"


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
