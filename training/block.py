"""CE-LIF blocks for lava-dl: they stand in a stack of SLAYER blocks like any other.

The only module of this room that needs lava-dl.
"""

from __future__ import annotations

import inspect
from typing import Any

import torch
from lava.lib.dl.slayer.block.base import AbstractDense
from lava.lib.dl.slayer.synapse import layer as synapse

from training.neuron import Neuron

__all__ = ["Dense"]


class Dense(AbstractDense):
    """Fully connected CE-LIF block, with SLAYER's signature.

    Parameters
    ----------
    neuron_params
        Arguments of :class:`training.neuron.Neuron`; ``steps`` is required. The dictionary is
        not changed.
    in_neurons, out_neurons, weight_scale, weight_norm, mask
        As in SLAYER.
    pre_hook_fx
        Transform of the weights; by default the neuron's own quantisation. It must accept
        ``descale=True``.
    delay_shift
        Whether the output moves one step later, SLAYER's habit. The default is the paper's
        timing, without.
    delay, count_log
        SLAYER's axonal delay and event count; not supported, and refused.
    """

    def __init__(
        self,
        neuron_params: dict[str, Any],
        in_neurons: int,
        out_neurons: int,
        weight_scale: float = 1,
        weight_norm: bool = False,
        pre_hook_fx: Any = None,
        delay: bool = False,
        delay_shift: bool = False,
        mask: torch.Tensor | None = None,
        count_log: bool = False,
    ) -> None:
        for name, value in (("delay", delay), ("count_log", count_log)):
            if value:
                raise ValueError(
                    f"block.Dense {name}: expected False, got {value}; not supported, leave it out"
                )
        for name, size in (("in_neurons", in_neurons), ("out_neurons", out_neurons)):
            if not isinstance(size, int):
                raise ValueError(
                    f"block.Dense {name}: expected a whole number, got {size!r}; flatten images "
                    "before the block"
                )
        if mask is not None and weight_norm:
            raise ValueError(
                "block.Dense mask: expected none with weight_norm, which undoes it in SLAYER's "
                "forward pass, got one"
            )
        known = [name for name in inspect.signature(Neuron).parameters if name != "neurons"]
        unknown = [name for name in neuron_params if name not in known]
        if unknown:
            raise ValueError(
                f"block.Dense neuron_params: expected {', '.join(known)}, got {unknown[0]!r}; "
                "leave it out"
            )
        if "steps" not in neuron_params:
            raise ValueError(
                "block.Dense neuron_params: expected 'steps', the longest sequence, "
                f"got only {sorted(neuron_params)}; add e.g. 'steps': 100"
            )
        super().__init__(
            neuron_params, in_neurons, out_neurons, weight_scale, weight_norm,
            delay_shift=delay_shift, mask=mask,
        )  # fmt: skip
        self.neuron = Neuron(out_neurons, **neuron_params)
        self.synapse_params["pre_hook_fx"] = pre_hook_fx or self.neuron.quantize_weight
        self.synapse = synapse.Dense(**self.synapse_params)
        del self.synapse_params, self.neuron_params

    def export_hdf5(self, handle: Any) -> None:
        """Write the block as a netx layer that owns its TE table.

        The number of fractional bits is the largest that is proven safe for spiking input;
        :func:`export.to_netx` can do better, because it sees the whole network and data.
        """
        from export.exporter import write_block  # against the arrows, for this call only

        write_block(self, handle)
