"""Neurons on the host CPU behind synapses on the chip.

::

    chip:  synapse ── GradedVec ── NxToPyAdapter
    host:                                └─ SignExtend ── neurons ── PyToNxAdapter
    chip:                                                              └─ next synapse

A synapse adds up in the core of the neurons behind it, so something on the chip has to take the
sums and send them out: GradedVec does nothing else.
"""

from __future__ import annotations

from typing import Any

from lava.magma.core.decorator import implements, requires, tag
from lava.magma.core.model.sub.model import AbstractSubProcessModel
from lava.magma.core.process.ports.ports import InPort, OutPort
from lava.magma.core.process.process import AbstractProcess
from lava.magma.core.resources import CPU
from lava.magma.core.sync.protocols.loihi_protocol import LoihiProtocol
from lava.proc.graded.process import GradedVec

from export.loihi2 import STATE_BITS
from lava_procs.processes.sign_extend.process import SignExtend
from lava_procs.sampled import DeletableProcess


class Hosted(DeletableProcess):
    """A layer's neurons on the host, with the adapters to them and back to the chip.

    Parameters
    ----------
    neuron
        Process with ``a_in`` and ``s_out``, which runs on the host.
    adapters
        Lava's ``lava.proc.embedded_io.spike``.
    returns
        Whether the neurons' spikes go back to the chip.
    """

    def __init__(self, *, neuron: AbstractProcess, adapters: Any, returns: bool):
        super().__init__(name=neuron.name)
        shape = neuron.a_in.shape
        self.a_in = InPort(shape=shape)
        self.s_out = OutPort(shape=shape)
        self.sums = GradedVec(shape=shape, vth=0, exp=0)
        self.leave = adapters.NxToPyAdapter(shape=shape, num_message_bits=STATE_BITS)
        self.signed = SignExtend(shape=shape, bits=STATE_BITS)
        self.neuron = neuron
        self.a_in.connect(self.sums.a_in)
        self.sums.s_out.connect(self.leave.inp)
        self.leave.out.connect(self.signed.a_in)
        self.signed.s_out.connect(neuron.a_in)
        if returns:
            self.back = adapters.PyToNxAdapter(shape=shape)
            neuron.s_out.connect(self.back.inp)
            self.back.out.connect(self.s_out)
        else:
            neuron.s_out.connect(self.s_out)

    def _post_init(self) -> None:
        name = self.name
        super()._post_init()
        self.neuron.name = name  # Lava has named it after the attribute


@implements(proc=Hosted, protocol=LoihiProtocol)
@requires(CPU)
@tag("fixed_pt")
class PyHostedModel(AbstractSubProcessModel):
    """Does nothing: the Process has made its parts already, as lava-dl's blocks do."""

    def __init__(self, proc: AbstractProcess):
        pass
