"""Where a layer stands in time: k = (time_step − 1 − lag) mod P.

Samples follow each other every P steps. A layer sees sample 0 begin after ``lag`` steps, one per
synapse before it; it computes at k < steps and is silent otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from export import FixedNetwork, ModelError


@dataclass(frozen=True)
class Clock:
    """The lag d of a layer, the steps T of a sample and the period P at which samples follow."""

    lag: int
    steps: int
    period: int

    def __post_init__(self) -> None:
        if self.lag < 0:
            raise ModelError(f"lag: expected 0 or more, got {self.lag}")
        if self.steps < 1:
            raise ModelError(f"steps: expected 1 or more, got {self.steps}")
        if self.period < self.steps:
            raise ModelError(
                f"period: expected at least the sample's {self.steps} steps, got {self.period}"
            )

    def at(self, time_step: int) -> tuple[int, int] | None:
        """Return sample and k at Lava's ``time_step`` (from 1), or None if the layer is silent."""
        sample, k = divmod(time_step - 1 - self.lag, self.period)
        return (sample, k) if sample >= 0 and k < self.steps else None


def clocks(
    fixed: FixedNetwork,
    steps: int | None,
    period: int | None,
    offset: int,
    skip: int,
    late: int | Sequence[int] = 0,
) -> list[Clock]:
    """Return the clock of every layer of a network, from the arguments of a netx network."""
    steps = fixed.steps if steps is None else steps
    if not 1 <= steps <= fixed.steps:
        raise ModelError(
            f"{fixed.path} steps: expected 1..{fixed.steps}, the steps of its TE tables, "
            f"got {steps}"
        )
    shortest = steps + fixed.gap
    period = shortest if period is None else period
    if period < shortest:
        raise ModelError(
            f"{fixed.path} reset_interval: expected at least {shortest}, {steps} steps and a gap "
            f"of {fixed.gap}, got {period}"
        )
    # 1 is what lava-dl needs after a source, and what the file's lags say too.
    if offset not in (0, 1):
        raise ModelError(
            f"{fixed.path} reset_offset: expected none, as the file knows when its layers reset, "
            f"got {offset}"
        )
    # The source stands in for the last layer that is skipped.
    layers = fixed.all_layers
    start = layers[skip - 1].lag if 0 < skip <= len(layers) else 0
    extra = [late] * len(layers) if isinstance(late, int) else late
    return [
        Clock(max(layer.lag - start, 0) + more, steps, period)
        for layer, more in zip(layers, extra, strict=True)
    ]
