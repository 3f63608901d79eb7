"""Models of SigmaDelta. Absolute imports only, as in celif/models.py."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from lava.magma.core.model.py.ports import PyOutPort
from lava.magma.core.model.py.type import LavaPyType

from export.loihi2 import STATE_BITS, SUM_BITS
from export.steps import sigma_delta
from lava_procs.processes.sigma_delta.process import SigmaDelta
from lava_procs.sampled import FIXED, FLOAT, FixedSums, FloatSums, IntegerModel, model_of


class AbstractSigmaDeltaModel(IntegerModel):
    """The integer step, whatever the synapses compute in."""

    s_out: PyOutPort = LavaPyType(PyOutPort.VEC_DENSE, np.int32, precision=STATE_BITS)
    sigma: np.ndarray = LavaPyType(np.ndarray, np.int64, precision=SUM_BITS)
    act: np.ndarray = LavaPyType(np.ndarray, np.int64, precision=SUM_BITS)
    residue: np.ndarray = LavaPyType(np.ndarray, np.int64, precision=SUM_BITS)
    s: np.ndarray = LavaPyType(np.ndarray, np.int64, precision=STATE_BITS)
    shift: np.ndarray = LavaPyType(np.ndarray, np.int64)
    vth: np.ndarray = LavaPyType(np.ndarray, np.int64, precision=SUM_BITS)
    bias: np.ndarray = LavaPyType(np.ndarray, np.int64, precision=SUM_BITS)

    step = staticmethod(sigma_delta.step)
    state_type = sigma_delta.SigmaDeltaState
    traced: ClassVar[dict[str, str]] = {"v": "sigma", "s": "s"}

    def parameters(self) -> sigma_delta.SigmaDeltaParams:
        return sigma_delta.SigmaDeltaParams(self.shift, self.bias, self.vth)


@model_of(SigmaDelta, FLOAT)
class PySigmaDeltaModelFloat(FloatSums, AbstractSigmaDeltaModel):
    """Behind float synapses, whose sums are whole numbers, too."""


@model_of(SigmaDelta, FIXED)
class PySigmaDeltaModelFixed(FixedSums, AbstractSigmaDeltaModel):
    """Behind fixed-point synapses."""
