"""Models of CUBA. Absolute imports only, as in celif/models.py."""

from __future__ import annotations

import numpy as np
from lava.magma.core.model.py.ports import PyOutPort
from lava.magma.core.model.py.type import LavaPyType

from export.loihi2 import BIAS_MANT_BITS, CUBA_VTH_BITS, CURRENT_SHIFT, DECAY_BITS, STATE_BITS
from export.steps import cuba
from lava_procs.processes.cuba.process import CUBA
from lava_procs.sampled import FIXED, FLOAT, FixedSums, FloatSums, IntegerModel, model_of


class AbstractCUBAModel(IntegerModel):
    """The integer step, whatever the synapses compute in."""

    s_out: PyOutPort = LavaPyType(PyOutPort.VEC_DENSE, np.int8, precision=1)
    u: np.ndarray = LavaPyType(np.ndarray, np.int64, precision=STATE_BITS)
    v: np.ndarray = LavaPyType(np.ndarray, np.int64, precision=STATE_BITS)
    s: np.ndarray = LavaPyType(np.ndarray, np.int64, precision=1)
    du: np.ndarray = LavaPyType(np.ndarray, np.int64, precision=DECAY_BITS)
    dv: np.ndarray = LavaPyType(np.ndarray, np.int64, precision=DECAY_BITS)
    vth: np.ndarray = LavaPyType(np.ndarray, np.int64, precision=CUBA_VTH_BITS)
    bias_mant: np.ndarray = LavaPyType(np.ndarray, np.int64, precision=BIAS_MANT_BITS)

    step = staticmethod(cuba.step)
    state_type = cuba.CubaState

    def parameters(self) -> cuba.CubaParams:
        return cuba.CubaParams(self.du, self.dv, self.vth, self.bias_mant << CURRENT_SHIFT)


@model_of(CUBA, FLOAT)
class PyCUBAModelFloat(FloatSums, AbstractCUBAModel):
    """Behind float synapses, whose sums are whole numbers, too."""


@model_of(CUBA, FIXED)
class PyCUBAModelFixed(FixedSums, AbstractCUBAModel):
    """Behind fixed-point synapses."""
