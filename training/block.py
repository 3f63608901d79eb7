"""CE-LIF blocks for lava-dl: they stand in a stack of SLAYER blocks like any other.

The only module of this room that needs lava-dl, which :mod:`lava_procs.import_lava` prepares.
"""

from __future__ import annotations

from typing import Any

import torch

from lava_procs import import_lava as import_lava  # mends Lava, so it has to come first

# isort: split
from lava.lib.dl.slayer.axon import Delay
from lava.lib.dl.slayer.block import base
from lava.lib.dl.slayer.synapse import layer as synapse

from training.slayer.delays import BlockBase, Delays
from training.slayer.neuron import Neuron
from training.slayer.readout import Readout

__all__ = ["Conv", "Dense", "Flatten", "Input", "Pool", "Readout", "Recurrent"]

Pair = int | tuple[int, int]


class _Block(BlockBase):
    delay_type = Delay

    def export_hdf5(self, handle: Any) -> None:
        """Write the block as a netx layer that owns its TE table.

        The number of fractional bits is the largest that is proven safe for spiking input;
        :func:`export.to_netx` can do better, because it sees the whole network and data.
        """
        from export.exporter import write_block  # against the arrows, for this call only

        write_block(self, handle)


class Dense(_Block, base.AbstractDense):
    """Fully connected CE-LIF block, with SLAYER's signature.

    Parameters
    ----------
    neuron_params
        Arguments of :class:`training.slayer.neuron.Neuron`; ``steps`` is required. The dictionary
        is not changed.
    in_neurons, out_neurons, weight_scale, weight_norm, mask
        As in SLAYER.
    pre_hook_fx
        Transform of the weights; by default the neuron's own quantisation. It must accept
        ``descale=True``.
    delay
        Axonal delay: True for SLAYER's learnable one, or the steps by which the output is late,
        one for all neurons or one each.
    delay_shift
        Whether the output moves one step later, SLAYER's habit. The default is the paper's
        timing, without.
    count_log
        SLAYER's event count; refused.
    """

    def __init__(
        self,
        neuron_params: dict[str, Any],
        in_neurons: int,
        out_neurons: int,
        weight_scale: float = 1,
        weight_norm: bool = False,
        pre_hook_fx: Any = None,
        delay: Delays = False,
        delay_shift: bool = False,
        mask: torch.Tensor | None = None,
        count_log: bool = False,
    ) -> None:
        self._refuse(count_log)
        self._require_widths(in_neurons=in_neurons, out_neurons=out_neurons)
        if mask is not None and weight_norm:
            raise ValueError(
                f"{self._owner} mask: expected none with weight_norm, which undoes it in SLAYER's "
                "forward pass, got one"
            )
        super().__init__(
            neuron_params, in_neurons, out_neurons, weight_scale, weight_norm,
            delay_shift=delay_shift, mask=mask,
        )  # fmt: skip
        self._complete(synapse.Dense, out_neurons, pre_hook_fx, delay)


