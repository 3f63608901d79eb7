"""A dense synapse that computes the same in float and in fixed point, unlike Lava's own."""

from __future__ import annotations

import numpy as np
from lava.magma.core.process.ports.ports import InPort, OutPort
from lava.magma.core.process.variable import Var

from lava_procs.sampled import DeletableProcess


class ShiftedDense(DeletableProcess):
    """A matrix of weights, whose inputs may be late and whose sums are shifted.

    Lava's float Dense ignores its exponent, and its DelayDense rounds the sums of each delay apart.

    Parameters
    ----------
    weights
        Mantissas (neuron, input).
    exp
        Left shift of the sums; if negative, a right shift that rounds down.
    dense_exp
        What the float neurons behind divide their input by, as a power of two.
    delays
        Steps by which each input is late, in addition to the one that every synapse takes.
    num_message_bits
        As in Lava, 0 means spikes: any input other than 0 counts as 1.
    """

    def __init__(
        self,
        *,
        weights: np.ndarray,
        exp: int,
        dense_exp: int,
        delays: np.ndarray | None = None,
        num_message_bits: int = 0,
        name: str | None = None,
    ):
        neurons, inputs = weights.shape
        delays = np.zeros(inputs, int) if delays is None else delays
        super().__init__(dense_exp=dense_exp, name=name)
        self.s_in = InPort(shape=(inputs,))
        self.a_out = OutPort(shape=(neurons,))
        self.weights = Var(shape=weights.shape, init=weights)
        self.delays = Var(shape=delays.shape, init=delays)
        self.exp = Var(shape=(1,), init=exp)
        self.num_message_bits = Var(shape=(1,), init=num_message_bits)
        self.history = Var(shape=(int(delays.max()) + 1, inputs), init=0)
        self.a_buff = Var(shape=(neurons,), init=0)
