"""netx networks with CE-LIF layers.

Stock files load exactly as lava-dl loads them. A celif file, known by its ``/celif`` group, is
validated first; its layers are then built from the validated integers, and the step at which each
layer resets is read from the file.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from lava.lib.dl.netx import hdf5
from lava.lib.dl.netx.blocks.models import AbstractPyBlockModel
from lava.magma.core.decorator import implements, tag
from lava.magma.core.process.process import AbstractProcess
from lava.magma.core.sync.protocols.loihi_protocol import LoihiProtocol

from export import FixedNetwork, ModelError, read_netx
from export.model.layer import Layer
from export.netx.names import PAIRS
from lava_procs.clock import Clock, clocks
from lava_procs.netx_kind import is_ours
from lava_procs.neuron_processes import process_for
from lava_procs.processes.layer.process import NetxLayer, connect
from lava_procs.sampled import DeletableProcess
from lava_procs.synapse_choice import input_synapse, own_synapse


class Network(DeletableProcess, hdf5.Network):
    """The network of a netx file, stock or with CE-LIF layers.

    Parameters
    ----------
    net_config
        The file.
    num_layers, skip_layers, input_shape, spike_exp, sparse_fc_layer
        As in lava-dl. In celif files only layers with neurons count; when layers are skipped, feed
        the spikes of the last skipped one.
    input_message_bits
        As in lava-dl; in a celif file it defaults to the file's input encoding.
    reset_interval
        As in lava-dl. In a celif file, the period at which samples arrive; it defaults to the
        sample's steps plus the file's gap.
    reset_offset
        As in lava-dl. A celif file knows when its layers reset.
    steps
        Steps of a sample, by default and at most the file's. For celif files only.
    probe
        Prefix of trace files: layer i of a celif file writes to ``<probe><i>``, see
        :mod:`lava_procs.probes`.
    late
        Steps by which samples reach every layer, or each of the layers, later than the file says:
        the time that adapters to a chip take. For celif files only.
    host
        Puts a Process of the same ports around a CELIF or Readout; see
        :mod:`lava_procs.processes.hosted.process`.
    stock_neurons
        Run CUBA layers as Lava's LIFReset, which has an on-chip model but is not silent between
        samples, instead of :class:`lava_procs.CUBA`, and recurrent layers by synapses that are
        right in fixed point only. For celif files only.

    Attributes
    ----------
    fixed
        The network in integers; None for a stock file.
    clocks
        Clocks of the layers of a celif file, in order.
    """

    def __init__(
        self,
        net_config: str | os.PathLike[str],
        num_layers: int | None = None,
        skip_layers: int = 0,
        input_message_bits: int | None = None,
        input_shape: tuple[int, ...] | None = None,
        reset_interval: int | None = None,
        reset_offset: int = 0,
        spike_exp: int = 6,
        sparse_fc_layer: bool = False,
        *,
        steps: int | None = None,
        probe: str | None = None,
        late: int | Sequence[int] = 0,
        host: Callable[[AbstractProcess], AbstractProcess] | None = None,
        stock_neurons: bool = False,
    ):
        path = os.fspath(net_config)
        ours = is_ours(path, num_layers)
        self.fixed: FixedNetwork | None = read_netx(path) if ours else None
        self.clocks: list[Clock] = []
        self._probe, self._host, self._stock = probe, host, stock_neurons
        if self.fixed is not None:
            self.clocks = clocks(self.fixed, steps, reset_interval, reset_offset, skip_layers, late)
            if input_message_bits is None:
                input_message_bits = self.fixed.encoding.message_bits
        elif steps is not None or probe is not None:
            raise ModelError(
                f"{path}: steps and probe are for files that export.to_netx wrote, "
                "found a stock netx file"
            )
        try:
            super().__init__(
                net_config=path,
                num_layers=num_layers,
                skip_layers=skip_layers,
                input_message_bits=input_message_bits or 0,
                input_shape=input_shape,
                reset_interval=reset_interval,
                reset_offset=reset_offset,
                spike_exp=spike_exp,
                sparse_fc_layer=sparse_fc_layer,
            )
        finally:
            # lava-dl keeps the file open, which forbids writing it again. Stock networks stay as
            # they are: their users read net_config afterwards.
            if ours and hasattr(self, "net_config"):
                self.net_config.f.close()

    def _create(self) -> list[AbstractProcess]:
        layers = super()._create() if self.fixed is None else self._blocks()
        if not layers:  # lava-dl would fail at the first of them
            count = len(self.net_config["layer"])
            self.net_config.f.close()
            raise ModelError(
                f"{self.filename}: expected num_layers and skip_layers to leave some of its "
                f"{count} layers, got num_layers={self.num_layers}, "
                f"skip_layers={self.skip_layers}; keep at least one"
            )
        return layers

    def _blocks(self) -> list[AbstractProcess]:
        """Build and connect the layers of a celif file, and the table that lava-dl prints."""
        assert self.fixed is not None
        everything = self.fixed.all_layers
        end = len(everything) if self.num_layers is None else self.num_layers
        blocks: list[NetxLayer] = []
        bits = self.input_message_bits
        lines = [self._table_str(header=True)]
        for i, layer in enumerate(everything[:end]):
            if i >= self.skip_layers:
                blocks.append(self._block(i, bits))
                if len(blocks) > 1:
                    connect(blocks[-2], blocks[-1])
                lines.append(self._line(layer))
            bits = process_for(layer).message_bits
        self.net_str = "\n".join(lines)
        return blocks

    def _line(self, layer: Layer) -> str:
        shape, g = layer.output_shape, layer.geometry
        pairs: dict[str, Any] = {}
        if g is not None:
            pairs = {name: np.array(getattr(g, name)) for name in PAIRS}
            pairs |= {"kernel": np.array(layer.weight.shape[2:]), "groups": np.array(g.groups)}
        return self._table_str(
            type_str=layer.kind.title(),
            width=shape.width,
            height=shape.height,
            channel=shape.channels,
            delay=layer.delay is not None,
            **pairs,
        )

    def _block(self, i: int, message_bits: int) -> NetxLayer:
        """Build layer i of a celif file; its inputs have ``message_bits`` bits."""
        assert self.fixed is not None
        layer = self.fixed.all_layers[i]
        before = self.fixed.all_layers[i - 1] if i else None
        code = self.fixed.encoding
        input_range = code.range if before is None else before.output_range
        delay = None
        if before is not None and before.delay is not None and before.delay.any():
            delay = before.per_neuron(before.delay)
        input_max = max(map(abs, input_range))
        synapse = input_synapse(layer, input_max, message_bits, delay, self.sparse_fc_layer)
        own = None
        if layer.weight_rec is not None:
            own = own_synapse(layer, self.sparse_fc_layer, fixed_only=self._stock)
        neuron = self._neuron(i, layer, synapse.dense_exp)
        bits = process_for(layer).message_bits
        return NetxLayer(
            layer=layer, synapse=synapse, own=own, neuron=neuron, output_message_bits=bits
        )

    def _neuron(self, i: int, layer: Layer, dense_exp: int) -> AbstractProcess:
        """Build the neurons of layer i."""
        assert self.fixed is not None
        clock, kind = self.clocks[i], process_for(layer)
        stock = kind.stock(layer, clock) if self._stock else None
        if stock is not None:
            return stock
        # A shift would take what a stock LIF fires after a sample's end into the next sample.
        before = self.fixed.all_layers[i - 1] if i else None
        process = kind.from_layer(
            layer,
            lag=clock.lag,
            steps=clock.steps,
            period=clock.period,
            ignore_first=self._stock and before is not None and before.delay_shift,
            dense_exp=dense_exp,
            probe=None if self._probe is None else f"{self._probe}{i}",
        )
        return process if self._host is None else self._host(process)


@implements(proc=Network, protocol=LoihiProtocol)
@tag("floating_pt")
class PyNetworkModel(AbstractPyBlockModel):
    """Lets ``run`` be called on the network itself."""
