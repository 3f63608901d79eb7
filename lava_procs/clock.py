"""Where a layer stands in time: k = (time_step − 1 − lag) mod P.

Samples follow each other every P steps. A layer sees sample 0 begin after ``lag`` steps, one per
synapse before it; it computes at k < steps and is silent otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass

from export import ModelError


@dataclass(frozen=True)
class Clock:
    """Lag d, steps T of a sample and period P of a layer."""

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
        """Sample and k at Lava's ``time_step`` (from 1), or None where the layer is silent."""
        sample, k = divmod(time_step - 1 - self.lag, self.period)
        return (sample, k) if sample >= 0 and k < self.steps else None
