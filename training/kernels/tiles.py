"""Tiles, the samples that go through all layers together, and buffers for their values."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import torch

from training.kernels.pool import pool

GROUPS = 4
"""Groups of samples in a tile. Each has its own sums of the gradients of TE and biases: the number
is part of the result's bits and must not depend on the number of threads."""
# Samples of a group, which advance together; see scans. Four groups of four samples, by the
# paper's 784 steps of 152 neurons, take 8 MB.
_SAMPLES = 4
# Of recurrent layers, in a single group: as many rows make one product a step worth its call.
_RECURRENT_SAMPLES = 256


class Tile(NamedTuple):
    """Samples of a batch from ``first``, in ``groups`` of ``size``."""

    first: int
    groups: int
    size: int

    @property
    def samples(self) -> slice:
        """Where the samples are in the batch."""
        return slice(self.first, self.first + self.groups * self.size)

    def rows(self, x: torch.Tensor) -> torch.Tensor:
        """View the tile's part of ``x`` (batch, channel, time) as those of a buffer."""
        samples = x[self.samples].unflatten(0, (self.groups, self.size))
        return samples.permute(0, 3, 1, 2)


def tiles_of(batch: int, recurrent: bool = False) -> Iterator[Tile]:
    """Cut a batch into tiles; a last one takes the samples that fill no group.

    Recurrent layers need one group, whose samples all take part in the product of a step.
    """
    if recurrent:
        for first in range(0, batch, _RECURRENT_SAMPLES):
            yield Tile(first, 1, min(_RECURRENT_SAMPLES, batch - first))
        return
    size = min(_SAMPLES, max(1, batch // GROUPS))
    whole = batch // size
    for group in range(0, whole, GROUPS):
        yield Tile(group * size, min(GROUPS, whole - group), size)
    if whole * size < batch:
        yield Tile(whole * size, 1, batch - whole * size)


@dataclass(frozen=True)
class Buffer:
    """Memory for one layer's values, for a whole batch or for one tile after another."""

    values: torch.Tensor
    steps: int
    reused: bool = False

    @classmethod
    def for_batch(cls, batch: int, steps: int, neurons: int, dtype: torch.dtype) -> Buffer:
        """Allocate memory for all samples at once."""
        return cls(pool.empty((batch * steps * neurons,), dtype), steps)

    @classmethod
    def for_tile(
        cls, batch: int, steps: int, neurons: int, dtype: torch.dtype, recurrent: bool = False
    ) -> Buffer:
        """Allocate memory that each tile of the batch takes over from the one before."""
        samples = max(tile.groups * tile.size for tile in tiles_of(batch, recurrent))
        return cls(pool.empty((samples * steps * neurons,), dtype), steps, reused=True)

    def at(self, tile: Tile, neurons: int) -> torch.Tensor:
        """Return the tile's values, (group, time, sample, neuron)."""
        one, first = self.steps * neurons, 0 if self.reused else tile.first
        part = self.values[first * one : (first + tile.groups * tile.size) * one]
        return part.view(tile.groups, self.steps, tile.size, neurons)
