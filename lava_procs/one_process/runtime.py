"""A runtime for Lava's compiled networks that stays in the calling process.

It has the methods of Lava's own ``Runtime``, so that ``process.run``, ``wait``, ``pause``, ``stop``
and ``Var.get`` and ``set`` work as they do there. A run that blocks takes place in the calling
thread; one that does not takes place in a thread of its own.
"""

from __future__ import annotations

import logging
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from lava.magma.compiler.executable import Executable
from lava.magma.core.run_conditions import AbstractRunCondition, RunContinuous, RunSteps

from lava_procs.one_process import models, variables
from lava_procs.one_process.external import ExternalChannel
from lava_procs.one_process.order import along_the_wires
from lava_procs.one_process.phases import STOP, Actor, Protocol
from lava_procs.one_process.scheduler import Cancelled, Scheduler
from lava_procs.one_process.watchdog import Watchdog, raise_in_thread
from lava_procs.runner.supervise import LavaRunError, LavaTimeoutError

_POLL = 0.2
_PATIENCE = 5.0
"""Seconds that a step may take once the network is to stop."""

_MOMENT = 0.02
"""Seconds in which the threads of Lava's own ports deliver a message."""


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
    steps
        Time steps taken since the start.
    after_step
        Called after each of them, in the thread that runs.
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
        self.steps = 0
        self.after_step: Callable[[], None] | None = None
        self._executable, self._timeout = executable, timeout
        self._scheduler = Scheduler()
        self._protocol = Protocol([], self._scheduler)
        self._by_id: dict[int, Actor] = {}
        self._outward: list[ExternalChannel] = []
        self._sends = False
        self._thread: threading.Thread | None = None
        self._failure: BaseException | None = None
        self._broken = ""
        self._pausing = False
        self._is_initialized = self._is_started = self._is_running = False

    def __del__(self) -> None:
        self._scheduler.cancelled = self._pausing = True

    def __enter__(self) -> None:
        self.initialize()

    def __exit__(self, *error: object) -> None:
        self.stop()

    @property
    def node_cfg(self) -> Any:
        """What the compiler decided about nodes."""
        return self._executable.node_configs

    def initialize(self, node_cfg_idx: int = 0) -> None:
        """Build the models and connect them."""
        executable = self._executable
        models.check(executable)
        self._scheduler = Scheduler()
        self.steps, self._broken, self._failure = 0, "", None
        self._outward = models.connect(executable, self._scheduler)
        self._sends = any(map(models.sends_by_itself, executable.proc_builders.values()))
        processes = along_the_wires(
            list(executable.proc_builders),
            [(wire.src_process, wire.dst_process) for wire in executable.channel_builders or ()],
        )
        actors = []
        for process in processes:
            process._runtime = self
            builder = executable.proc_builders[process]
            name = models.describe(process, builder.proc_model)
            actors.append(Actor(name, models.build(process, builder)))
        self._by_id = {actor.model.model_id: actor for actor in actors}
        self._protocol = Protocol(actors, self._scheduler)
        self._is_initialized = True

    def start(self, run_condition: AbstractRunCondition) -> None:
        """Run for a number of steps, or until paused; after a stop, from the beginning."""
        self._settle()
        if self._broken:
            raise LavaRunError(f"{self._broken}; stop it to run it again from the beginning")
        if not self._is_initialized:
            self.initialize()
        if isinstance(run_condition, RunSteps):
            self.num_steps, blocking = run_condition.num_steps, run_condition.blocking
        elif isinstance(run_condition, RunContinuous):
            self.num_steps, blocking = sys.maxsize, False
        else:
            raise ValueError(
                f"run condition: expected RunSteps or RunContinuous, got "
                f"{type(run_condition).__name__}"
            )
        self._is_started = self._is_running = True
        self._pausing = self._scheduler.cancelled = False
        if blocking:
            self._run_for(self.num_steps)
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
        self._pausing = self._scheduler.cancelled = True
        try:
            self._settle(patience=_PATIENCE)
        finally:
            self._release()

    def get_var(self, var_id: int, idx: Any = None) -> np.ndarray:
        """The value of a variable."""
        name, shape, actor, attribute = self._variable(var_id)
        value = variables.read(name, getattr(actor.model, attribute), shape)
        return value if idx is None else value[idx]

    def set_var(self, var_id: int, value: np.ndarray, idx: Any = None) -> None:
        """Set a variable."""
        name, _, actor, attribute = self._variable(var_id)
        if idx is not None:
            raise NotImplementedError(
                f"{name}: expected a value for the whole variable, got an index; get the "
                "variable, change it and set it"
            )
        variables.write(actor.model, name, attribute, value)

    def running(self) -> str:
        """The model that is running now, or nothing."""
        worker = self._scheduler.current
        task = worker.task if worker is not None else None
        return task.name if task is not None else ""

    def _variable(self, var_id: int) -> tuple[str, tuple[int, ...], Actor, str]:
        if self._is_running:
            self._check_thread()
        if not self._is_started:
            raise RuntimeError("Runtime has not started")
        models_by_id = self._executable.node_configs[0].var_models
        if var_id not in models_by_id:
            raise AssertionError(
                f"variable {var_id}: expected one that a ProcessModel declares, found none"
            )
        var = models_by_id[var_id]
        actor = self._by_id[var.proc_id]
        attribute = actor.model.var_id_to_var_map[var_id]
        return f"{actor.name}.{attribute}", var.shape, actor, attribute

    def _check_thread(self) -> None:
        if self._thread is not None and not self._thread.is_alive():
            self._settle()
        else:
            raise RuntimeError(
                "a variable can be read and set while its network does not run; wait for it or "
                "pause it first"
            )

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
            self._run_for(self.num_steps)
        except BaseException as error:  # raised again in the thread that waits
            self._failure = error

    def _run_for(self, steps: int) -> None:
        if self._timeout is None:
            self._step_through(steps)
            return
        with Watchdog(self._timeout, self._too_late, self.running):
            self._step_through(steps)

    def _step_through(self, steps: int) -> None:
        protocol, request = self._protocol, 0
        self._broken = "its last run ended in the middle of a step"
        try:
            protocol.begin(steps)
            for _ in range(steps):
                request = protocol.step()
                self.steps += 1
                if self.after_step is not None:
                    self.after_step()
                if request or self._pausing:
                    break
            protocol.end()
            self._broken = ""
        except Cancelled:
            pass
        finally:
            self._scheduler.close()
            self._is_running = False
        for channel in self._outward:
            channel.hand_over()
        if self._sends:
            time.sleep(_MOMENT)
        if request == STOP:
            self.stop()

    def _too_late(self, kind: str, doing: str) -> LavaTimeoutError:
        return LavaTimeoutError(
            f"a Lava network: not finished after {self._timeout:g} s (step {self.steps + 1} of "
            f"{self.num_steps}); {doing}"
        )

    def _release(self) -> None:
        self._is_initialized = self._is_started = self._is_running = False
        self._by_id, self._broken = {}, ""
        self._protocol = Protocol([], self._scheduler)
