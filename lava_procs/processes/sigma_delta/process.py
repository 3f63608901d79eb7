"""SLAYER's sigma-delta neuron as a Process that knows its samples."""

from __future__ import annotations

from typing import Any

from lava.magma.core.process.ports.ports import InPort, OutPort
from lava.magma.core.process.process import AbstractProcess, LogConfig
from lava.magma.core.process.variable import Var

from export.model.network import SigmaDeltaLayer
from lava_procs.clock import Clock


class SigmaDelta(AbstractProcess):
    """Lava's stock SigmaDelta, which starts afresh with every sample and is silent between them.

    Parameters
    ----------
    layer, steps, period, lag, dense_exp, probe
        As in :class:`lava_procs.processes.cuba.process.CUBA`.

    Notes
    -----
    Vars: ``sigma``, ``act``, ``residue`` and the message ``s``; ``shift`` of the synaptic sum,
    ``vth`` and ``bias`` in the state's unit, see :mod:`export.steps.sigma_delta`.
    """

    # Lava stops a Process when it is deleted, also one whose arguments were refused.
    _runtime: Any = None

    def __init__(
        self,
        *,
        layer: SigmaDeltaLayer,
        steps: int,
        period: int | None = None,
        lag: int | None = None,
        dense_exp: int = 0,
        probe: str | None = None,
        name: str | None = None,
        log_config: LogConfig | None = None,
    ):
        lag = layer.lag if lag is None else lag
        super().__init__(
            shape=(layer.neurons,),
            clock=Clock(lag, steps, steps if period is None else period),
            ignore_first=False,
            dense_exp=dense_exp,
            probe=probe,
            name=name or layer.name,
            log_config=log_config,
        )
        self.shape = (layer.neurons,)
        self.a_in = InPort(shape=self.shape)
        self.s_out = OutPort(shape=self.shape)
        self.sigma = Var(shape=self.shape, init=0)
        self.act = Var(shape=self.shape, init=0)
        self.residue = Var(shape=self.shape, init=0)
        self.s = Var(shape=self.shape, init=0)
        p = layer.params
        self.shift = Var(shape=(1,), init=p.shift)
        self.vth = Var(shape=(1,), init=p.vth)
        self.bias = Var(shape=self.shape, init=p.bias)
