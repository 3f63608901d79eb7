"""``with inline():``, inside which ``process.run`` uses the runtime in one process."""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from lava.magma.core.process import process as lava_process

from lava_procs.one_process import discovery
from lava_procs.one_process.runtime import InlineRuntime


@dataclass(frozen=True)
class _Options:
    timeout: float | None


_options: ContextVar[_Options | None] = ContextVar("inline options", default=None)
_lock = threading.Lock()
_entered = 0
_lavas_runtime: Any = lava_process.Runtime


@contextlib.contextmanager
def inline(timeout: float | None = None) -> Iterator[None]:
    """Let every Lava network that starts inside run in this process.

    A network that was started inside keeps its runtime when the block ends. Other threads are not
    affected, unless they enter such a block themselves.

    Parameters
    ----------
    timeout
        Seconds that one ``run`` may take; None does not limit it.

    Examples
    --------
    >>> with lava_procs.inline():
    ...     process.run(condition=RunSteps(num_steps=100), run_cfg=Loihi2SimCfg())
    ...     v = process.v.get()
    ...     process.stop()
    """
    if timeout is not None and not timeout > 0:
        raise ValueError(f"timeout: expected seconds, more than 0, or None, got {timeout}")
    global _entered
    token = _options.set(_Options(timeout))
    with _lock:
        _entered += 1
        lava_process.Runtime = _runtime
        discovery.install()
    try:
        yield
    finally:
        with _lock:
            _entered -= 1
            if not _entered:
                lava_process.Runtime = _lavas_runtime
                discovery.uninstall()
        _options.reset(token)


def _runtime(executable: Any, infrastructure: Any, loglevel: int = logging.WARNING) -> Any:
    """In the place of Lava's class: whichever runtime the calling thread has asked for."""
    options = _options.get()
    if options is None:
        return _lavas_runtime(executable, infrastructure, loglevel)
    return InlineRuntime(executable, infrastructure, loglevel, timeout=options.timeout)
