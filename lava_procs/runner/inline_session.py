"""A network that is fed samples back to back in one process, without Lava's own runtime."""

from __future__ import annotations

import itertools
import time
import traceback
from collections.abc import Callable

from lava.magma.core.run_conditions import RunSteps

from export import Trace
from lava_procs import probes
from lava_procs.errors import LavaRunError
from lava_procs.one_process import InlineRuntime, inline
from lava_procs.runner.guard import POLL, Failure
from lava_procs.runner.registry import logs_as_they_are, unregister
from lava_procs.runner.session import Session, use_one_torch_thread
from lava_procs.runner.supervise import timed_out
from lava_procs.watchdog import Watchdog

_numbers = itertools.count()


class InlineSession(Session):
    """A run in the calling thread; its traces stay in memory."""

    in_memory = True

    def run(
        self,
        timeout: float | None,
        heartbeat: float | None,
        report: Callable[[int], None] | None = None,
    ) -> Trace:
        """Run all samples; ``report`` is called with the steps done, now and then."""
        self.folder = f"in memory {next(_numbers)}"
        self._runtime: InlineRuntime | None = None
        job = self.job("", timeout, heartbeat)

        def too_late(kind: str, doing: str) -> BaseException:
            return timed_out(job, kind, "stopped it", doing)

        try:
            with Watchdog(job.timeout, too_late, self._running, job.patience, self.done):
                self._run(report)
            return self.collect()
        except LavaRunError as error:
            if not str(error).startswith(job.what):
                error.args = (f"{job.what}: {error}",)
            raise
        finally:
            self._runtime = None
            for i in range(self.last + 1):
                probes.forget(self.prefix(i))

    def done(self) -> int:
        """Steps that all layers have taken."""
        return self._runtime.steps if self._runtime is not None else 0

    def _running(self) -> str:
        return self._runtime.running() if self._runtime is not None else ""

    def _run(self, report: Callable[[int], None] | None) -> None:
        with logs_as_they_are():
            source, network = self.build()
        try:
            with inline(), logs_as_they_are():
                source.create_runtime(run_cfg=self.run_cfg())
            runtime = self._runtime = source.runtime
            assert runtime is not None
            if report is not None:
                runtime.after_step = _now_and_then(lambda: report(runtime.steps))
            source.run(condition=RunSteps(num_steps=self.total))
        finally:
            source.stop()
            unregister([source, network])


class ForkedInlineSession(Session):
    """A run in one process that is not the calling one, for several runs side by side."""

    def simulate(self) -> None:
        """Build the network, feed it, run it: in the worker."""
        use_one_torch_thread()
        source, _ = self.build()
        try:
            with inline():
                source.run(condition=RunSteps(num_steps=self.total), run_cfg=self.run_cfg())
        except LavaRunError as error:
            cause = error.__cause__
            text = "".join(traceback.format_exception(cause)) if cause is not None else ""
            raise Failure(f"{error}\n\n{text}".rstrip()) from None


def _now_and_then(report: Callable[[], None]) -> Callable[[], None]:
    last = time.monotonic()

    def after_step() -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= POLL:
            last = now
            report()

    return after_step
