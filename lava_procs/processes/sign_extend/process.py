"""Integers that arrive without their sign: what leaves a chip as a message of some bits."""

from __future__ import annotations

from typing import Any

from lava.magma.core.process.ports.ports import InPort, OutPort
from lava.magma.core.process.process import AbstractProcess


class Signed(AbstractProcess):
    """Reads the lowest ``bits`` of what arrives as a two's complement number.

    Lava's adapters deliver a negative graded spike as a positive number of that many bits;
    lava-dl's own tests shift it up and down again for the same reason.
    """

    # Lava stops a Process when it is deleted, also one whose arguments were refused.
    _runtime: Any = None

    def __init__(self, *, shape: tuple[int, ...], bits: int, name: str | None = None):
        super().__init__(shape=shape, bits=bits, name=name)
        self.a_in = InPort(shape=shape)
        self.s_out = OutPort(shape=shape)
