"""Model of Recorder. Absolute imports only, as in celif/models.py."""

from __future__ import annotations

from typing import Any

from lava.magma.core.decorator import implements, requires, tag
from lava.magma.core.model.py.model import PyLoihiProcessModel
from lava.magma.core.model.py.ports import PyInPort
from lava.magma.core.model.py.type import LavaPyType
from lava.magma.core.resources import CPU
from lava.magma.core.sync.protocols.loihi_protocol import LoihiProtocol

from lava_procs.clock import Clock
from lava_procs.probes import Probe
from lava_procs.processes.recorder.process import Recorder


@implements(proc=Recorder, protocol=LoihiProtocol)
@requires(CPU)
@tag("floating_pt", "fixed_pt", "bit_accurate_loihi")
class PyRecorderModel(PyLoihiProcessModel):
    """Arithmetic is the sender's; this one only writes."""

    a_in: PyInPort = LavaPyType(PyInPort.VEC_DENSE, float)

    def __init__(self, proc_params: Any):
        super().__init__(proc_params)
        self.clock: Clock = proc_params["clock"]
        self.probe = Probe(proc_params["probe"])

    def run_spk(self) -> None:
        """One time step."""
        arrived = self.a_in.recv()
        now = self.clock.at(self.time_step)
        if now is not None:
            self.probe.write(now, s=arrived)
        self.probe.tick(self.time_step)
