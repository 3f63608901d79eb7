"""Forward and backward pass of a stack of layers, one block of samples after the other.

A matrix product, the scan of :mod:`training.kernels.scans`, the next layer's product: currents,
spikes and
their gradients stay in the cache. Where few neurons fire, :mod:`training.kernels.spike_products`
takes the place of
the products with spikes. Both ways give what torch's products would, in another order of sums at
most; which one is taken depends on the spikes alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch

from training.dynamics import Params
from training.kernels import scans, spike_products
from training.kernels.dropout import Dropout
from training.kernels.tiles import GROUPS, Buffer, Tile, tiles_of


def arrays(*tensors: torch.Tensor) -> tuple[np.ndarray, ...]:
    """The tensors as the kernels take them."""
    return tuple(tensor.detach().numpy() for tensor in tensors)


def matrix(x: torch.Tensor) -> torch.Tensor:
    """A block (group, time, sample, neuron) as the rows of a matrix, without a copy."""
    return x.view(-1, x.shape[-1])


def _rate(flags: torch.Tensor) -> float:
    """Firing rate of a tile, from some fifty steps of its first sample."""
    seen = flags[0, :: max(1, flags.shape[1] // 50), 0].numpy()
    return np.count_nonzero(seen & scans.SPIKED) / seen.size


@dataclass(frozen=True)
class LayerStack:
    """What stays the same for all blocks; ``te`` is (time, widest layer).

    The first weight is None if the input is the first layer's current already.
    """

    weights: Sequence[torch.Tensor | None]
    biases: Sequence[torch.Tensor]
    te: torch.Tensor
    p: Params
    batch: int
    dropout: Dropout | None

    @cached_property
    def widths(self) -> list[int]:
        """Neurons of every layer."""
        return [len(bias) for bias in self.biases]

    def number(self, value: float) -> Any:
        """``value`` in the type that the kernels compute in."""
        return self.te.detach().numpy().dtype.type(value)

    def buffer(self) -> Buffer:
        """Memory for one layer's values in a tile."""
        return Buffer.for_tile(self.batch, len(self.te), max(self.widths), self.te.dtype)

    def value(self, i: int) -> float:
        """Of a spike that layer i sends."""
        return self.dropout.scale if i == 0 and self.dropout is not None else 1.0

    def sent(self, i: int, flags: torch.Tensor, out: torch.Tensor) -> torch.Tensor:
        """What layer i sent to the next: its spikes, but for those that dropout took."""
        scans.sent(*arrays(matrix(flags)), self.number(self.value(i)), *arrays(matrix(out)))
        return out


@dataclass(frozen=True)
class SavedStates:
    """V and flags of every layer, for the whole batch or, if nobody will ask, for a tile."""

    v: Sequence[Buffer]
    flags: Sequence[Buffer]

    @classmethod
    def of(cls, stack: LayerStack, whole: bool) -> SavedStates:
        """Buffer for a stack's states."""
        make = Buffer.for_batch if whole else Buffer.for_tile
        shapes = [(stack.batch, len(stack.te), n) for n in stack.widths]
        return cls(
            [make(*shape, stack.te.dtype) for shape in shapes],
            [make(*shape, torch.uint8) for shape in shapes],
        )

    def at(self, i: int, tile: Tile, neurons: int) -> tuple[torch.Tensor, torch.Tensor]:
        """V and flags of layer i in ``tile``."""
        return self.v[i].at(tile, neurons), self.flags[i].at(tile, neurons)


def _first_current(x: torch.Tensor, weight: torch.Tensor | None, out: torch.Tensor) -> None:
    if weight is None:
        out.copy_(x)
    elif weight.shape[1] == 1:  # nothing to sum: the product of each pair
        torch.mul(x, weight.t(), out=out)
    else:
        torch.mm(x.flatten(0, 2), weight.t(), out=matrix(out))


