"""Float and fixed models of ShiftedDense. Absolute imports only, as in celif/models.py."""

from __future__ import annotations

import numpy as np
from lava.magma.core.model.py.model import PyLoihiProcessModel
from lava.magma.core.model.py.ports import PyInPort, PyOutPort
from lava.magma.core.model.py.type import LavaPyType

from export.loihi2 import DELAY_BITS, MESSAGE_BITS_FIELD, STATE_BITS, WEIGHT_BITS
from lava_procs.processes.shifted_dense.process import ShiftedDense
from lava_procs.sampled import FIXED, FLOAT, model_of


class AbstractShiftedDenseModel(PyLoihiProcessModel):
    """The part that does not depend on the arithmetic."""

    weights: np.ndarray = LavaPyType(np.ndarray, np.int64, precision=WEIGHT_BITS)
    delays: np.ndarray = LavaPyType(np.ndarray, np.int64, precision=DELAY_BITS)
    exp: np.ndarray = LavaPyType(np.ndarray, np.int64)
    num_message_bits: np.ndarray = LavaPyType(np.ndarray, np.int64, precision=MESSAGE_BITS_FIELD)
    history: np.ndarray = LavaPyType(np.ndarray, np.int64)
    a_out: PyOutPort
    s_in: PyInPort
    a_buff: np.ndarray

    def shifted(self, sums: np.ndarray) -> np.ndarray:
        """Return the sums as they leave the synapses."""
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


@model_of(ShiftedDense, FLOAT)
class PyShiftedDenseModelFloat(AbstractShiftedDenseModel):
    """Computes in float64, which holds the integers exactly."""

    s_in: PyInPort = LavaPyType(PyInPort.VEC_DENSE, float)
    a_out: PyOutPort = LavaPyType(PyOutPort.VEC_DENSE, float)
    a_buff: np.ndarray = LavaPyType(np.ndarray, float)

    def shifted(self, sums: np.ndarray) -> np.ndarray:
        return np.ldexp(sums.astype(float), self.exp + self.proc_params["dense_exp"])


@model_of(ShiftedDense, FIXED)
class PyShiftedDenseModelFixed(AbstractShiftedDenseModel):
    """Computes in integers; a network is only built if no sum can leave 32 bits."""

    s_in: PyInPort = LavaPyType(PyInPort.VEC_DENSE, np.int32, precision=STATE_BITS)
    a_out: PyOutPort = LavaPyType(PyOutPort.VEC_DENSE, np.int32, precision=STATE_BITS)
    a_buff: np.ndarray = LavaPyType(np.ndarray, np.int32, precision=STATE_BITS)

    def shifted(self, sums: np.ndarray) -> np.ndarray:
        return sums << self.exp if self.exp[0] > 0 else sums >> -self.exp
