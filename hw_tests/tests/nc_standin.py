"""Stands in for ``lava.magma.core.model.nc``: what an on-chip model is made of, and its checks.

Names and signatures are those that openly licensed on-chip models use (KI-ASIC-TUM/Spiking-FT,
QANN, Intel's sparse synapse). :func:`walk` does what a compiler would up to the point at which the
chip takes over: it makes the model, calls its ``allocate`` and checks what that asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from lava.magma.core.model.model import AbstractProcessModel
from lava.magma.core.model.py.type import LavaPyType
from lava.magma.core.process.ports.ports import InPort, OutPort
from lava.magma.core.process.process import AbstractProcess
from lava.magma.core.process.variable import Var
from lava.magma.core.resources import Loihi2NeuroCore
from lava.magma.core.sync.protocols.loihi_protocol import LoihiProtocol

MESSAGE_BITS = (0, 8, 16, 24)
REGISTER_BITS = 32
PROBED = ("v", "theta", "s")
FLOW = (
    ("a_in", "neurons"),
    ("neurons", "neurons_cfg"),
    ("neurons", "ax_out"),
    ("ax_out", "s_out"),
)
"""Every connection that a neuron needs, in the order in which data takes them."""


class AllocationError(ValueError):
    """What a compiler would refuse, by name."""


def refuse(what: str, expected: str, found: Any) -> None:
    raise AllocationError(f"{what}: expected {expected}, found {found}")


class AbstractNcProcessModel(AbstractProcessModel):
    """Base of models for neurocores."""

    def allocate(self, net: NetL2) -> None:
        """Overridden by every model."""
        raise NotImplementedError


@dataclass
class _Connectable:
    name: str
    net: Any = field(default=None, repr=False)

    def connect(self, other: Any) -> None:
        """Connect to what comes after."""
        if not isinstance(other, _Connectable):
            refuse(f"{self.name}.connect", "a port or an allocated node", repr(other))
        self.net.join(self.name, other.name)


class NcInPort(_Connectable):
    """Where synaptic sums come in."""


class NcOutPort(_Connectable):
    """Where spikes go out."""


@dataclass
class NcVar:
    """A Var of the Process, in the neurons' memory."""

    name: str
    var: Var
    precision: int


@dataclass
class LavaNcType:
    """Class, dtype and bits of a port or Var."""

    cls: type
    d_type: type
    precision: int | None = None


@dataclass
class Nodes(_Connectable):
    """What was allocated."""

    shape: tuple[int, ...] = ()
    fields: dict[str, Any] = field(default_factory=dict)


def _shape(owner: str, shape: Any, neurons: int) -> tuple[int, ...]:
    given = (shape,) if isinstance(shape, int | np.integer) else shape
    if not isinstance(given, tuple) or not all(isinstance(n, int | np.integer) for n in given):
        refuse(f"{owner} shape", "an int or a tuple of them", repr(shape))
    if int(np.prod(given)) != neurons:
        refuse(f"{owner} shape", f"{neurons} in all", given)
    return tuple(int(n) for n in given)


def _integers(what: str, value: Any, bits: int) -> np.ndarray:
    array = np.asarray(value)
    if array.dtype == bool or not np.issubdtype(array.dtype, np.integer):
        refuse(what, "whole numbers", f"{array.dtype} {value!r:.40}")
    # With a sign or without one.
    if array.size and (array.max() >= 1 << bits or array.min() < -(1 << (bits - 1))):
        refuse(what, f"values of {bits} bits", int(np.abs(array).max()))
    return array


class _Table:
    """One of a net's tables, such as ``net.neurons``."""

    def __init__(self, net: NetL2, name: str) -> None:
        self.net, self.name = net, name

    def _add(self, shape: tuple[int, ...], fields: dict[str, Any]) -> Nodes:
        if self.name in self.net.nodes:
            refuse(self.name, "to be allocated once", "a second time")
        node = Nodes(self.name, self.net, shape, fields)
        self.net.nodes[self.name] = node
        return node


class _Cfg(_Table):
    def allocate_ucode(self, *, shape: Any, ucode: Any, **constants: Any) -> Nodes:
        """One program, with constants that are compiled into it."""
        if not isinstance(ucode, str) or not ucode.endswith(".dasm") or not Path(ucode).is_file():
            refuse("neurons_cfg ucode", "the name of a .dasm file that is there", repr(ucode))
        for name, value in constants.items():
            if isinstance(value, NcVar):
                refuse(
                    f"neurons_cfg {name}", "a number, such as var.init", f"the NcVar {value.name}"
                )
            _integers(f"neurons_cfg {name}", value, REGISTER_BITS)
        return self._add(_shape("neurons_cfg", shape, 1), {"ucode": ucode, **constants})


class _Neurons(_Table):
    def allocate_ucode(self, *, shape: Any, **state: Any) -> Nodes:
        """The neurons, with the state that each has."""
        count = self.net.neurons_count
        found = {}
        for name, value in state.items():
            what, bits = f"neurons {name}", REGISTER_BITS
            if isinstance(value, NcVar):
                if value.name not in self.net.declared:
                    refuse(what, "an NcVar of the model", value.name)
                self.net.held.add(value.name)
                value, bits = value.var.init, value.precision
            array = _integers(what, value, bits)
            if array.ndim and array.shape[0] not in (1, count):
                refuse(what, f"one value, or one row for each of {count} neurons", array.shape)
            found[name] = array
        if not found:
            refuse("neurons", "state of the neurons", "none")
        return self._add(_shape("neurons", shape, count), found)


