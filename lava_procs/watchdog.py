"""Ends a run in the calling process that takes too long, and says what it was doing.

A thread looks at the clock. In the main thread a signal then interrupts whatever runs, a
``time.sleep`` included; in any other thread the interpreter raises between two instructions of
Python, so that a call into compiled code ends first.

Python ignores what is raised while it deletes an object. Such a moment is waited out, as far as it
can be told from the frames; a body that ends after its time all the same has failed, too.
"""

from __future__ import annotations

import ctypes
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any

_SHOWN = 6
"""Innermost frames to show."""

_AGAIN = 1.0
"""Seconds after which a model that did not let itself be interrupted is interrupted again."""

_SOON = 0.01
"""Seconds after which to try again if Python was deleting an object."""

# Ignored by default, and so harmless should it ever come late.
_SIGNAL = getattr(signal, "SIGURG", None)

_WEAK = ("weakref", "_weakrefset")
"""Modules whose functions Python calls when an object is deleted."""

_in_main: list[Watchdog] = []


class Watchdog:
    """A context whose body must end in time.

    Parameters
    ----------
    timeout
        Seconds for all of it.
    error
        Gives the error to raise from ``"timeout"`` or ``"stalled"`` and what the body was doing.
    who
        Names the part of the body that is running.
    heartbeat
        Gives the seconds that may pass without a change of ``done``.
    done
        How far the body has come.
    """

    def __init__(
        self,
        timeout: float,
        error: Callable[[str, str], BaseException],
        who: Callable[[], str] = lambda: "",
        heartbeat: Callable[[], float] = lambda: float("inf"),
        done: Callable[[], int] = lambda: 0,
    ):
        self._timeout, self._error, self._who = timeout, error, who
        self._heartbeat, self._done = heartbeat, done
        self._overdue: type[BaseException] = type("Overdue", (BaseException,), {})
        self._kind = self._doing = ""
        self._bad_moment = False
        self._ended = threading.Event()
        self._lock = threading.Lock()
        self._target = 0
        self._thread = threading.Thread(target=self._watch, name="Lava watchdog", daemon=True)
        self._before: Any = None
        self._signals = False

    def __enter__(self) -> Watchdog:
        self._target = threading.get_ident()
        self._signals = (
            _SIGNAL is not None
            and hasattr(signal, "pthread_kill")
            and threading.current_thread() is threading.main_thread()
        )
        if self._signals:
            _in_main.append(self)
            self._before = signal.signal(_SIGNAL, _bark)  # type: ignore[arg-type]
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            self._call_off()
        except self._overdue:  # it came just now, too late for a body that has ended
            self._call_off()
        self._thread.join()
        if self._signals:
            _in_main.remove(self)
            before = signal.SIG_DFL if self._before is None else self._before
            signal.signal(_SIGNAL, before)  # type: ignore[arg-type]
        if self._kind and (kind is None or issubclass(kind, self._overdue)):
            raise self._error(self._kind, self._doing) from None

    def _call_off(self) -> None:
        with self._lock:
            self._ended.set()
            if self._kind and not self._signals:
                raise_in_thread(self._target, None)

    def _watch(self) -> None:
        start = beat = time.monotonic()
        done = self._done()
        while True:
            now = time.monotonic()
            if (steps := self._done()) != done:
                done, beat = steps, now
            patience = self._heartbeat()
            if now - start >= self._timeout:
                self._interrupt("timeout")
            elif now - beat >= patience:
                self._interrupt("stalled")
            wait = min(self._timeout - (now - start), patience - (now - beat), _AGAIN)
            if wait <= 0:
                wait = _SOON if self._bad_moment else _AGAIN
            if self._ended.wait(wait):
                return

    def _interrupt(self, kind: str) -> None:
        with self._lock:
            if self._ended.is_set():
                return
            frame = sys._current_frames().get(self._target)
            if not self._kind:
                self._kind, self._doing = kind, _shown(self._who(), frame)
            self._bad_moment = _deletes(frame)
            if self._bad_moment:
                return
            if self._signals:
                signal.pthread_kill(self._target, _SIGNAL)  # type: ignore[arg-type]
            else:
                raise_in_thread(self._target, self._overdue)


def raise_in_thread(thread: int, error: type[BaseException] | None) -> None:
    """Raise ``error`` in a thread, between two instructions of Python; None takes it back."""
    given = None if error is None else ctypes.py_object(error)
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), given)


def _bark(number: int, frame: FrameType | None) -> None:
    for dog in _in_main:
        if dog._kind and not dog._ended.is_set():
            dog._bad_moment = _deletes(frame)
            if not dog._bad_moment:
                raise dog._overdue


def _deletes(frame: FrameType | None) -> bool:
    """Whether this code may have been called because an object is being deleted."""
    while frame is not None:
        if frame.f_code.co_name == "__del__" or frame.f_globals.get("__name__") in _WEAK:
            return True
        frame = frame.f_back
    return False


def _shown(who: str, frame: FrameType | None) -> str:
    entries = traceback.extract_stack(frame)[-_SHOWN:] if frame is not None else []
    lines = [f"  {entry.filename}:{entry.lineno} in {entry.name}" for entry in entries]
    return "\n".join([f"{who or 'it'} was running, outermost call first:", *lines])
