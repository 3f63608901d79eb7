"""The readout as a Lava Process: sums over the sample in 32 bits."""

from __future__ import annotations

from typing import Any

import numpy as np
from lava.magma.core.process.ports.ports import InPort, OutPort
from lava.magma.core.process.process import AbstractProcess, LogConfig
from lava.magma.core.process.variable import Var
from numpy.typing import ArrayLike

from export import ModelError
from export.model.network import ReadoutLayer
from lava_procs.clock import Clock


class Readout(AbstractProcess):
    """Adds up what arrives, plus a bias, at every step of a sample; starts anew with the next.

    Not a stock LIF: 784 steps × 152 inputs × 127 passes its 24 bits.

    Parameters
    ----------
    shape
        ``(classes,)``.
    steps
        Steps of a sample.
    bias
        Added at every step; one for all classes or one each.
    lag, period, ignore_first, dense_exp, probe
        As in :class:`lava_procs.CELIF`. The probe takes the sums after the last step.

    Notes
    -----
    Var ``acc`` and OutPort ``s_out`` hold the running sums. They are exact integers in the float
    model too, as weights are mantissas.
    """

    # Lava stops a Process when it is deleted, also one whose arguments were refused.
    _runtime: Any = None

    def __init__(
        self,
        *,
        shape: tuple[int, ...],
        steps: int,
        bias: ArrayLike = 0,
        lag: int = 1,
        period: int | None = None,
        ignore_first: bool = False,
        dense_exp: int = 0,
        probe: str | None = None,
        name: str | None = None,
        log_config: LogConfig | None = None,
    ):
        owner = name or "Readout"
        if len(shape) != 1 or shape[0] < 1:
            raise ModelError(f"{owner} shape: expected (classes,), got {tuple(shape)}")
        classes = int(shape[0])
        values = np.asarray(bias)
        # Checks the bias; the synapse is not ours, so its weight is a stand-in.
        layer = ReadoutLayer(
            name=owner,
            weight=np.zeros((classes, 1), np.int64),
            lag=1,
            delay_shift=False,
            weight_exp=0,
            weight_bits=8,
            bias=np.full(classes, values) if values.ndim == 0 else values,
        )
        if dense_exp < 0:
            raise ModelError(f"{owner} dense_exp: expected 0 or more, got {dense_exp}")
        super().__init__(
            clock=Clock(lag, steps, steps if period is None else period),
            ignore_first=ignore_first,
            dense_exp=dense_exp,
            probe=probe,
            name=name,
            log_config=log_config,
        )
        self.shape = (classes,)
        self.a_in = InPort(shape=self.shape)
        self.s_out = OutPort(shape=self.shape)
        self.acc = Var(shape=self.shape, init=0)
        self.bias = Var(shape=self.shape, init=layer.bias)

    @classmethod
    def from_layer(cls, layer: ReadoutLayer, **timing: Any) -> Readout:
        """The sums of a netx file's readout; ``timing`` as in :meth:`CELIF.from_layer`."""
        fields = {"bias": layer.bias, "lag": layer.lag, "name": layer.name}
        return cls(shape=(layer.neurons,), **{**fields, **timing})
