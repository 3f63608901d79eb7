"""The models of an executable, built and connected in memory, and how they run."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np
from lava.magma.compiler.executable import Executable

from lava_procs.one_process import models, variables
from lava_procs.one_process.phases import Actor, Protocol
from lava_procs.one_process.scheduler import Scheduler

T = TypeVar("T")

_MOMENT = 0.02
"""Seconds in which the threads of Lava's own ports deliver a message."""


class Variable(NamedTuple):
    """A variable of a model: how errors name it, its Var's shape, and where it is."""

    name: str
    shape: tuple[int, ...]
    model: Any
    attribute: str

    def get(self) -> np.ndarray:
        """Return its value."""
        return variables.read(self.name, getattr(self.model, self.attribute), self.shape)

    def set(self, value: np.ndarray) -> None:
        """Change its value, and tell the model."""
        variables.write(self.model, self.name, self.attribute, value)


class InlineNetwork:
    """A network that is ready to run.

    Parameters
    ----------
    executable
        What Lava's compiler made; it is refused by name if it has a part that cannot run here.

    Attributes
    ----------
    steps
        Time steps taken so far.
    is_whole
        Whether all models stand at the same step; not after a run that failed.
    """

    def __init__(self, executable: Executable):
        models.check(executable)
        self.steps = 0
        self.is_whole = True
        self.scheduler = Scheduler()
        self._outward = models.connect(executable, self.scheduler)
        builders = executable.proc_builders
        self._sends = any(map(models.sends_by_itself, builders.values()))
        wires = executable.channel_builders or ()
        order = along_the_wires(
            list(builders), [(wire.src_process, wire.dst_process) for wire in wires]
        )
        actors = [
            Actor(
                models.describe(process, builders[process].proc_model),
                models.build(process, builders[process]),
            )
            for process in order
        ]
        self._actors = {actor.model.model_id: actor for actor in actors}
        self._protocol = Protocol(actors, self.scheduler)
        self._var_models = executable.node_configs[0].var_models

    def run(
        self,
        steps: int,
        is_enough: Callable[[], bool],
        after_step: Callable[[], None] | None = None,
    ) -> int:
        """Run for some steps; return ``PAUSE`` or ``STOP`` if a model asked for it.

        Parameters
        ----------
        steps
            Time steps to take.
        is_enough
            Asked after each of them whether to end here.
        after_step
            Called after each of them.
        """
        protocol, request = self._protocol, 0
        self.is_whole = False
        try:
            protocol.begin(steps)
            for _ in range(steps):
                request = protocol.step()
                self.steps += 1
                if after_step is not None:
                    after_step()
                if request or is_enough():
                    break
            protocol.end()
            self.is_whole = True
        finally:
            self.scheduler.close()
        self._hand_over()
        return request

    def variable(self, var_id: int) -> Variable:
        """Find a variable by Lava's number for it."""
        if var_id not in self._var_models:
            raise AssertionError(
                f"variable {var_id}: expected one that a ProcessModel declares, found none"
            )
        var = self._var_models[var_id]
        actor = self._actors[var.proc_id]
        attribute = actor.model.var_id_to_var_map[var_id]
        return Variable(f"{actor.name}.{attribute}", var.shape, actor.model, attribute)

    def running(self) -> str:
        """Name the model that is running now, or return nothing."""
        worker = self.scheduler.current
        task = worker.task if worker is not None else None
        return task.name if task is not None else ""

    def _hand_over(self) -> None:
        """Give threads that receive what was sent the moment that they have in Lava's own runs."""
        for channel in self._outward:
            channel.hand_over()
        if self._sends:
            time.sleep(_MOMENT)


def along_the_wires(nodes: Sequence[T], wires: Iterable[tuple[T, T]]) -> list[T]:
    """Sort nodes so that a wire's source comes before its destination.

    A loop is cut where the first of its nodes, in the given order, stands. The order has no
    influence on what the models compute, as each waits for the messages that it needs.
    """
    sources: dict[int, set[int]] = {id(node): set() for node in nodes}
    for source, destination in wires:
        if source is not destination:
            sources[id(destination)].add(id(source))
    left, ordered = list(nodes), []
    while left:
        node = next((n for n in left if not sources[id(n)]), left[0])
        left = [n for n in left if n is not node]
        ordered.append(node)
        for before in sources.values():
            before.discard(id(node))
    return ordered
