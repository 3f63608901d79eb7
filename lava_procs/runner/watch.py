"""Run Lava Processes and notice when one of them fails.

Lava's ``run`` waits forever for a model that raised, if others are connected to it, and for one
that was killed. Here the run is started without blocking, and both are looked for while it lasts.
"""

from __future__ import annotations

import time
from multiprocessing import connection
from typing import Any

from lava.magma.compiler.builders.py_builder import PyProcessBuilder
from lava.magma.core.process.process import AbstractProcess
from lava.magma.core.run_conditions import RunSteps
from lava.magma.core.run_configs import RunConfig
from lava.magma.runtime.mgmt_token_enums import MGMT_RESPONSE, enum_equal

from lava_procs.runner import hang
from lava_procs.runner.supervise import Failure, manner

_POLL = 0.02
_GRACE = 5.0


def run_watched(process: AbstractProcess, steps: int, run_cfg: RunConfig, folder: str) -> None:
    """Run ``process`` and all that is connected to it for ``steps`` steps, and do not stop it.

    The processes that Lava starts are announced in ``folder``, see :mod:`lava_procs.runner.hang`.

    Meant for the worker of :func:`lava_procs.runner.supervise.supervise`, which ends what remains.

    Raises
    ------
    Failure
        Names the Process whose model raised or was killed, with its traceback.
    """
    try:
        process.run(condition=RunSteps(num_steps=steps, blocking=False), run_cfg=run_cfg)
    except Exception as error:
        if hasattr(error, "trace"):  # Lava's: where in a model's construction it was raised
            raise Failure(f"{type(error).__name__}: {error}\n\n{error.trace}") from None
        raise
    runtime = process.runtime
    actors = dict(zip(_names(runtime), runtime._messaging_infrastructure.actors, strict=True))
    hang.announce(folder, {actor.pid: name for name, actor in actors.items()})
    ports = runtime.service_to_runtime  # one for each kind of resource that takes part
    while not all(port.probe() for port in ports) and not _refusals(ports):
        connection.wait([actor.sentinel for actor in actors.values()], _POLL)
        _raise_failures(actors)
    if refusals := _refusals(ports):
        # The model says that it failed before it says why.
        deadline = time.monotonic() + _GRACE
        while time.monotonic() < deadline:
            _raise_failures(actors)
            time.sleep(_POLL)
        raise Failure(f"Lava's runtime answered {refusals} and gave no reason")
    runtime.wait()


def _refusals(ports: Any) -> list[Any]:
    """What Lava's runtime services have answered, other than that they are done."""
    answers = [port.peek() for port in ports if port.probe()]
    return [answer for answer in answers if not enum_equal(answer, MGMT_RESPONSE.DONE)]


def _names(runtime: Any) -> list[str]:
    """Names of the operating system's processes, in the order in which Lava starts them."""
    executable = runtime._executable
    models = [
        f"{process.name} ({type(process).__name__}, {builder.proc_model.__name__})"
        for process, builder in executable.proc_builders.items()
        if isinstance(builder, PyProcessBuilder)  # others run on a chip, not in a process here
    ]
    return models + [f"runtime service {i}" for i in executable.runtime_service_builders]


def _raise_failures(actors: dict[str, Any]) -> None:
    for name, actor in actors.items():
        if actor.exception:
            error, text = actor.exception
            raise Failure(f"{name} raised {type(error).__name__}: {error}\n\n{text}")
    for name, actor in actors.items():
        # One that raised ends by itself, with 0, after it has said so.
        if actor.exitcode is not None and not actor.exception:
            raise Failure(f"the process of {name} died in mid-run{manner(actor.exitcode)}")
