"""What the models of CELIF and Readout share: one ``run_spk``.

Not in a Process's folder, because Lava executes every file there.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from lava.magma.core.model.py.model import PyLoihiProcessModel
from lava.magma.core.model.py.ports import PyInPort, PyOutPort

from lava_procs.clock import Clock
from lava_procs.probes import Probe


class SampledModel(PyLoihiProcessModel):
    """A model that starts afresh with every sample and is silent between samples."""

    a_in: PyInPort
    s_out: PyOutPort

    def __init__(self, proc_params: Any):
        super().__init__(proc_params)
        self.clock: Clock = proc_params["clock"]
        self.ignore_first: bool = proc_params["ignore_first"]
        self.probe = Probe(proc_params["probe"])

    def begin(self) -> None:
        """Reset the state."""
        raise NotImplementedError

    def advance(self, arrived: np.ndarray, k: int) -> np.ndarray:
        """Take step k of a sample and return what to send."""
        raise NotImplementedError

    def record(self, sample: int, k: int) -> None:
        """Write the state after step k to the probe."""
        raise NotImplementedError

    def run_spk(self) -> None:
        """One time step."""
        arrived = self.a_in.recv()
        now = self.clock.at(self.time_step)
        if now is None:
            self.s_out.send(np.zeros_like(arrived))
        else:
            sample, k = now
            if k == 0:
                self.begin()
                if self.ignore_first:
                    arrived = np.zeros_like(arrived)
            self.s_out.send(self.advance(arrived, k))
            self.record(sample, k)
        self.probe.tick(self.time_step)


class WholeSums(SampledModel):
    """A model that computes in integers, whatever its synapses compute in."""

    def whole(self, arrived: np.ndarray) -> np.ndarray:
        """The synaptic sums, shifted as fixed-point synapses have shifted theirs."""
        if np.issubdtype(arrived.dtype, np.floating):
            arrived = np.floor(np.ldexp(arrived, -self.proc_params["dense_exp"]))
        return arrived.astype(np.int64)
