"""Float and fixed models of Readout. Absolute imports only, as in celif/models.py."""

from __future__ import annotations

import numpy as np
from lava.magma.core.model.py.ports import PyInPort, PyOutPort
from lava.magma.core.model.py.type import LavaPyType

from export.loihi2 import SUM_BITS
from lava_procs.processes.readout.process import Readout
from lava_procs.sampled import FIXED, FLOAT, FloatSums, SampledModel, model_of


class AbstractReadoutModel(SampledModel):
    """The part that does not depend on the arithmetic."""

    acc: np.ndarray
    bias: np.ndarray

    def contribution(self, arrived: np.ndarray) -> np.ndarray:
        """Return what a step adds."""
        return arrived + self.bias

    def begin(self) -> None:
        self.acc[:] = 0

    def advance(self, arrived: np.ndarray, k: int) -> np.ndarray:
        self.acc += self.contribution(arrived)
        return self.acc

    def record(self, sample: int, k: int) -> None:
        if k == self.clock.steps - 1:
            self.probe.write((sample,), sum=self.acc)


@model_of(Readout, FLOAT)
class PyReadoutModelFloat(FloatSums, AbstractReadoutModel):
    """float64, which holds the integers exactly."""

    s_out: PyOutPort = LavaPyType(PyOutPort.VEC_DENSE, float)
    acc: np.ndarray = LavaPyType(np.ndarray, float)
    bias: np.ndarray = LavaPyType(np.ndarray, float)

    def contribution(self, arrived: np.ndarray) -> np.ndarray:
        return np.ldexp(arrived, -self.proc_params["dense_exp"]) + self.bias


@model_of(Readout, FIXED)
class PyReadoutModelFixed(AbstractReadoutModel):
    """int32; that no sum can leave it is checked when a network is made."""

    a_in: PyInPort = LavaPyType(PyInPort.VEC_DENSE, np.int32, precision=SUM_BITS)
    s_out: PyOutPort = LavaPyType(PyOutPort.VEC_DENSE, np.int32, precision=SUM_BITS)
    acc: np.ndarray = LavaPyType(np.ndarray, np.int32, precision=SUM_BITS)
    bias: np.ndarray = LavaPyType(np.ndarray, np.int32, precision=SUM_BITS)
