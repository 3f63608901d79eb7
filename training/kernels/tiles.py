"""Blocks of samples that go through the fused layers together, and memory for them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import torch

from training.kernels.pool import pool

GROUPS = 4
"""Groups of samples in a tile, each with sums of its own of the gradients of TE and biases: part
of the result's bits, so it must not follow the number of threads."""
# Samples that advance together; see scans. Four groups of four samples, by the paper's 784 steps
# of 152 neurons, take 8 MB.
_SAMPLES = 4


class Tile(NamedTuple):
    """Samples of a batch from ``first``, in ``groups`` of ``size``."""

    first: int
    groups: int
    size: int

    @property
    def samples(self) -> slice:
        """Where the samples stand in the batch."""
        return slice(self.first, self.first + self.groups * self.size)

    def rows(self, x: torch.Tensor) -> torch.Tensor:
        """The block's part of ``x`` (batch, channel, time), as (group, time, sample, channel)."""
        samples = x[self.samples].unflatten(0, (self.groups, self.size))
        return samples.permute(0, 3, 1, 2)


def tiles_of(batch: int) -> Iterator[Tile]:
    """The blocks of a batch; a last one takes the samples that fill no group."""
    size = min(_SAMPLES, max(1, batch // GROUPS))
    whole = batch // size
    for group in range(0, whole, GROUPS):
        yield Tile(group * size, min(GROUPS, whole - group), size)
    if whole * size < batch:
        yield Tile(whole * size, 1, batch - whole * size)


@dataclass(frozen=True)
class Buffer:
    """Memory for one layer's values, of a batch or of one tile, used anew for every tile."""

    values: torch.Tensor
    steps: int
    reused: bool = False

    @classmethod
    def for_batch(cls, batch: int, steps: int, neurons: int, dtype: torch.dtype) -> Buffer:
        """For all samples at once."""
        return cls(pool.empty((batch * steps * neurons,), dtype), steps)

    @classmethod
    def for_tile(cls, batch: int, steps: int, neurons: int, dtype: torch.dtype) -> Buffer:
        """For one block after the other."""
        samples = max(tile.groups * tile.size for tile in tiles_of(batch))
        return cls(pool.empty((samples * steps * neurons,), dtype), steps, reused=True)

    def at(self, tile: Tile, neurons: int) -> torch.Tensor:
        """The block's values, (group, time, sample, neuron)."""
        one, first = self.steps * neurons, 0 if self.reused else tile.first
        part = self.values[first * one : (first + tile.groups * tile.size) * one]
        return part.view(tile.groups, self.steps, tile.size, neurons)
