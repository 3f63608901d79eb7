"""Models of CUBA. Absolute imports only, as in celif/models.py."""

from __future__ import annotations

import numpy as np
from lava.magma.core.decorator import implements, requires, tag
from lava.magma.core.model.py.ports import PyInPort, PyOutPort
from lava.magma.core.model.py.type import LavaPyType
from lava.magma.core.resources import CPU
from lava.magma.core.sync.protocols.loihi_protocol import LoihiProtocol

from export.loihi2 import CURRENT_SHIFT
from export.steps import cuba
from lava_procs.processes.cuba.process import CUBA
from lava_procs.sampled import WholeSums


class AbstractCUBAModel(WholeSums):
    """The integer step, whatever the synapses compute in."""

    s_out: PyOutPort = LavaPyType(PyOutPort.VEC_DENSE, np.int8, precision=1)
    u: np.ndarray = LavaPyType(np.ndarray, np.int64, precision=24)
    v: np.ndarray = LavaPyType(np.ndarray, np.int64, precision=24)
    s: np.ndarray = LavaPyType(np.ndarray, np.int64, precision=1)
    du: np.ndarray = LavaPyType(np.ndarray, np.int64, precision=12)
    dv: np.ndarray = LavaPyType(np.ndarray, np.int64, precision=12)
    vth: np.ndarray = LavaPyType(np.ndarray, np.int64, precision=17)
    bias_mant: np.ndarray = LavaPyType(np.ndarray, np.int64, precision=13)

    def begin(self) -> None:
        self.u[:], self.v[:], self.s[:] = 0, 0, 0
        self.p = cuba.CubaParams(self.du, self.dv, self.vth, self.bias_mant << CURRENT_SHIFT)

    def advance(self, arrived: np.ndarray, k: int) -> np.ndarray:
        state = cuba.CubaState(self.u, self.v, self.s)
        self.u, self.v, self.s = cuba.step(self.whole(arrived), state, self.p)
        return self.s

    def record(self, sample: int, k: int) -> None:
        self.probe.write((sample, k), v=self.v, s=self.s)


@implements(proc=CUBA, protocol=LoihiProtocol)
@requires(CPU)
@tag("floating_pt")
class PyCUBAModelFloat(AbstractCUBAModel):
    """Behind float synapses, whose sums are whole numbers, too."""

    a_in: PyInPort = LavaPyType(PyInPort.VEC_DENSE, float)


@implements(proc=CUBA, protocol=LoihiProtocol)
@requires(CPU)
@tag("fixed_pt", "bit_accurate_loihi")
class PyCUBAModelFixed(AbstractCUBAModel):
    """Behind fixed-point synapses."""

    a_in: PyInPort = LavaPyType(PyInPort.VEC_DENSE, np.int32, precision=24)
