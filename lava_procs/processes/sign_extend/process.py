"""Integers that arrive without their sign: what leaves a chip as a message of some bits."""

from __future__ import annotations

from lava.magma.core.process.ports.ports import InPort, OutPort

from lava_procs.sampled import DeletableProcess


class SignExtend(DeletableProcess):
    """Reads the lowest ``bits`` of what arrives as a two's complement number.

    Lava's adapters deliver a negative graded spike as a positive number of that many bits;
    lava-dl's own tests shift it up and down again for the same reason.
    """

    def __init__(self, *, shape: tuple[int, ...], bits: int, name: str | None = None):
        super().__init__(shape=shape, bits=bits, name=name)
        self.a_in = InPort(shape=shape)
        self.s_out = OutPort(shape=shape)
