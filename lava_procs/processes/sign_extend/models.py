"""Model of SignExtend. Absolute imports only, as in celif/models.py."""

from __future__ import annotations

import numpy as np
from lava.magma.core.model.py.model import PyLoihiProcessModel
from lava.magma.core.model.py.ports import PyInPort, PyOutPort
from lava.magma.core.model.py.type import LavaPyType

from export.loihi2 import STATE_BITS, SUM_BITS
from lava_procs.processes.sign_extend.process import SignExtend
from lava_procs.sampled import model_of


@model_of(SignExtend, ("fixed_pt",))
class PySignExtendModel(PyLoihiProcessModel):
    """Extends the sign of a message in the step in which it arrives."""

    a_in: PyInPort = LavaPyType(PyInPort.VEC_DENSE, np.int32, precision=STATE_BITS)
    s_out: PyOutPort = LavaPyType(PyOutPort.VEC_DENSE, np.int32, precision=STATE_BITS)

    def run_spk(self) -> None:
        """Run one time step."""
        unused = SUM_BITS - self.proc_params["bits"]
        self.s_out.send(self.a_in.recv().astype(np.int32) << unused >> unused)
