"""A layer of a netx network: synapses, neurons, and the shapes that netx gives its ports."""

from __future__ import annotations

from lava.lib.dl.netx.blocks.models import AbstractPyBlockModel
from lava.magma.core.decorator import implements, tag
from lava.magma.core.process.ports.ports import InPort, OutPort
from lava.magma.core.process.process import AbstractProcess
from lava.magma.core.sync.protocols.loihi_protocol import LoihiProtocol

from export.model.layer import Layer
from lava_procs.sampled import DeletableProcess
from lava_procs.synapse_choice import Synapse

_REVERSED = [2, 1, 0]


class NetxLayer(DeletableProcess):
    """Wires a layer's parts; outside, images are (width, height, channel) as in lava-dl.

    Parameters
    ----------
    layer
        The layer that the parts were built from.
    synapse, own
        Synapses from the layer before and, in a recurrent layer, from the layer itself.
    neuron
        Process with ``a_in`` and ``s_out``, whose neurons stand in a row.
    output_message_bits
        Bits of the messages that it sends; 0 for spikes.
    """

    def __init__(
        self,
        *,
        layer: Layer,
        synapse: Synapse,
        own: AbstractProcess | None,
        neuron: AbstractProcess,
        output_message_bits: int,
    ):
        super().__init__(name=layer.name)
        self.synapse, self.neuron = synapse.process, neuron
        self.output_message_bits = output_message_bits
        image = layer.geometry is not None
        inputs = layer.geometry.input_shape[::-1] if layer.geometry else (layer.inputs,)
        self.shape = tuple(layer.output_shape[::-1]) if image else (layer.neurons,)
        self.inp, self.out = InPort(shape=inputs), OutPort(shape=self.shape)
        if synapse.convolves:
            self.inp.connect(self.synapse.s_in)
            self.synapse.a_out.transpose(_REVERSED).flatten().connect(neuron.a_in)
        else:
            inp = self.inp.transpose(_REVERSED).flatten() if image else self.inp
            inp.connect(self.synapse.s_in)
            self.synapse.a_out.connect(neuron.a_in)
        if image:
            neuron.s_out.reshape(tuple(layer.output_shape)).transpose(_REVERSED).connect(self.out)
        else:
            neuron.s_out.connect(self.out)
        if own is not None:
            self.synapse_rec = own
            neuron.s_out.connect(self.synapse_rec.s_in)
            self.synapse_rec.a_out.connect(neuron.a_in)

    def _post_init(self) -> None:
        super()._post_init()
        # Lava has named the parts after the attributes that hold them; errors shall name the layer.
        self.synapse.name, self.neuron.name = f"{self.name} synapse", self.name
        if hasattr(self, "synapse_rec"):
            self.synapse_rec.name = f"{self.name} recurrent synapse"


def connect(before: NetxLayer, after: NetxLayer) -> None:
    """Connect ``before`` to ``after``, flattening images where it takes vectors."""
    out = before.out
    if len(out.shape) == 3 and len(after.inp.shape) == 1:
        out = out.transpose(_REVERSED).flatten()
    elif len(out.shape) == 1 and len(after.inp.shape) == 3:
        out = out.reshape(after.inp.shape[::-1]).transpose(_REVERSED)
    elif out.shape != after.inp.shape:  # as many values in another shape
        flat = out.transpose(_REVERSED).flatten()
        out = flat.reshape(after.inp.shape[::-1]).transpose(_REVERSED)
    out.connect(after.inp)


@implements(proc=NetxLayer, protocol=LoihiProtocol)
@tag("floating_pt")
class PyNetxLayerModel(AbstractPyBlockModel):
    """Lets a layer run by its own name, in either arithmetic."""
