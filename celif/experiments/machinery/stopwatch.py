"""Processor time of training runs, which unlike wall-clock time does not count other programs."""

from __future__ import annotations

import json
import time
from pathlib import Path

from training.support.atomic import atomic_file
from training.trainer.progress import Progress

SPENT = "processor_seconds.json"


class Stopwatch:
    """Count processor seconds of training by epoch, without validation, in a resumable file."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / SPENT
        self.seconds: list[float] = []
        if self._path.is_file():
            self.seconds = json.loads(self._path.read_text(encoding="utf-8"))
        self._running, self._last = 0.0, time.process_time()

    def __call__(self, progress: Progress) -> None:
        """Called by the trainer after every step and, with a validation, after every epoch."""
        now = time.process_time()
        if progress.validation is None:
            self._running += now - self._last
        else:
            # A run that was killed before its checkpoint repeats the epoch, and its time.
            self.seconds = [*self.seconds[: progress.epoch - 1], round(self._running, 3)]
            self._running = 0.0
            with atomic_file(self._path) as draft:
                draft.write_text(json.dumps(self.seconds), encoding="utf-8")
        self._last = time.process_time()


def spent_below(folder: Path) -> float:
    """Return the processor seconds of all training runs below ``folder``."""
    found = [json.loads(path.read_text(encoding="utf-8")) for path in folder.rglob(SPENT)]
    return float(sum(map(sum, found)))
