"""What Lava keeps of every Process that was ever made: its registers, and handlers of logs.

In the runner's forked processes all of that ends with the process; in the calling process it would
grow with every run.
"""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Iterable, Iterator
from typing import Any

from lava.magma.compiler.compiler import Compiler
from lava.magma.core.process.process import AbstractProcess, LogConfig, ProcessServer
from lava.magma.core.process.variable import VarServer

_lock = threading.Lock()


@contextlib.contextmanager
def logs_as_they_are() -> Iterator[None]:
    """Remove the handlers that Lava adds to logs inside: one for each Process and each compiler."""
    logs = {logging.getLogger(): LogConfig().format, logging.getLogger(Compiler.__module__): None}
    before = {id(handler) for log in logs for handler in log.handlers}
    try:
        yield
    finally:
        for log, lavas in logs.items():
            for handler in list(log.handlers):
                form = getattr(handler.formatter, "_fmt", None)
                is_new = id(handler) not in before
                if is_new and type(handler) is logging.StreamHandler and form == lavas:
                    log.removeHandler(handler)


def unregister(processes: Iterable[AbstractProcess]) -> None:
    """Let Lava forget Processes, and those that they hold, so that they can be deleted."""
    gone: dict[int, AbstractProcess] = {}
    left = list(processes)
    while left:
        process = left.pop()
        if id(process) not in gone:
            gone[id(process)] = process
            left += [part for value in vars(process).values() for part in _parts(value)]
    variables = {id(var) for process in gone.values() for var in process.vars.members}
    for process in gone.values():
        process._runtime = None  # a Process stops its runtime when it is deleted
    with _lock:
        _remove(ProcessServer().processes, set(gone))
        _remove(VarServer().vars, variables)


def _parts(value: Any) -> list[AbstractProcess]:
    values = value if isinstance(value, list | tuple) else [value]
    return [each for each in values if isinstance(each, AbstractProcess)]


def _remove(registered: list[Any], gone: set[int]) -> None:
    # In place and one by one, because another thread may be adding to it.
    for i in reversed(range(len(registered))):
        if id(registered[i]) in gone:
            del registered[i]