class Recurrent(_Block, base.AbstractRecurrent):
    """Fully connected CE-LIF block that feeds its spikes back, with SLAYER's signature.

    Parameters
    ----------
    neuron_params, in_neurons, out_neurons, weight_scale, weight_norm, pre_hook_fx
        As in :class:`Dense`. The neuron's own quantisation gives both weights one scale.
    requires_grad
        Whether the recurrent weights are learnt.
    delay, delay_shift, count_log
        As in :class:`Dense`; what is fed back is always one step late, not more.
    """

    def __init__(
        self,
        neuron_params: dict[str, Any],
        in_neurons: int,
        out_neurons: int,
        weight_scale: float = 1,
        weight_norm: bool = False,
        pre_hook_fx: Any = None,
        requires_grad: bool = True,
        delay: Delays = False,
        delay_shift: bool = False,
        count_log: bool = False,
    ) -> None:
        self._refuse(count_log)
        self._require_widths(in_neurons=in_neurons, out_neurons=out_neurons)
        # A copy, because SLAYER writes into the dictionary that it gets.
        super().__init__(
            dict(neuron_params), in_neurons, out_neurons, weight_scale, weight_norm,
            requires_grad=requires_grad, delay_shift=delay_shift,
        )  # fmt: skip
        self.persistent_state = False
        self.neuron = Neuron.of(self._owner, neuron_params, out_neurons)
        hook = pre_hook_fx or self._quantize
        self.input_synapse = synapse.Dense(**{**self.synapse_params, "pre_hook_fx": hook})
        self.recurrent_synapse = synapse.Dense(**{**self.recurrent_params, "pre_hook_fx": hook})
        for name, parameter in self.recurrent_synapse.named_parameters():
            parameter.requires_grad_(requires_grad and name != "bias")
        self.delay = self._delay(delay, out_neurons)
        del self.synapse_params, self.recurrent_params, self.neuron_params

    def _quantize(self, weight: torch.Tensor, descale: bool = False) -> torch.Tensor:
        synapses = (self.input_synapse, self.recurrent_synapse)
        largest = max(float(s.weight.detach().abs().max()) for s in synapses)
        return self.neuron.quantize_weight(weight, descale, largest)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Spikes (batch, neuron, time) of an input (batch, channel, time)."""
        for made in (self.input_synapse, self.recurrent_synapse):
            # Both need the other's present weights, which weight normalisation makes in a hook.
            for hook in made._forward_pre_hooks.values():
                hook(made, ())
        own = self.recurrent_synapse.pre_hook_fx(self.recurrent_synapse.weight)
        x = self.neuron(self.input_synapse(x), own.flatten(1))
        if self.delay_shift:
            x = base.step_delay(self, x)
        return x if self.delay is None else self.delay(x)


class Conv(_Block, base.AbstractConv):
    """Convolutional CE-LIF block, with SLAYER's signature.

    Its input is (batch, channel, row, column, time). All pixels of an output channel share its TE
    and its bias.

    Parameters
    ----------
    neuron_params, weight_scale, weight_norm, pre_hook_fx, delay, delay_shift, count_log
        As in :class:`Dense`; delays are one per output channel.
    in_features, out_features, kernel_size, stride, padding, dilation, groups
        As in SLAYER; pairs are (row, column).
    """

    def __init__(
        self,
        neuron_params: dict[str, Any],
        in_features: int,
        out_features: int,
        kernel_size: Pair,
        stride: Pair = 1,
        padding: Pair = 0,
        dilation: Pair = 1,
        groups: int = 1,
        weight_scale: float = 1,
        weight_norm: bool = False,
        pre_hook_fx: Any = None,
        delay: Delays = False,
        delay_shift: bool = False,
        count_log: bool = False,
    ) -> None:
        self._refuse(count_log)
        super().__init__(
            neuron_params, in_features, out_features, kernel_size, stride, padding, dilation,
            groups, weight_scale, weight_norm, delay_shift=delay_shift,
        )  # fmt: skip
        self._complete(synapse.Conv, out_features, pre_hook_fx, delay)
        self.input_shape: torch.Size | None = None

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Spikes (batch, channel, row, column, time); remembers the images' shape for export."""
        self.input_shape = x.shape[1:4]
        return super().forward(x)


class Pool(Conv):
    """Pooling as a strided convolution: each neuron receives the mean of its window.

    Parameters
    ----------
    neuron_params, delay, delay_shift
        As in :class:`Conv`.
    features
        Number of channels, which SLAYER finds out later; TE needs to know.
    kernel_size, stride, padding, dilation, weight_scale
        As in SLAYER; the weights are weight_scale / window and are not learnt.
    """

    def __init__(
        self,
        neuron_params: dict[str, Any],
        features: int,
        kernel_size: Pair,
        stride: Pair | None = None,
        padding: Pair = 0,
        dilation: Pair = 1,
        weight_scale: float = 1,
        delay: Delays = False,
        delay_shift: bool = False,
    ) -> None:
        super().__init__(
            neuron_params, features, features, kernel_size, stride or kernel_size, padding,
            dilation, features, delay=delay, delay_shift=delay_shift,
        )  # fmt: skip
        weight = self.synapse.weight
        weight.data.fill_(weight_scale / weight[0].numel())
        weight.requires_grad_(False)


class Input(_Block, base.AbstractInput):
    """A CE-LIF neuron for each input, with SLAYER's signature; it need not be the first block.

    Parameters
    ----------
    neuron_params
        As in :class:`Dense`, and ``neurons``, the number of channels.
    weight, bias
        As in SLAYER: one learnable factor and one learnable offset for all; None for none.
    delay_shift, count_log
        As in :class:`Dense`.
    """

    def __init__(
        self,
        neuron_params: dict[str, Any],
        weight: float | None = None,
        bias: float | None = None,
        delay_shift: bool = False,
        count_log: bool = False,
    ) -> None:
        self._refuse(count_log)
        super().__init__(neuron_params, weight, bias, delay_shift)
        self.neuron = Neuron.of(self._owner, neuron_params)
        del self.neuron_params

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Spikes, of the input's shape."""
        if self.weight is not None:
            x = x * self.neuron.quantize_weight(self.weight)
        if self.bias is not None:
            x = x + self.bias
        x = self.neuron(x)
        return base.step_delay(self, x) if self.delay_shift else x


class Flatten(base.AbstractFlatten):
    """Images (batch, channel, row, column, time) as vectors (batch, neuron, time)."""
