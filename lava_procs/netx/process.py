"""netx networks with CE-LIF layers.

Stock files load exactly as lava-dl loads them. A file of ours, known by its ``/celif`` group, is
validated first; its layers are then built from the validated integers, and the moment at which
each one resets comes from the file instead of being counted.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from lava.lib.dl.netx import hdf5
from lava.lib.dl.netx.blocks.models import AbstractPyBlockModel
from lava.lib.dl.netx.blocks.process import Dense
from lava.magma.core.decorator import implements, tag
from lava.magma.core.process.process import AbstractProcess
from lava.magma.core.sync.protocols.loihi_protocol import LoihiProtocol
from lava.proc.lif.process import LIFReset

from export import FixedNetwork, ModelError, read_netx
from export.loihi2 import CURRENT_SHIFT, SYNAPSE_SHIFT, WEIGHT_BITS
from export.model import CubaLayer, Layer, ReadoutLayer
from lava_procs.celif.process import CELIF
from lava_procs.clock import Clock, clocks
from lava_procs.files import is_ours
from lava_procs.readout.process import Readout

SUM_BITS = 32

# Dense keeps 8 bits of a mixed-sign matrix by clearing the lowest bit of a 9-bit range. Weights of
# twice the mantissa survive that, and its exponent takes the factor out again.
DENSE_EXP = SYNAPSE_SHIFT


class Block(Dense):
    """netx's Dense block, which can also run in floats."""


class Network(hdf5.Network):
    """The network of a netx file, stock or with CE-LIF layers.

    Parameters
    ----------
    net_config
        The file.
    num_layers, skip_layers, input_shape, spike_exp, sparse_fc_layer
        As in lava-dl. Skipping layers of a file of ours, feed what the last one skipped fires.
    input_message_bits
        As in lava-dl; defaults to the file's input encoding if it is ours.
    reset_interval
        As in lava-dl. In a file of ours, the period at which samples arrive; defaults to the
        sample's steps and the file's gap.
    reset_offset
        As in lava-dl. A file of ours knows when its layers reset.
    steps
        Steps of a sample, no more than the file's, which they default to. Files of ours only.
    probe
        Layer i of a file of ours writes its traces to the prefix ``<probe><i>``, see
        :mod:`lava_procs.probes`.
    late
        Steps by which samples reach every layer, or each of the layers, later than the file says:
        what adapters take on the way to a chip. Files of ours only.
    host
        Puts a Process of the same ports around a CELIF or Readout; see
        :mod:`lava_procs.hosted.process`.

    Attributes
    ----------
    fixed
        The network in integers; None for a stock file.
    clocks
        Of the layers of a file of ours, in order.
    """

    # Lava stops a Process when it is deleted, also one whose arguments were refused.
    _runtime: Any = None

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
    ):
        path = os.fspath(net_config)
        ours = is_ours(path, num_layers)
        self.fixed: FixedNetwork | None = read_netx(path) if ours else None
        self.clocks: list[Clock] = []
        self._probe, self._host = probe, host
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
            # lava-dl keeps the file open, which forbids writing it anew. Stock networks stay as
            # they are: their users read net_config afterwards.
            if ours and hasattr(self, "net_config"):
                self.net_config.f.close()

    def _create(self) -> list[AbstractProcess]:
        layers = super()._create()
        if not layers:  # lava-dl would fail at the first of them
            count = len(self.net_config["layer"])
            self.net_config.f.close()
            raise ModelError(
                f"{self.filename}: expected num_layers and skip_layers to leave some of its "
                f"{count} layers, got num_layers={self.num_layers}, "
                f"skip_layers={self.skip_layers}; keep at least one"
            )
        return layers

    def create_dense(
        self,
        layer_config: Any,
        input_message_bits: int = 0,
        reset_interval: int | None = None,
        reset_offset: int = 0,
        spike_exp: int = 6,
        sparse_synapse: bool = False,
        rec: bool = False,
    ) -> tuple[AbstractProcess, str]:
        """Create a layer; an instance method, which lava-dl's own code calls as one."""
        if self.fixed is None:
            return super().create_dense(
                layer_config,
                input_message_bits=input_message_bits,
                reset_interval=reset_interval,
                reset_offset=reset_offset,
                spike_exp=spike_exp,
                sparse_synapse=sparse_synapse,
                rec=rec,
            )
        i = int(layer_config.f.name.rpartition("/")[2])
        layer = self.fixed.all_layers[i]
        factor = 0 if isinstance(layer, CubaLayer) else DENSE_EXP
        block = Block(
            shape=(layer.neurons,),
            neuron_params=self._neuron(i, layer),
            weight=layer.weight.astype(np.int32) << factor,
            num_weight_bits=WEIGHT_BITS,
            weight_exponent=-factor,
            sparse_synapse=sparse_synapse,
            input_message_bits=input_message_bits,
        )
        # For errors: Lava has named them after the attributes that hold them.
        block.synapse.name, block.neuron.name = f"{layer.name} synapse", layer.name
        return block, self._table_str(
            type_str=layer.kind.title(), width=1, height=1, channel=layer.neurons
        )

    def _neuron(self, i: int, layer: Layer) -> dict[str, Any]:
        """The block's ``neuron_params``: a factory, and the bits of what it sends."""
        clock = self.clocks[i]
        if isinstance(layer, CubaLayer):
            return {
                "neuron_proc": LIFReset,
                "num_message_bits": 0,
                "du": layer.du,
                "dv": layer.dv,
                "vth": layer.vth,
                "bias_mant": layer.bias_mant,
                "bias_exp": CURRENT_SHIFT,
                "reset_interval": clock.period,
                "reset_offset": clock.lag + 1,
            }
        assert self.fixed is not None
        timing = {
            "lag": clock.lag,
            "steps": clock.steps,
            "period": clock.period,
            "ignore_first": i > 0 and self.fixed.all_layers[i - 1].delay_shift,
            "dense_exp": DENSE_EXP,
            "probe": None if self._probe is None else f"{self._probe}{i}",
        }

        def neuron(shape: tuple[int, ...]) -> AbstractProcess:
            kind = Readout if isinstance(layer, ReadoutLayer) else CELIF
            process = kind.from_layer(layer, **timing)  # type: ignore[arg-type]
            return process if self._host is None else self._host(process)

        bits = SUM_BITS if isinstance(layer, ReadoutLayer) else 0
        return {"neuron_proc": neuron, "num_message_bits": bits}


@implements(proc=Block, protocol=LoihiProtocol)
@tag("floating_pt")
class PyBlockModel(AbstractPyBlockModel):
    """Lets a block of ours run by its own name, in either arithmetic."""


@implements(proc=Network, protocol=LoihiProtocol)
@tag("floating_pt")
class PyNetworkModel(AbstractPyBlockModel):
    """Lets ``run`` be called on the network itself."""
