"""Run functions that fork, hang or die, and be sure that nothing of them remains.

The work is done behind guards, see :mod:`lava_procs.runner.guard`; here is the caller's side.
"""

from __future__ import annotations

import contextlib
import os
import signal
import tempfile
from collections import deque
from collections.abc import Callable, Generator, Iterable
from multiprocessing import connection
from typing import Any

from lava_procs.errors import LavaRunError, LavaStalledError, LavaTimeoutError
from lava_procs.runner.guard import POLL, Failure, GuardedJob, WorkerOutcome, fork, guard

# For a guard to end everything; it takes some milliseconds.
_PATIENCE = 30.0

__all__ = [
    "Failure",
    "GuardedJob",
    "LavaRunError",
    "LavaStalledError",
    "LavaTimeoutError",
    "manner",
    "supervise",
    "timed_out",
]


def supervise(
    jobs: Iterable[GuardedJob], workers: int = 1, poll: Callable[[], None] | None = None
) -> Generator[Any, None, None]:
    """Yield what each job's function returns, computed in a forked process, in order.

    Parameters
    ----------
    jobs
        Taken one by one, when there is room for another.
    workers
        Jobs that run, or have run and wait for those before them, at a time.
    poll
        Called in the caller some ten times a second.

    Raises
    ------
    LavaRunError
        A job's function raised, or its process died; the other jobs are ended.
    LavaTimeoutError
        A job did not end in time.
    LavaStalledError
        A job made no progress for the length of its heartbeat.
    """
    wards: deque[_Ward] = deque()
    coming = iter(jobs)
    try:
        while True:
            while len(wards) < workers and (job := next(coming, None)) is not None:
                wards.append(_Ward(job))
            if not wards:
                return
            while not wards[0].ended:
                # Not the guards' sentinels: their descendants hold those open when one is killed.
                connection.wait([ward.answers for ward in wards if not ward.ended], POLL)
                for ward in wards:
                    if ward.look():
                        ward.check()
                if poll is not None:
                    poll()
            yield wards[0].check()
            wards.popleft().close()
    finally:
        for ward in wards:
            ward.stop()
        for ward in wards:
            ward.close()


class _Ward:
    """A job behind its guard, seen from the caller."""

    def __init__(self, job: GuardedJob):
        self.job = job
        self.outcome: WorkerOutcome | None = None
        with contextlib.ExitStack() as stack:
            self.log = stack.enter_context(tempfile.TemporaryFile(dir=job.folder))
            self.answers, answer = fork.Pipe(duplex=False)
            stopped, self._stop = fork.Pipe(duplex=False)
            stack.enter_context(self.answers)
            stack.enter_context(self._stop)
            with answer, stopped:
                arguments = (job, os.getpid(), self.log, answer, stopped, self._stop)
                self.process = fork.Process(
                    target=guard, args=arguments, name=f"guard of {job.what}"
                )
                self.process.start()
            self._files = stack.pop_all()

    @property
    def ended(self) -> bool:
        return self.outcome is not None

    def look(self) -> bool:
        """Whether it has ended since the last look."""
        if self.ended or (not self.answers.poll() and self.process.is_alive()):
            return False
        self.outcome = WorkerOutcome("died", None)
        with contextlib.suppress(EOFError, OSError):
            if self.answers.poll():
                self.outcome = self.answers.recv()
        return True

    def check(self) -> Any:
        """What the function returned, or the error that ended it."""
        job, outcome = self.job, self.outcome
        assert outcome is not None
        kind, value = outcome
        if kind == "done":
            return value
        if kind == "failed":
            raise LavaRunError(f"{job.what}: {value}")
        if kind in ("timeout", "stalled"):
            raise timed_out(job, kind, "stopped it and all its processes", value or "")
        self.log.seek(0)
        words = self.log.read().decode(errors="replace").strip().splitlines()[-20:]
        said = "\n".join(["; it last said:", *words]) if words else ""
        raise LavaRunError(f"{job.what}: its main process died{manner(value)}{said}")

    def stop(self) -> None:
        """Ask the guard to end everything; it does, and needs a moment."""
        with contextlib.suppress(OSError):
            self._stop.send(None)

    def close(self) -> None:
        """Wait until the guard, and so everything below it, is gone."""
        try:
            self.stop()
            self.process.join(_PATIENCE)
        finally:
            if self.process.exitcode is None:
                self.process.kill()
                self.process.join()
            self.process.close()
            self._files.close()


def timed_out(job: GuardedJob, kind: str, stopped: str, doing: str) -> LavaTimeoutError:
    """Return the error of a run of "timeout" or "stalled"; ``doing`` says what it was doing."""
    reason = f"; {doing}" if doing else ""
    if kind == "timeout":
        return LavaTimeoutError(
            f"{job.what}: not finished after {job.timeout:g} s{job.progress()}; {stopped}. "
            f"If it was only slow, give it a longer timeout{reason}"
        )
    return LavaStalledError(
        f"{job.what}: no progress for {job.patience():g} s{job.progress()}; {stopped}. "
        f"If it was only slow, give it a longer heartbeat{reason}"
    )


_HINTS = {
    "SIGKILL": ", as by the system when memory runs out",
    "SIGBUS": ", as when /dev/shm is full: free some, or use runtime='inline'",
}


def manner(exitcode: int | None) -> str:
    """How a process died, as the end of a sentence."""
    if exitcode is None or exitcode == 0:
        return ""
    if exitcode > 0:
        return f" with exit code {exitcode}"
    name = signal.Signals(-exitcode).name
    return f" of {name}{_HINTS.get(name, '')}"
