"""A runtime for Lava's compiled networks that stays in the calling process.

It has the methods of Lava's own ``Runtime``, so that ``process.run``, ``wait``, ``pause``, ``stop``
and ``Var.get`` and ``set`` work as they do there. A run that blocks takes place in the calling
thread; one that does not takes place in a thread of its own.
"""

from __future__ import annotations

import contextlib
import logging
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from lava.magma.compiler.executable import Executable
from lava.magma.core.run_conditions import AbstractRunCondition, RunContinuous, RunSteps

from lava_procs.errors import LavaRunError, LavaTimeoutError
from lava_procs.one_process.network import InlineNetwork, Variable
from lava_procs.one_process.phases import STOP
from lava_procs.one_process.scheduler import Cancelled
from lava_procs.watchdog import Watchdog, raise_in_thread

_POLL = 0.2
_PATIENCE = 5.0
"""Seconds that a step may take once the network is to stop."""


class InlineRuntime:
    """Runs an executable in this process.

    Parameters
    ----------
    executable
        What Lava's compiler made.
    infrastructure
        Lava's kind of messaging, of which there is none here.
    loglevel
        Of the log that Lava's runtime would write.
    timeout
        Seconds that a run may take; None does not limit it.

    Attributes
    ----------
    after_step
        Called after each time step, in the thread that runs.
    """

    def __init__(
        self,
        executable: Executable,
        infrastructure: Any = None,
        loglevel: int = logging.WARNING,
        *,
        timeout: float | None = None,
    ):
        self.log = logging.getLogger(__name__)
        self.log.setLevel(loglevel)
        self.num_steps = 0
        self.after_step: Callable[[], None] | None = None
        self._executable, self._timeout = executable, timeout
        self._network: InlineNetwork | None = None
        self._last_steps = 0
        self._thread: threading.Thread | None = None
        self._failure: BaseException | None = None
        self._pausing = False
        self._is_started = self._is_running = False

    def __del__(self) -> None:
        self._call_off()

    def __enter__(self) -> None:
        self.initialize()

    def __exit__(self, *error: object) -> None:
        self.stop()

    @property
    def node_cfg(self) -> Any:
        """What the compiler decided about nodes."""
        return self._executable.node_configs

    @property
    def steps(self) -> int:
        """Time steps taken since the start; after a stop, those of the run that it ended."""
        return self._network.steps if self._network is not None else self._last_steps

    def initialize(self, node_cfg_idx: int = 0) -> None:
        """Build the models and connect them."""
        self._network = InlineNetwork(self._executable)
        for process in self._executable.proc_builders:
            process._runtime = self

    def start(self, run_condition: AbstractRunCondition) -> None:
        """Run for a number of steps, or until paused; after a stop, from the beginning."""
        self._settle()
        if isinstance(run_condition, RunSteps):
            self.num_steps, blocking = run_condition.num_steps, run_condition.blocking
        elif isinstance(run_condition, RunContinuous):
            self.num_steps, blocking = sys.maxsize, False
        else:
            raise ValueError(
                f"run condition: expected RunSteps or RunContinuous, got "
                f"{type(run_condition).__name__}"
            )
        if self._network is None:
            self.initialize()
        assert self._network is not None
        if not self._network.is_whole:
            raise LavaRunError(
                "its last run ended in the middle of a step; stop it to run it again from the "
                "beginning"
            )
        self._is_started = self._is_running = True
        self._pausing = self._network.scheduler.cancelled = False
        if blocking:
            self._run()
        else:
            self._thread = threading.Thread(target=self._run_aside, name="Lava", daemon=True)
            self._thread.start()

    def wait(self) -> None:
        """Return when a run that did not block has ended; raise what it raised."""
        self._settle()

    def pause(self) -> None:
        """End a run that did not block after its present step."""
        self._pausing = True
        self._settle()

    def stop(self) -> None:
        """End everything; a later run starts from the beginning."""
        self._call_off()
        try:
            self._settle(patience=_PATIENCE)
        finally:
            self._is_started = self._is_running = False
            self._last_steps, self._network = self.steps, None

    def get_var(self, var_id: int, idx: Any = None) -> np.ndarray:
        """Return the value of a variable."""
        value = self._variable(var_id).get()
        return value if idx is None else value[idx]

    def set_var(self, var_id: int, value: np.ndarray, idx: Any = None) -> None:
        """Set a variable."""
        variable = self._variable(var_id)
        if idx is not None:
            raise NotImplementedError(
                f"{variable.name}: expected a value for the whole variable, got an index; get "
                "the variable, change it and set it"
            )
        variable.set(value)

    def running(self) -> str:
        """Name the model that is running now, or return nothing."""
        return self._network.running() if self._network is not None else ""

    def _variable(self, var_id: int) -> Variable:
        if self._thread is not None and not self._thread.is_alive():
            self._settle()
        if self._is_running:
            raise RuntimeError(
                "a variable can be read and set while its network does not run; wait for it or "
                "pause it first"
            )
        if not self._is_started or self._network is None:
            raise RuntimeError("Runtime has not started")
        return self._network.variable(var_id)

    def _call_off(self) -> None:
        """Ask a run to end, also if it waits for another thread."""
        self._pausing = True
        if self._network is not None:
            self._network.scheduler.cancelled = True

    def _settle(self, patience: float = float("inf")) -> None:
        """Wait for the thread of a run that did not block, and raise what it raised.

        A step that takes longer than ``patience`` seconds is interrupted.
        """
        thread = self._thread
        if thread is None or threading.current_thread() is thread:
            return
        deadline = time.monotonic() + patience
        while thread.is_alive():
            thread.join(_POLL)
            if time.monotonic() > deadline and thread.ident is not None:
                raise_in_thread(thread.ident, Cancelled)
                deadline = time.monotonic() + 1
        self._thread = None
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure

    def _run_aside(self) -> None:
        try:
            self._run()
        except BaseException as error:  # raised again in the thread that waits
            self._failure = error

    def _run(self) -> None:
        network, request = self._network, 0
        assert network is not None
        limited: Any = contextlib.nullcontext()
        if self._timeout is not None:
            limited = Watchdog(self._timeout, self._too_late, self.running)
        try:
            with contextlib.suppress(Cancelled), limited:
                request = network.run(self.num_steps, lambda: self._pausing, self.after_step)
        finally:
            self._is_running = False
        if request == STOP:
            self.stop()

    def _too_late(self, kind: str, doing: str) -> LavaTimeoutError:
        return LavaTimeoutError(
            f"a Lava network: not finished after {self._timeout:g} s (step {self.steps + 1} of "
            f"{self.num_steps}); {doing}"
        )
