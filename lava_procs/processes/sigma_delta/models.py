"""Models of SigmaDelta. Absolute imports only, as in celif/models.py."""

from __future__ import annotations

import numpy as np
from lava.magma.core.decorator import implements, requires, tag
from lava.magma.core.model.py.ports import PyInPort, PyOutPort
from lava.magma.core.model.py.type import LavaPyType
from lava.magma.core.resources import CPU
from lava.magma.core.sync.protocols.loihi_protocol import LoihiProtocol

from export.steps import sigma_delta
from lava_procs.processes.sigma_delta.process import SigmaDelta
from lava_procs.sampled import WholeSums


class AbstractSigmaDeltaModel(WholeSums):
    """The integer step, whatever the synapses compute in."""

    s_out: PyOutPort = LavaPyType(PyOutPort.VEC_DENSE, np.int32, precision=24)
    sigma: np.ndarray = LavaPyType(np.ndarray, np.int64, precision=32)
    act: np.ndarray = LavaPyType(np.ndarray, np.int64, precision=32)
    residue: np.ndarray = LavaPyType(np.ndarray, np.int64, precision=32)
    s: np.ndarray = LavaPyType(np.ndarray, np.int64, precision=24)
    shift: np.ndarray = LavaPyType(np.ndarray, np.int64)
    vth: np.ndarray = LavaPyType(np.ndarray, np.int64, precision=32)
    bias: np.ndarray = LavaPyType(np.ndarray, np.int64, precision=32)

    def begin(self) -> None:
        self.sigma[:], self.act[:], self.residue[:], self.s[:] = 0, 0, 0, 0
        self.p = sigma_delta.SigmaDeltaParams(self.shift, self.bias, self.vth)

    def advance(self, arrived: np.ndarray, k: int) -> np.ndarray:
        state = sigma_delta.SigmaDeltaState(self.sigma, self.act, self.residue, self.s)
        new = sigma_delta.step(self.whole(arrived), state, self.p)
        self.sigma, self.act, self.residue, self.s = new
        return self.s

    def record(self, sample: int, k: int) -> None:
        self.probe.write((sample, k), v=self.sigma, s=self.s)


@implements(proc=SigmaDelta, protocol=LoihiProtocol)
@requires(CPU)
@tag("floating_pt")
class PySigmaDeltaModelFloat(AbstractSigmaDeltaModel):
    """Behind float synapses, whose sums are whole numbers, too."""

    a_in: PyInPort = LavaPyType(PyInPort.VEC_DENSE, float)


@implements(proc=SigmaDelta, protocol=LoihiProtocol)
@requires(CPU)
@tag("fixed_pt", "bit_accurate_loihi")
class PySigmaDeltaModelFixed(AbstractSigmaDeltaModel):
    """Behind fixed-point synapses."""

    a_in: PyInPort = LavaPyType(PyInPort.VEC_DENSE, np.int32, precision=24)
