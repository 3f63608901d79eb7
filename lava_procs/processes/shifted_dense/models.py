"""Float and fixed models of Synapses. Absolute imports only, as in celif/models.py."""

from __future__ import annotations

import numpy as np
from lava.magma.core.decorator import implements, requires, tag
from lava.magma.core.model.py.model import PyLoihiProcessModel
from lava.magma.core.model.py.ports import PyInPort, PyOutPort
from lava.magma.core.model.py.type import LavaPyType
from lava.magma.core.resources import CPU
from lava.magma.core.sync.protocols.loihi_protocol import LoihiProtocol

from lava_procs.processes.shifted_dense.process import Synapses


class AbstractSynapsesModel(PyLoihiProcessModel):
    """What does not depend on the arithmetic."""

    weights: np.ndarray = LavaPyType(np.ndarray, np.int64, precision=8)
    delays: np.ndarray = LavaPyType(np.ndarray, np.int64, precision=6)
    exp: np.ndarray = LavaPyType(np.ndarray, np.int64)
    num_message_bits: np.ndarray = LavaPyType(np.ndarray, np.int64, precision=5)
    history: np.ndarray = LavaPyType(np.ndarray, np.int64)
    a_out: PyOutPort
    s_in: PyInPort
    a_buff: np.ndarray

    def shifted(self, sums: np.ndarray) -> np.ndarray:
        """What the sums become on their way out."""
        raise NotImplementedError

    def run_spk(self) -> None:
        """Send what arrived a step ago, as Lava's synapses do, then receive."""
        self.a_out.send(self.a_buff)
        arrived = self.s_in.recv()
        if self.num_message_bits[0] == 0:
            arrived = arrived.astype(bool)
        self.history = np.roll(self.history, 1, axis=0)
        self.history[0] = arrived
        due = self.history[self.delays, np.arange(len(self.delays))]
        self.a_buff = self.shifted(self.weights @ due)


@implements(proc=Synapses, protocol=LoihiProtocol)
@requires(CPU)
@tag("floating_pt")
class PySynapsesModelFloat(AbstractSynapsesModel):
    """float64, which holds the integers exactly."""

    s_in: PyInPort = LavaPyType(PyInPort.VEC_DENSE, float)
    a_out: PyOutPort = LavaPyType(PyOutPort.VEC_DENSE, float)
    a_buff: np.ndarray = LavaPyType(np.ndarray, float)

    def shifted(self, sums: np.ndarray) -> np.ndarray:
        return np.ldexp(sums.astype(float), self.exp + self.proc_params["dense_exp"])


@implements(proc=Synapses, protocol=LoihiProtocol)
@requires(CPU)
@tag("fixed_pt", "bit_accurate_loihi")
class PySynapsesModelFixed(AbstractSynapsesModel):
    """Integers; that no sum can leave 32 bits is checked when a network is made."""

    s_in: PyInPort = LavaPyType(PyInPort.VEC_DENSE, np.int32, precision=24)
    a_out: PyOutPort = LavaPyType(PyOutPort.VEC_DENSE, np.int32, precision=24)
    a_buff: np.ndarray = LavaPyType(np.ndarray, np.int32, precision=24)

    def shifted(self, sums: np.ndarray) -> np.ndarray:
        return sums << self.exp if self.exp[0] > 0 else sums >> -self.exp
