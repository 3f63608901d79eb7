"""A sink that writes what arrives to a memory-mapped file, for neurons that write no trace."""

from __future__ import annotations

from lava.magma.core.process.ports.ports import InPort
from lava.magma.core.process.process import LogConfig

from lava_procs.clock import Clock
from lava_procs.sampled import DeletableProcess


class Recorder(DeletableProcess):
    """Writes its input at every step of every sample to the probe's ``s``.

    Parameters
    ----------
    shape
        Shape of the input.
    lag, steps, period
        Timing of the recorded layer, see :mod:`lava_procs.clock`.
    probe
        Prefix of trace files, see :mod:`lava_procs.probes`.
    """

    def __init__(
        self,
        *,
        shape: tuple[int, ...],
        lag: int,
        steps: int,
        period: int,
        probe: str,
        name: str | None = None,
        log_config: LogConfig | None = None,
    ):
        super().__init__(
            clock=Clock(lag, steps, period), probe=probe, name=name, log_config=log_config
        )
        self.a_in = InPort(shape=shape)
