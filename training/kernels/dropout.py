"""Dropout of spikes whose masks are a function of the place, drawn inside the fused kernels.

A mask of the paper's first layer has 50,000 values a sample: drawing them one after the other from
torch's generator took as long as the layer itself.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch

from training.kernels import scans


class Dropout(NamedTuple):
    """Probability of dropping a spike, whether at all steps at once, and what picks the mask."""

    probability: float
    tied: bool
    key: int

    @classmethod
    def draw(cls, probability: float, tied: bool) -> Dropout | None:
        """A mask picked by torch's generator; None if nothing is to be dropped."""
        if probability == 0:
            return None
        return cls(probability, tied, int(torch.randint(2**63 - 1, ())))

    @property
    def scale(self) -> float:
        """Value of a spike that stays, so that the mean does."""
        return 1 / (1 - self.probability)

    @property
    def _below(self) -> np.uint64:
        return np.uint64(self.probability * 2**32)

    def mark(self, flags: torch.Tensor, first: int) -> None:
        """Flag what is dropped in a block (group, time, sample, neuron) from sample ``first``."""
        scans.drop(flags.numpy(), first, self.tied, np.uint64(self.key), self._below)

    def mask(self, batch: int, neurons: int, steps: int) -> torch.Tensor:
        """Factors 0 or ``scale`` of the spikes (batch, neuron, time)."""
        rows = np.arange(batch * steps, dtype=np.uint64).reshape(batch, 1, steps)
        if self.tied:
            rows = rows[..., :1].repeat(steps, -1)
        places = rows * np.uint64(neurons) + np.arange(neurons, dtype=np.uint64)[:, None]
        kept = scans.hashed(places, np.uint64(self.key)) >= self._below
        return torch.from_numpy(kept * self.scale)
