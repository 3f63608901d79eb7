"""What CE-LIF blocks share beside SLAYER's own: options and delays. Needs no lava-dl."""

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
    """What the blocks share beside SLAYER's own: options, and delays."""

    neuron: Neuron
    delay_type: Any
    """SLAYER's axonal delay, which only the module that knows lava-dl can name."""

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
        """SLAYER's axonal delay: learnable, or fixed at what is given."""
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
        """Make what SLAYER's base class has only collected the arguments of."""
        self.neuron = Neuron.of(self._owner, self.neuron_params, rows)
        hook = pre_hook_fx or self.neuron.quantize_weight
        self.synapse = kind(**{**self.synapse_params, "pre_hook_fx": hook})
        self.delay = self._delay(delay, rows)
        del self.synapse_params, self.neuron_params