def forward(
    stack: LayerStack, x: torch.Tensor, width: float, kept: SavedStates
) -> Iterator[tuple[Tile, torch.Tensor]]:
    """Spikes of the last layer, tile by tile, in memory that the next block takes."""
    buffers = (stack.buffer(), stack.buffer())
    from_to = [None if w is None else w.detach().t().contiguous() for w in stack.weights]
    for tile in tiles_of(stack.batch):
        spikes, flags = x, None
        for i, (weight, bias) in enumerate(zip(from_to, stack.biases, strict=True)):
            current = buffers[i % 2].at(tile, len(bias))
            if flags is None or weight is None:
                _first_current(tile.rows(x), stack.weights[i], current)
            elif _rate(flags) < spike_products.FORWARD_BELOW:
                value = stack.number(stack.value(i - 1))
                spike_products.product(
                    *arrays(matrix(flags)), value, *arrays(weight, matrix(current))
                )
            else:
                if stack.value(i - 1) != 1:
                    stack.sent(i - 1, flags, spikes)
                torch.mm(matrix(spikes), weight, out=matrix(current))
            v, flags = kept.at(i, tile, len(bias))
            each = scans.share(tile.groups, len(bias))
            given = (*arrays(current, bias, stack.te), stack.p, stack.number(width))
            scans.forward(*given, *arrays(v, flags), each)
            if i == 0 and stack.dropout is not None:
                stack.dropout.mark(flags, tile.first)
            spikes = current
        yield tile, spikes


class Gradients:
    """Sums over the blocks: of TE, biases and sparse products one a group, in a fixed order."""

    def __init__(self, stack: LayerStack) -> None:
        new, pairs = stack.te.new_zeros, zip(stack.widths, stack.widths[1:], strict=False)
        self.te = new((GROUPS, *stack.te.shape))
        self.biases = [new((GROUPS, n)) for n in stack.widths]
        self.weights = [None if w is None else torch.zeros_like(w) for w in stack.weights]
        self._sparse = [new((GROUPS, m, n)) for m, n in pairs]
        self._stack = stack

    def add(
        self, i: int, flags: torch.Tensor, now: torch.Tensor, buffer: Buffer, tile: Tile
    ) -> None:
        """Add a block's share of the gradient of layer i's weights, i > 0.

        ``flags`` are those of the layer before, ``now`` the gradient of layer i's current.
        """
        weight = self.weights[i]
        assert weight is not None
        if _rate(flags) < spike_products.BACKWARD_BELOW:
            given = arrays(flags.flatten(1, 2), now.flatten(1, 2), self._sparse[i - 1])
            spike_products.add_outer(*given, scans.share(tile.groups, now.shape[-1]))
        else:
            spikes = self._stack.sent(i - 1, flags, buffer.at(tile, flags.shape[-1]))
            weight.addmm_(matrix(now).t(), matrix(spikes))

    def of_weights(self) -> list[torch.Tensor | None]:
        """The gradients of all weights."""
        for i, sums in enumerate(self._sparse):
            weight = self.weights[i + 1]
            assert weight is not None
            weight.add_(sums.sum(0).t(), alpha=self._stack.value(i))
        return self.weights


def backward(
    stack: LayerStack, kept: SavedStates, grad: torch.Tensor
) -> Iterator[tuple[Tile, torch.Tensor, Gradients]]:
    """Gradients of the first layer's current, tile by tile, and the sums so far.

    The first layer's weights are left to the caller, who has its input.
    """
    buffers, below, sums = (stack.buffer(), stack.buffer()), stack.buffer(), Gradients(stack)
    depth = len(stack.biases)
    for tile in tiles_of(stack.batch):
        now = buffers[0].at(tile, stack.widths[-1])
        now.copy_(tile.rows(grad))
        for i in reversed(range(depth)):
            v, flags = kept.at(i, tile, stack.widths[i])
            if i == 0 and stack.dropout is not None:
                scale = stack.number(stack.dropout.scale)
                scans.returned(*arrays(matrix(flags)), scale, *arrays(matrix(now)))
            each = scans.share(tile.groups, stack.widths[i])
            given = (*arrays(now, stack.te), stack.p, *arrays(v, flags))
            scans.backward(*given, *arrays(sums.biases[i], sums.te), each)
            weight = stack.weights[i]
            if i == 0 or weight is None:
                break
            _, flags = kept.at(i - 1, tile, stack.widths[i - 1])
            sums.add(i, flags, now, below, tile)
            after = buffers[(depth - i) % 2].at(tile, stack.widths[i - 1])
            torch.mm(matrix(now), weight, out=matrix(after))
            now = after
        yield tile, now, sums
