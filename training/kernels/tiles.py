"""Blocks of samples that go through the fused layers together, and memory for them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import torch

from training.kernels.pool import pool

GROUPS = 4
"""Groups of samples in a block, each with sums of its own of the gradients of TE and biases: part
of the result's bits, so it must not follow the number of threads."""
# Samples that advance together; see scans. Four groups of four samples, by the paper's 784 steps
# of 152 neurons, take 8 MB.
_SAMPLES = 4


class Block(NamedTuple):
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


def blocks(batch: int) -> Iterator[Block]:
    """The blocks of a batch; a last one takes the samples that fill no group."""
    size = min(_SAMPLES, max(1, batch // GROUPS))
    whole = batch // size
    for group in range(0, whole, GROUPS):
        yield Block(group * size, min(GROUPS, whole - group), size)
    if whole * size < batch:
        yield Block(whole * size, 1, batch - whole * size)


@dataclass(frozen=True)
class Room:
    """Memory for one layer's values, of a batch or of one block, used anew for every block."""

    values: torch.Tensor
    steps: int
    anew: bool = False

    @classmethod
    def of_a_batch(cls, batch: int, steps: int, neurons: int, dtype: torch.dtype) -> Room:
        """For all samples at once."""
        return cls(pool.empty((batch * steps * neurons,), dtype), steps)

    @classmethod
    def of_a_block(cls, batch: int, steps: int, neurons: int, dtype: torch.dtype) -> Room:
        """For one block after the other."""
        samples = max(block.groups * block.size for block in blocks(batch))
        return cls(pool.empty((samples * steps * neurons,), dtype), steps, anew=True)

    def at(self, block: Block, neurons: int) -> torch.Tensor:
        """The block's values, (group, time, sample, neuron)."""
        one, first = self.steps * neurons, 0 if self.anew else block.first
        part = self.values[first * one : (first + block.groups * block.size) * one]
        return part.view(block.groups, self.steps, block.size, neurons)
