"""Models as coroutines: who runs, who waits, and what a wait without end looks like.

A *task* is one model's part of one phase. A worker, which is a greenlet, runs tasks one after
another. Where a task has to wait for a message, its worker is parked with it, and another worker
goes on with the tasks that are left, so that a step in which nobody waits needs a single worker.
The hub, which is the greenlet that called :meth:`Scheduler.run`, decides which worker is next.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable
from typing import NamedTuple

from greenlet import GreenletExit, getcurrent, greenlet

from lava_procs.errors import LavaDeadlockError, raised

_POLL = 0.05
"""Seconds between looks at whether a run that waits for another thread was called off."""


class PhaseTask(NamedTuple):
    """Something that a model does in a phase."""

    name: str
    call: Callable[[], object]


class Wait(NamedTuple):
    """What a worker is parked for; ``met`` is given if another thread can end the wait."""

    reason: str
    met: Callable[[], bool] | None = None


class Cancelled(BaseException):
    """Raised in the hub when a run that waits for another thread is called off."""


class Worker(greenlet):
    """Runs tasks; ``task`` is the one at hand."""

    scheduler: Scheduler
    task: PhaseTask | None = None


class Scheduler:
    """Runs tasks until all have ended."""

    def __init__(self) -> None:
        self.tasks: deque[PhaseTask] = deque()
        self.current: Worker | None = None
        self.cancelled = False
        self.bell = threading.Condition()
        """Notified by other threads that send to a model, or take from it."""
        self._hub: greenlet = getcurrent()
        self._ready: deque[Worker] = deque()
        self._idle: list[Worker] = []
        self._parked: dict[Worker, Wait] = {}
        self._yielding: list[Worker] = []

    def run(
        self, tasks: Iterable[PhaseTask], more: Callable[[], Iterable[PhaseTask]] | None = None
    ) -> None:
        """Run all tasks, and those that ``more`` gives whenever nothing else can go on.

        Raises
        ------
        LavaRunError
            A task raised; the error names it and has the original as its cause.
        LavaDeadlockError
            Tasks wait for one another.
        """
        self._hub = getcurrent()
        self.tasks.extend(tasks)
        while True:
            if self._ready:
                worker = self._ready.popleft()
            elif self.tasks:
                worker = self._idle.pop() if self._idle else self._new_worker()
            elif more is not None and (further := list(more())):
                self.tasks.extend(further)
                continue
            elif self._yielding:
                self._ready.extend(self._yielding)
                self._yielding.clear()
                continue
            elif self._parked:
                self._await_other_threads()
                continue
            else:
                return
            self.current = worker
            try:
                worker.switch()
            except Exception as error:
                if worker.task is None or isinstance(error, LavaDeadlockError):
                    raise
                raise raised(worker.task.name, error) from error
            finally:
                self.current = None

    def close(self) -> None:
        """End every worker; those that are parked in a model leave it by an exception."""
        self.tasks.clear()
        self._ready.clear()
        self._yielding.clear()
        workers = [*self._idle, *self._parked]
        self._idle.clear()
        self._parked.clear()
        self._hub = getcurrent()
        for worker in workers:
            # A model may hold on to its worker with a bare except, but not for ever.
            for _ in range(3):
                if worker.dead:
                    break
                try:
                    worker.throw(GreenletExit)
                except Exception:  # what a model raises on its way out helps nobody any more
                    break
            self._parked.clear()

    def busy(self) -> set[str]:
        """Names of the tasks that have begun and not ended."""
        waiting = [*self._parked, *self._yielding, *self._ready]
        return {worker.task.name for worker in waiting if worker.task is not None}

    def park(self, wait: Wait) -> Worker:
        """Note that the running worker waits; :meth:`switch` then lets go of it."""
        worker = getcurrent()
        if not isinstance(worker, Worker) or worker.scheduler is not self:
            raise LavaDeadlockError(f"nobody can answer outside a run: waits {wait.reason}")
        self._parked[worker] = wait
        return worker

    def switch(self) -> None:
        """Leave the running worker where it is, until it is woken."""
        self._hub.switch()

    def wake(self, worker: Worker) -> None:
        """Let a parked worker go on."""
        if self._parked.pop(worker, None) is not None:
            self._ready.append(worker)

    def let_others_run(self) -> None:
        """Come back when no other task can go on; outside a run, at once."""
        worker = getcurrent()
        if isinstance(worker, Worker) and worker.scheduler is self:
            self._yielding.append(worker)
            self._hub.switch()

    def _new_worker(self) -> Worker:
        worker = Worker(self._work, self._hub)
        worker.scheduler = self
        return worker

    def _work(self) -> None:
        worker = getcurrent()
        assert isinstance(worker, Worker)
        tasks = self.tasks
        while True:
            while tasks:
                worker.task = task = tasks.popleft()
                task.call()
            worker.task = None
            self._idle.append(worker)
            self._hub.switch()

    def _await_other_threads(self) -> None:
        """Wake the workers that another thread has answered; raise if none can be answered."""
        waits = [(w, wait.met) for w, wait in self._parked.items() if wait.met is not None]
        if not waits:
            raise LavaDeadlockError(self._explanation())
        with self.bell:
            while not (met := [worker for worker, met in waits if met()]):
                if self.cancelled:
                    raise Cancelled
                self.bell.wait(_POLL)
        for worker in met:
            self.wake(worker)

    def _explanation(self) -> str:
        lines = sorted(
            f"  {worker.task.name if worker.task else 'a model'} waits {wait.reason}"
            for worker, wait in self._parked.items()
        )
        return "\n".join(["models wait for messages that nobody sends:", *lines])
