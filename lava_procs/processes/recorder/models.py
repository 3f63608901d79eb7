"""Model of Recorder. Absolute imports only, as in celif/models.py."""

from __future__ import annotations

from typing import Any

from lava.magma.core.model.py.model import PyLoihiProcessModel
from lava.magma.core.model.py.ports import PyInPort
from lava.magma.core.model.py.type import LavaPyType

from lava_procs.clock import Clock
from lava_procs.probes import Probe
from lava_procs.processes.recorder.process import Recorder
from lava_procs.sampled import FIXED, FLOAT, model_of


@model_of(Recorder, FLOAT + FIXED)
class PyRecorderModel(PyLoihiProcessModel):
    """Writes what arrives; the arithmetic is the sender's."""

    a_in: PyInPort = LavaPyType(PyInPort.VEC_DENSE, float)

    def __init__(self, proc_params: Any):
        super().__init__(proc_params)
        self.clock: Clock = proc_params["clock"]
        self.probe = Probe(proc_params["probe"])

    def run_spk(self) -> None:
        """Run one time step."""
        arrived = self.a_in.recv()
        now = self.clock.at(self.time_step)
        if now is not None:
            self.probe.write(now, s=arrived)
        self.probe.tick(self.time_step)
