"""The phases of the Loihi protocol, run over models in one process.

A step begins with the spiking phase of every model. Models may then ask for pre-management,
learning and post-management, in which every model takes part and answers RefPorts that read or
write its variables. What nobody asks for does not happen, as in Lava.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from lava.magma.compiler.channels.pypychannel import CspRecvPort
from lava.magma.core.model.py.model import PyLoihiProcessModel
from lava.magma.core.model.py.ports import PyVarPort

from lava_procs.errors import LavaInlineError
from lava_procs.one_process.scheduler import PhaseTask, Scheduler

Phase, Response = PyLoihiProcessModel.Phase, PyLoihiProcessModel.Response

PRE, LEARN, POST = (
    int(code[0])
    for code in (Response.REQ_PRE_LRN_MGMT, Response.REQ_LEARNING, Response.REQ_POST_LRN_MGMT)
)
PAUSE, STOP = int(Response.REQ_PAUSE[0]), int(Response.REQ_STOP[0])

_PHASES = {PRE: "_pre_mgmt", LEARN: "_lrn", POST: "_post_mgmt"}
_GUARDS = ("_spike", *_PHASES.values(), "pre_guard", "lrn_guard", "post_guard")
"""A model that overrides none of these never asks for another phase."""


class Service:
    """What a model takes for its runtime service: it receives the model's answers."""

    def __init__(self, name: str):
        self.name = name
        self.answer = 0

    def send(self, data: Any) -> None:
        """Take the model's answer to a phase."""
        self.answer = int(data[0])

    def recv(self) -> Any:
        """Refuse: there are no commands here, methods are called instead."""
        raise LavaInlineError(
            f"{self.name}: expected a model that leaves commands to Lava, got one that receives "
            "them itself; run it in Lava's own runtime"
        )

    peek = recv

    def probe(self) -> bool:
        """There is never a command."""
        return False

    def start(self) -> None:
        """Nothing listens in the background."""

    def join(self) -> None:
        """Nothing to wait for."""


@dataclass
class Actor:
    """A model, with what it takes to run it."""

    name: str
    model: PyLoihiProcessModel
    service: Service = field(init=False)
    served: list[tuple[Any, PyVarPort]] = field(init=False)
    """VarPorts, and the ports at which requests for them arrive."""
    asks: bool = field(init=False)
    """Whether it may ask for other phases than the spiking phase."""

    def __post_init__(self) -> None:
        model = self.model
        self.service = Service(self.name)
        model.service_to_process = model.process_to_service = self.service
        self.served = [
            (csp_port, var_port)
            for var_port in model.var_ports
            for csp_port in var_port.csp_ports
            if isinstance(csp_port, CspRecvPort)
        ]
        self.asks = any(
            getattr(type(model), name) is not getattr(PyLoihiProcessModel, name)
            or name in vars(model)
            for name in _GUARDS
        )

    def task(self, method: str) -> PhaseTask:
        """Let the model handle a phase."""
        return PhaseTask(self.name, getattr(self.model, method))

    def spike(self) -> PhaseTask:
        """The spiking phase; for most models, only what of it has an effect."""
        if self.asks:
            return self.task("_spike")
        model, state = self.model, vars(self.model)
        run_spk: Callable[[], object] = model.run_spk

        def spike() -> None:
            state["time_step"] += 1
            run_spk()
            if state["_req_pause"] or state["_req_stop"]:
                model._handle_pause_or_stop_req()

        return PhaseTask(self.name, spike)

    def requests(self) -> Iterable[PhaseTask]:
        """Tasks that answer RefPorts, if any has sent something."""
        for csp_port, var_port in self.served:
            if csp_port.channel.messages:
                yield PhaseTask(self.name, partial(self.model._handle_var_port, var_port))


class Protocol:
    """Steps a set of models that belong together."""

    def __init__(self, actors: list[Actor], scheduler: Scheduler):
        self.actors, self.scheduler = actors, scheduler
        self._asking = [actor for actor in actors if actor.asks]
        self._serving = [actor for actor in actors if actor.served]
        self._spikes: list[PhaseTask] = []

    def begin(self, steps: int) -> None:
        """Prepare for some steps, and tell the models that ask for it that they share a process."""
        for actor in self.actors:
            if hasattr(actor.model, "in_one_process"):
                actor.model.in_one_process(steps)
        self._spikes = [actor.spike() for actor in self.actors]
        for actor in self.actors:
            actor.model.phase = Phase.SPK

    def step(self) -> int:
        """One time step with all its phases; ``PAUSE`` or ``STOP`` if a model asks for it."""
        self.scheduler.run(self._spikes)
        asked = self._answers()
        while phase := next((p for p in _PHASES if p in asked), None):
            asked.remove(phase)
            asked |= self._manage(phase)
        return PAUSE if PAUSE in asked else STOP if STOP in asked else 0

    def end(self) -> None:
        """The host phase: models answer what RefPorts have sent, and wait."""
        self.scheduler.run((), self._requests)
        for actor in self.actors:
            actor.model.phase = Phase.HOST

    def _manage(self, phase: int) -> set[int]:
        """Run a phase after the spiking phase in all models; return what they ask for."""
        method = _PHASES[phase]
        # Those that never ask have nothing to do, but answer the first phase with the second.
        tasks = [actor.task(method) for actor in self._asking]
        self.scheduler.run(tasks, None if phase == LEARN else self._requests)
        answers = self._answers()
        if phase == PRE and len(self._asking) < len(self.actors):
            answers.add(LEARN)
        return answers

    def _requests(self) -> list[PhaseTask]:
        busy = self.scheduler.busy()
        return [
            task for actor in self._serving if actor.name not in busy for task in actor.requests()
        ]

    def _answers(self) -> set[int]:
        answers = {actor.service.answer for actor in self.actors}
        if answers != {0}:
            for actor in self.actors:
                actor.service.answer = 0
        answers.discard(0)
        return answers
