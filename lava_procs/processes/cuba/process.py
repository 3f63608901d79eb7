"""SLAYER's CUBA neuron as a Process that knows its samples."""

from __future__ import annotations

from typing import Any

import numpy as np
from lava.magma.core.process.ports.ports import InPort, OutPort
from lava.magma.core.process.process import AbstractProcess, LogConfig
from lava.magma.core.process.variable import Var

from export.model.network import CubaLayer
from lava_procs.clock import Clock


class CUBA(AbstractProcess):
    """Lava's stock LIF, silent between samples; within a sample the two are the same.

    A stock LIF cannot be silenced: what it fires after the last step of a sample would reach the
    next one, wherever a shift, a delay or a recurrence takes its spikes a step further.

    Parameters
    ----------
    layer
        Decays, threshold and biases.
    steps, period, lag
        Time index, see :mod:`lava_procs.clock`.
    dense_exp
        The float model divides its input by 2^dense_exp, rounding down, as a synapse does in
        fixed point.
    probe
        Prefix of trace files, see :mod:`lava_procs.probes`.

    Notes
    -----
    Vars: ``u``, ``v`` (before the reset) and ``s``; ``du``, ``dv``, ``vth`` and ``bias_mant`` as
    Lava's LIF has them. It computes in integers in both arithmetics: so does SLAYER.
    """

    # Lava stops a Process when it is deleted, also one whose arguments were refused.
    _runtime: Any = None

    def __init__(
        self,
        *,
        layer: CubaLayer,
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
        self.u = Var(shape=self.shape, init=0)
        self.v = Var(shape=self.shape, init=0)
        self.s = Var(shape=self.shape, init=0)
        self.du = Var(shape=(1,), init=layer.du)
        self.dv = Var(shape=(1,), init=layer.dv)
        self.vth = Var(shape=(1,), init=layer.vth)
        bias = layer.per_neuron(np.asarray(layer.bias_mant))
        self.bias_mant = Var(shape=self.shape, init=bias)
