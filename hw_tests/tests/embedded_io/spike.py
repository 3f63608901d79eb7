"""Stands in for ``lava.proc.embedded_io.spike``: adapters between host and chip, on this CPU.

Names, ports and keywords are those of lava-dl's tests on the chip and of
``lava.networks.gradedvecnetwork``; each adapter checks what it is given. Absolute imports only,
and alone in its folder: Lava executes every file beside it.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from lava.magma.core.decorator import implements, requires, tag
from lava.magma.core.model.py.model import PyLoihiProcessModel
from lava.magma.core.model.py.ports import PyInPort, PyOutPort
from lava.magma.core.model.py.type import LavaPyType
from lava.magma.core.process.ports.ports import InPort, OutPort
from lava.magma.core.process.process import AbstractProcess
from lava.magma.core.resources import CPU
from lava.magma.core.sync.protocols.loihi_protocol import LoihiProtocol

from hw_tests.tests.loihi_calls import note

LARGEST_MESSAGE = 32
INTO_STEPS = "CELIF_STANDIN_INTO_STEPS"
"""Variable of the environment: steps that a spike takes from the host to the chip."""


class _Adapter(AbstractProcess):
    """``shape`` is a tuple of integers; ``num_message_bits`` 0 means plain spikes."""

    def __init__(self, *, shape: tuple[int, ...], num_message_bits: int = 0):
        assert isinstance(shape, tuple), shape
        assert all(isinstance(n, int | np.integer) and n > 0 for n in shape), shape
        assert isinstance(num_message_bits, int), num_message_bits
        assert 0 <= num_message_bits <= LARGEST_MESSAGE, num_message_bits
        super().__init__(shape=shape, num_message_bits=num_message_bits)
        self.inp = InPort(shape=shape)
        self.out = OutPort(shape=shape)
        note(type(self).__name__, [int(n) for n in shape], num_message_bits)


class PyToNxAdapter(_Adapter):
    """From the host to the chip."""


class PyToN3ConvAdapter(_Adapter):
    """From the host to a convolution on the chip: (x, y, channel)."""

    def __init__(self, *, shape: tuple[int, ...], num_message_bits: int = 0):
        assert len(shape) == 3, shape
        super().__init__(shape=shape, num_message_bits=num_message_bits)


class NxToPyAdapter(_Adapter):
    """From the chip to the host."""


class _AdapterModel(PyLoihiProcessModel):
    inp: PyInPort = LavaPyType(PyInPort.VEC_DENSE, np.int32)
    out: PyOutPort = LavaPyType(PyOutPort.VEC_DENSE, np.int32)

    def message(self) -> np.ndarray:
        """What arrives, as ``num_message_bits`` bits without a sign carry it."""
        bits = self.proc_params["num_message_bits"]
        data = self.inp.recv().astype(np.int64)
        return (data != 0) * 1 if bits == 0 else data & ((1 << bits) - 1)


class _IntoModel(_AdapterModel):
    """Sends in the step in which it receives, or, with INTO_STEPS=1, in the one after it."""

    def __init__(self, proc_params: Any):
        super().__init__(proc_params)
        self.late = int(os.environ.get(INTO_STEPS, "0"))
        self.waiting = [np.zeros(proc_params["shape"], np.int64)] * self.late

    def run_spk(self) -> None:
        """One time step."""
        if self.late:
            self.out.send(self.waiting.pop(0))
        data, bits = self.message(), self.proc_params["num_message_bits"]
        # The chip reads the highest bit of a graded spike as its sign.
        signed = data - (data >> (bits - 1) << bits) if bits else data
        if self.late:
            self.waiting.append(signed)
        else:
            self.out.send(signed)


@implements(proc=PyToNxAdapter, protocol=LoihiProtocol)
@requires(CPU)
@tag("fixed_pt")
class PyToNxModel(_IntoModel):
    """Runs PyToNxAdapter."""


@implements(proc=PyToN3ConvAdapter, protocol=LoihiProtocol)
@requires(CPU)
@tag("fixed_pt")
class PyToN3ConvModel(_IntoModel):
    """Runs PyToN3ConvAdapter."""


@implements(proc=NxToPyAdapter, protocol=LoihiProtocol)
@requires(CPU)
@tag("fixed_pt")
class NxToPyModel(_AdapterModel):
    """Sends in the step in which it receives."""

    def run_spk(self) -> None:
        """One time step."""
        self.out.send(self.message())
