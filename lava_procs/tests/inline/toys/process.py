"""Processes that count, add, wait, read one another's variables, and do what a test tells them."""

from __future__ import annotations

from typing import Any

import numpy as np
from lava.magma.core.decorator import implements, requires
from lava.magma.core.model.py.model import PyAsyncProcessModel, PyLoihiProcessModel
from lava.magma.core.model.py.ports import PyInPort, PyOutPort, PyRefPort
from lava.magma.core.model.py.type import LavaPyType
from lava.magma.core.process.ports.ports import InPort, OutPort, RefPort
from lava.magma.core.process.process import AbstractProcess
from lava.magma.core.process.variable import Var
from lava.magma.core.resources import CPU
from lava.magma.core.sync.protocols.async_protocol import AsyncProtocol
from lava.magma.core.sync.protocols.loihi_protocol import LoihiProtocol
from scipy.sparse import csr_matrix

SHAPE = (3,)


class Counter(AbstractProcess):
    """Sends its time step; ``act`` is called with the model before it sends."""

    def __init__(self, act: Any = None, name: str = "counter"):
        super().__init__(act=act, name=name)
        self.out = OutPort(shape=SHAPE)


@implements(proc=Counter, protocol=LoihiProtocol)
@requires(CPU)
class PyCounterModel(PyLoihiProcessModel):
    out: PyOutPort = LavaPyType(PyOutPort.VEC_DENSE, np.int32)

    def run_spk(self) -> None:
        act = self.proc_params["act"]
        if act is not None:
            act(self)
        self.out.send(np.full(SHAPE, self.time_step))


class Adder(AbstractProcess):
    """Adds what arrives to a variable, and passes the sum on; several kinds of Var."""

    def __init__(self, name: str = "adder", times: int = 1):
        super().__init__(name=name, times=times)
        self.inp = InPort(shape=SHAPE)
        self.out = OutPort(shape=SHAPE)
        self.total = Var(shape=SHAPE, init=0)
        self.gain = Var(shape=(1,), init=1)
        self.rate = Var(shape=(1,), init=0.5)
        self.text = Var(shape=(2,), init="ab")
        self.table = Var(shape=(2, 3), init=np.arange(6).reshape(2, 3))
        self.sparse = Var(shape=(2, 3), init=csr_matrix([[1, 0, 2], [0, 3, 0]]))
        self.updates = Var(shape=(1,), init=0)


@implements(proc=Adder, protocol=LoihiProtocol)
@requires(CPU)
class PyAdderModel(PyLoihiProcessModel):
    inp: PyInPort = LavaPyType(PyInPort.VEC_DENSE, np.int32)
    out: PyOutPort = LavaPyType(PyOutPort.VEC_DENSE, np.int32)
    total: np.ndarray = LavaPyType(np.ndarray, np.int32)
    gain: int = LavaPyType(int, int)
    rate: float = LavaPyType(float, float)
    text: str = LavaPyType(str, str)
    table: np.ndarray = LavaPyType(np.ndarray, np.int32)
    sparse: csr_matrix = LavaPyType(csr_matrix, int)
    updates: np.ndarray = LavaPyType(np.ndarray, int)

    def run_spk(self) -> None:
        for _ in range(self.proc_params["times"]):
            self.total += self.gain * self.inp.recv()
        self.out.send(self.total)

    def on_var_update(self) -> None:
        self.updates += 1


class Echo(AbstractProcess):
    """Passes on what arrives, in the same step, or a step later if it sends first."""

    def __init__(self, name: str, sends_first: bool = False):
        super().__init__(sends_first=sends_first, name=name)
        self.inp = InPort(shape=SHAPE)
        self.out = OutPort(shape=SHAPE)
        self.held = Var(shape=SHAPE, init=1)


@implements(proc=Echo, protocol=LoihiProtocol)
@requires(CPU)
class PyEchoModel(PyLoihiProcessModel):
    inp: PyInPort = LavaPyType(PyInPort.VEC_DENSE, float)
    out: PyOutPort = LavaPyType(PyOutPort.VEC_DENSE, float)
    held: np.ndarray = LavaPyType(np.ndarray, float)

    def run_spk(self) -> None:
        if self.proc_params["sends_first"]:
            self.out.send(self.held)
            self.held = self.inp.recv() + self.time_step
        else:
            self.held = self.inp.recv() + self.time_step
            self.out.send(self.held)


class Reader(AbstractProcess):
    """Reads another's variable after every step, and writes it every third one."""

    def __init__(self, name: str = "reader", in_spiking_phase: bool = False):
        super().__init__(name=name, in_spiking_phase=in_spiking_phase)
        self.ref = RefPort(shape=SHAPE)
        self.seen = Var(shape=(*SHAPE, 4), init=0)
        self.learned = Var(shape=(1,), init=0)


@implements(proc=Reader, protocol=LoihiProtocol)
@requires(CPU)
class PyReaderModel(PyLoihiProcessModel):
    ref: PyRefPort = LavaPyType(PyRefPort.VEC_DENSE, int)
    seen: np.ndarray = LavaPyType(np.ndarray, int)
    learned: np.ndarray = LavaPyType(np.ndarray, int)

    def run_spk(self) -> None:
        if self.proc_params["in_spiking_phase"]:
            self.ref.read()

    def pre_guard(self) -> bool:
        return True

    def lrn_guard(self) -> bool:
        return self.time_step % 2 == 0

    def post_guard(self) -> bool:
        return True

    def run_pre_mgmt(self) -> None:
        self.learned += 100

    def run_lrn(self) -> None:
        self.learned += 1

    def run_post_mgmt(self) -> None:
        self.seen[:, (self.time_step - 1) % 4] = self.ref.read()
        if self.time_step % 3 == 0:
            self.ref.write(np.full(SHAPE, -7))
            self.ref.wait()


class Gate(AbstractProcess):
    """Passes on what another thread gives it, and gives it to another thread as well."""

    def __init__(self, name: str = "gate"):
        super().__init__(name=name)
        self.inp = InPort(shape=SHAPE)
        self.inp.flag_external_pipe(buffer_size=2)
        self.exit = OutPort(shape=SHAPE)
        self.exit.flag_external_pipe(buffer_size=2)
        self.out = OutPort(shape=SHAPE)


@implements(proc=Gate, protocol=LoihiProtocol)
@requires(CPU)
class PyGateModel(PyLoihiProcessModel):
    inp: PyInPort = LavaPyType(PyInPort.VEC_DENSE, np.int32)
    exit: PyOutPort = LavaPyType(PyOutPort.VEC_DENSE, np.int32)
    out: PyOutPort = LavaPyType(PyOutPort.VEC_DENSE, np.int32)

    def run_spk(self) -> None:
        given = self.inp.recv()
        self.exit.send(10 * given)
        self.out.send(given)


class Drifter(AbstractProcess):
    """Has no steps: an asynchronous model."""

    def __init__(self, name: str = "drifter"):
        super().__init__(name=name)
        self.out = OutPort(shape=SHAPE)


@implements(proc=Drifter, protocol=AsyncProtocol)
@requires(CPU)
class PyDrifterModel(PyAsyncProcessModel):
    out: PyOutPort = LavaPyType(PyOutPort.VEC_DENSE, int)

    def run_async(self) -> None:
        pass
