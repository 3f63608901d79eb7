"""Options and delays that all CE-LIF blocks share; this module needs no lava-dl."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from training.slayer.neuron import Neuron
from training.support import checks

DELAY_MAX = 62
"""SLAYER's longest axonal delay."""

Delays = bool | int | Sequence[int] | torch.Tensor


class BlockBase:
    """Base class of the blocks: refuses unsupported options and makes neurons and delays."""

    neuron: Neuron
    delay_type: Any
    """SLAYER's class of axonal delays, set by the module that imports lava-dl."""

    @property
    def _owner(self) -> str:
        return f"block.{type(self).__name__}"

    def _refuse(self, count_log: bool) -> None:
        if count_log:
            raise ValueError(
                f"{self._owner} count_log: expected False, got {count_log}; it fails in SLAYER, "
                "too: take the mean of the output"
            )

    def _require_widths(self, **widths: object) -> None:
        for name, width in widths.items():
            if not isinstance(width, int):
                raise ValueError(
                    f"{self._owner} {name}: expected a whole number, got {width!r}; flatten images "
                    "before a dense block, pass them as they are to block.Conv"
                )

    def _delay(self, delay: Delays, rows: int) -> Any:
        """Make SLAYER's axonal delay: learnable, or fixed at the given steps."""
        if delay is False or delay is None:
            return None
        made = self.delay_type(max_delay=DELAY_MAX)
        if delay is True:
            return made
        steps = checks.whole_steps(f"{self._owner} delay", delay, rows, DELAY_MAX)
        made.delay = torch.nn.Parameter(steps, requires_grad=False)
        made.init = True
        return made

    def _complete(self: Any, kind: Any, rows: int, pre_hook_fx: Any, delay: Any) -> None:
        """Make neurons, synapse and delay from the arguments that SLAYER's base class collected."""
        self.neuron = Neuron.of(self._owner, self.neuron_params, rows)
        hook = pre_hook_fx or self.neuron.quantize_weight
        self.synapse = kind(**{**self.synapse_params, "pre_hook_fx": hook})
        self.delay = self._delay(delay, rows)
        del self.synapse_params, self.neuron_params
