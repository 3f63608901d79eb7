"""From Lava's executable to models that are connected in memory, and what is refused on the way."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from lava.magma.compiler.builders.channel_builder import ChannelBuilderMp
from lava.magma.compiler.builders.py_builder import PyProcessBuilder
from lava.magma.compiler.channels.interfaces import ChannelType
from lava.magma.compiler.channels.pypychannel import CspSendPort
from lava.magma.compiler.executable import Executable
from lava.magma.core.model.py.model import (
    AbstractPyProcessModel,
    PyAsyncProcessModel,
    PyLoihiProcessModel,
)
from lava.magma.core.process.ports.ports import InPort, OutPort, create_port_id
from lava.magma.core.process.process import AbstractProcess, ProcessParameters
from scipy.sparse import spmatrix

from lava_procs.errors import LavaInlineError, raised
from lava_procs.one_process.messages.channels import Channel, RecvPort, SendPort
from lava_procs.one_process.messages.external import ExternalChannel, external_ports
from lava_procs.one_process.messages.ports import hasten
from lava_procs.one_process.scheduler import Scheduler

_REMEDY = "run it in Lava's own runtime: runtime='lava', or process.run outside inline()"


def describe(process: AbstractProcess, model: type) -> str:
    """How errors name a model."""
    return f"{process.name} ({type(process).__name__}, {model.__name__})"


def check(executable: Executable) -> None:
    """Refuse, by name, whatever cannot run in one process."""
    for process, builder in executable.proc_builders.items():
        model = builder.proc_model
        name = describe(process, model)
        if not isinstance(builder, PyProcessBuilder):
            raise LavaInlineError(f"{name}: expected a model in Python, got one for a chip or in C")
        if issubclass(model, PyAsyncProcessModel):
            raise LavaInlineError(
                f"{name}: expected a model of the LoihiProtocol, got an asynchronous one, which "
                f"has no steps to wait for; {_REMEDY}"
            )
        if not issubclass(model, PyLoihiProcessModel):
            raise LavaInlineError(f"{name}: expected a PyLoihiProcessModel; {_REMEDY}")
        for method in ("run", "start"):
            if getattr(model, method) is not getattr(AbstractPyProcessModel, method):
                raise LavaInlineError(
                    f"{name}: expected Lava's own {method}, got an override, which would talk to "
                    f"Lava's runtime service; {_REMEDY}"
                )
    for channel in executable.channel_builders or ():
        if not isinstance(channel, ChannelBuilderMp) or channel.channel_type != ChannelType.PyPy:
            raise LavaInlineError(
                f"{channel.src_process.name} to {channel.dst_process.name}: expected a channel "
                f"between models in Python, got {channel.channel_type!r}; {_REMEDY}"
            )
    domains = list(executable.runtime_service_builders or ())
    if len(domains) > 1:
        names = ", ".join(domain.name for domain in domains)
        raise LavaInlineError(
            f"expected one synchronisation domain, got {len(domains)} ({names}); {_REMEDY}"
        )


def connect(executable: Executable, scheduler: Scheduler) -> list[ExternalChannel]:
    """Give every builder its ends of new channels; return those that lead to other threads."""
    builders = executable.proc_builders
    for builder in builders.values():
        builder.csp_ports.clear()
        builder._csp_port_map.clear()
    for wire in executable.channel_builders or ():
        source, destination = wire.src_port_initializer, wire.dst_port_initializer
        channel = Channel(
            f"{wire.src_process.name}.{source.name}",
            f"{wire.dst_process.name}.{destination.name}",
            source.shape,
            source.d_type,
            source.size,
            scheduler,
        )
        receiver = RecvPort(destination.name, channel)
        builders[wire.src_process].set_csp_ports([SendPort(source.name, channel)])
        builders[wire.dst_process].set_csp_ports([receiver])
        port_id = create_port_id(wire.src_process.id, source.name)
        builders[wire.dst_process].add_csp_port_mapping(port_id, receiver)
    outward: list[ExternalChannel] = []
    for process, builder in builders.items():
        outward += _connect_to_outside(process, builder, scheduler)
    return outward


def _connect_to_outside(
    process: AbstractProcess, builder: PyProcessBuilder, scheduler: Scheduler
) -> list[ExternalChannel]:
    outward = []
    for name, initializer in builder.py_ports.items():
        port = getattr(process, name)
        if not port.external_pipe_flag:
            continue
        inside, outside = f"{process.name}.{name}", "another thread"
        ends = (outside, inside) if isinstance(port, InPort) else (inside, outside)
        channel = ExternalChannel(
            *ends, initializer.shape, initializer.d_type, port.external_pipe_buffer_size, scheduler
        )
        sender, receiver = external_ports(name, channel)
        if isinstance(port, InPort):
            builder.set_csp_ports([receiver])
            port.external_pipe_csp_send_port = sender
        elif isinstance(port, OutPort):
            builder.set_csp_ports([sender])
            port.external_pipe_csp_recv_port = receiver
            outward.append(channel)
    return outward


def sends_by_itself(builder: PyProcessBuilder) -> bool:
    """Whether a model was given a port of Lava's own, from which threads take messages."""
    given = getattr(builder.proc_params, "_parameters", None) or {}
    return any(isinstance(value, CspSendPort) for value in given.values())


def build(process: AbstractProcess, builder: PyProcessBuilder) -> PyLoihiProcessModel:
    """One model, with state of its own as if it lived in a process of its own."""
    given = builder.proc_params
    builder.proc_params = _isolated(given)
    try:
        model = builder.build()
    except Exception as error:
        raise raised(describe(process, builder.proc_model), error) from error
    finally:
        builder.proc_params = given
    for name, initializer in builder.vars.items():
        value = getattr(model, name)
        if value is initializer.value:
            setattr(model, name, _isolated(value))
    hasten(model)
    return model


def _isolated(value: Any) -> Any:
    """A copy that a model may change; what cannot be copied, such as a lock, is shared."""
    if isinstance(value, ProcessParameters):
        return ProcessParameters(_isolated(value._parameters))
    if type(value) is dict:
        return {key: _isolated(item) for key, item in value.items()}
    if type(value) in (list, tuple, set):
        return type(value)(_isolated(item) for item in value)
    if isinstance(value, np.ndarray | spmatrix):
        return value.copy()
    if value is None or callable(value) or isinstance(value, str | int | float | AbstractProcess):
        return value
    try:
        return copy.deepcopy(value)
    except Exception:  # multiprocessing's and threading's objects refuse with various errors
        return value
