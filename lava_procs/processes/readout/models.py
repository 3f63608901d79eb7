"""Float and fixed models of Readout. Absolute imports only, as in celif/models.py."""

from __future__ import annotations

import numpy as np
from lava.magma.core.decorator import implements, requires, tag
from lava.magma.core.model.py.ports import PyInPort, PyOutPort
from lava.magma.core.model.py.type import LavaPyType
from lava.magma.core.resources import CPU
from lava.magma.core.sync.protocols.loihi_protocol import LoihiProtocol

from lava_procs.processes.readout.process import Readout
from lava_procs.sampled import SampledModel


class AbstractReadoutModel(SampledModel):
    """What does not depend on the arithmetic."""

    acc: np.ndarray
    bias: np.ndarray

    def contribution(self, arrived: np.ndarray) -> np.ndarray:
        """What a step adds."""
        return arrived + self.bias

    def begin(self) -> None:
        self.acc[:] = 0

    def advance(self, arrived: np.ndarray, k: int) -> np.ndarray:
        self.acc += self.contribution(arrived)
        return self.acc

    def record(self, sample: int, k: int) -> None:
        if k == self.clock.steps - 1:
            self.probe.write((sample,), sum=self.acc)


@implements(proc=Readout, protocol=LoihiProtocol)
@requires(CPU)
@tag("floating_pt")
class PyReadoutModelFloat(AbstractReadoutModel):
    """float64, which holds the integers exactly."""

    a_in: PyInPort = LavaPyType(PyInPort.VEC_DENSE, float)
    s_out: PyOutPort = LavaPyType(PyOutPort.VEC_DENSE, float)
    acc: np.ndarray = LavaPyType(np.ndarray, float)
    bias: np.ndarray = LavaPyType(np.ndarray, float)

    def contribution(self, arrived: np.ndarray) -> np.ndarray:
        return np.ldexp(arrived, -self.proc_params["dense_exp"]) + self.bias


@implements(proc=Readout, protocol=LoihiProtocol)
@requires(CPU)
@tag("fixed_pt", "bit_accurate_loihi")
class PyReadoutModelFixed(AbstractReadoutModel):
    """int32; that no sum can leave it is checked when a network is made."""

    a_in: PyInPort = LavaPyType(PyInPort.VEC_DENSE, np.int32, precision=32)
    s_out: PyOutPort = LavaPyType(PyOutPort.VEC_DENSE, np.int32, precision=32)
    acc: np.ndarray = LavaPyType(np.ndarray, np.int32, precision=32)
    bias: np.ndarray = LavaPyType(np.ndarray, np.int32, precision=32)