class _AxOut(_Table):
    def allocate(self, *, shape: Any, num_message_bits: Any) -> Nodes:
        """Output axons; 0 bits are plain spikes."""
        if num_message_bits not in MESSAGE_BITS:
            refuse("ax_out num_message_bits", f"one of {MESSAGE_BITS}", num_message_bits)
        fields = {"num_message_bits": num_message_bits}
        return self._add(_shape("ax_out", shape, self.net.neurons_count), fields)


class NetL2:
    """What a model allocates on, table by table."""

    def __init__(self, neurons: int, declared: Sequence[str] = ()) -> None:
        self.neurons_count, self.declared = neurons, set(declared)
        self.held: set[str] = set()
        """NcVars that the neurons were given as state."""
        self.nodes: dict[str, Nodes] = {}
        self.joined: list[tuple[str, str]] = []
        self.neurons_cfg = _Cfg(self, "neurons_cfg")
        self.neurons = _Neurons(self, "neurons")
        self.ax_out = _AxOut(self, "ax_out")

    def join(self, source: str, target: str) -> None:
        """Note a connection, if its direction and its turn are right."""
        if (source, target) not in FLOW:
            allowed = ", ".join(f"{a} → {b}" for a, b in FLOW)
            refuse("connect", f"one of {allowed}", f"{source} → {target}")
        for before in FLOW[1 : FLOW.index((source, target))]:
            if before not in self.joined:
                turn = f"{before[0]} → {before[1]} first"
                refuse("connect", turn, f"{source} → {target}")
        self.joined.append((source, target))

    def finish(self, probed: Sequence[str]) -> None:
        """Refuse what is incomplete, and Vars that probes look at but that no neuron holds."""
        for name in ("neurons_cfg", "neurons", "ax_out"):
            if name not in self.nodes:
                refuse("allocate", f"net.{name} to be allocated", "nothing")
        for source, target in FLOW:
            if self.joined.count((source, target)) != 1:
                count = self.joined.count((source, target))
                refuse("allocate", f"{source} → {target} connected once", f"{count} times")
        for name in probed:
            if name not in self.held:
                refuse(f"neurons {name}", "the NcVar among the state, for probes to see", "none")


def probed(process: AbstractProcess) -> list[str]:
    """The Vars of a Process that celif's state probes look at."""
    return [name for name in PROBED if isinstance(getattr(process, name, None), Var)]


def _declared(
    model: type[AbstractNcProcessModel], process: AbstractProcess
) -> dict[str, LavaNcType]:
    """The model's types, held to the ports and Vars of the Process."""
    members = {
        name: value for parent in reversed(model.__mro__) for name, value in vars(parent).items()
    }
    for name, value in members.items():
        if isinstance(value, LavaPyType):
            refuse(f"{name} type", "a LavaNcType", "a LavaPyType, which models in Python have")
    types = {name: value for name, value in members.items() if isinstance(value, LavaNcType)}
    kinds: dict[type, type] = {NcInPort: InPort, NcOutPort: OutPort, NcVar: Var}
    for name, declared in types.items():
        there = getattr(process, name, None)
        if declared.cls not in kinds:
            refuse(f"{name} type", "NcInPort, NcOutPort or NcVar", declared.cls)
        if not isinstance(there, kinds[declared.cls]):
            kind = kinds[declared.cls].__name__
            refuse(f"{name}", f"a {kind} of {type(process).__name__}", type(there).__name__)
        if declared.d_type is not np.int32:
            refuse(f"{name} dtype", "numpy.int32", declared.d_type)
        if not isinstance(declared.precision, int) or not 1 <= declared.precision <= REGISTER_BITS:
            refuse(f"{name} precision", f"1 to {REGISTER_BITS} bits", declared.precision)
    for name in ("a_in", "s_out"):
        if name not in types:
            refuse(f"model {model.__name__}", f"a port {name}", "none")
    for name in probed(process):
        if name not in types:
            refuse(f"model {model.__name__}", f"an NcVar {name}, for probes to see it", "none")
    return types


def walk(model: type[AbstractProcessModel], process: AbstractProcess) -> NetL2:
    """Compile a model of a Process as far as the chip; return what it asked for."""
    if not (isinstance(model, type) and issubclass(model, AbstractNcProcessModel)):
        refuse("model", "an AbstractNcProcessModel", model)
    if model.implements_process is not type(process):
        refuse(
            f"model {model.__name__}",
            f"to implement {type(process).__name__}",
            model.implements_process,
        )
    if model.implements_protocol is not LoihiProtocol:
        refuse(f"model {model.__name__}", "LoihiProtocol", model.implements_protocol)
    if Loihi2NeuroCore not in model.required_resources:
        refuse(f"model {model.__name__}", "@requires(Loihi2NeuroCore)", model.required_resources)
    if model.allocate is AbstractNcProcessModel.allocate:
        refuse(f"model {model.__name__}", "a method allocate(self, net)", "none of its own")
    types = _declared(model, process)
    neurons = int(np.prod(process.s_out.shape))
    net = NetL2(neurons, [name for name, one in types.items() if one.cls is NcVar])
    made = model(process.proc_params)
    for name, declared in types.items():
        if declared.cls is NcVar:
            value: Any = NcVar(name, getattr(process, name), declared.precision or REGISTER_BITS)
        else:
            value = declared.cls(name, net)
        setattr(made, name, value)
    made.allocate(net)
    net.finish(probed(process))
    return net
