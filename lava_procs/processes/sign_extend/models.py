"""Model of Signed. Absolute imports only, as in celif/models.py."""

from __future__ import annotations

import numpy as np
from lava.magma.core.decorator import implements, requires, tag
from lava.magma.core.model.py.model import PyLoihiProcessModel
from lava.magma.core.model.py.ports import PyInPort, PyOutPort
from lava.magma.core.model.py.type import LavaPyType
from lava.magma.core.resources import CPU
from lava.magma.core.sync.protocols.loihi_protocol import LoihiProtocol

from lava_procs.processes.sign_extend.process import Signed


@implements(proc=Signed, protocol=LoihiProtocol)
@requires(CPU)
@tag("fixed_pt")
class PySignedModel(PyLoihiProcessModel):
    """In the step in which it arrives."""

    a_in: PyInPort = LavaPyType(PyInPort.VEC_DENSE, np.int32, precision=24)
    s_out: PyOutPort = LavaPyType(PyOutPort.VEC_DENSE, np.int32, precision=24)

    def run_spk(self) -> None:
        """One time step."""
        unused = 32 - self.proc_params["bits"]
        self.s_out.send(self.a_in.recv().astype(np.int32) << unused >> unused)
