"""Forward and backward pass of a stack of layers, one tile of samples after the other.

A matrix product, the scan of :mod:`training.kernels.layer_scans`, the next layer's product:
currents, spikes and their gradients stay in the cache. A recurrent layer adds up the weights of its
own spikes at every step of the scan; backwards it has a product at every step, for all samples of
the tile at once. Where few neurons fire, :mod:`training.kernels.spike_products` replaces the other
products with spikes. Both ways give what
torch's products would, up to the order of sums; the choice depends on the spikes alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch

from training.kernels import scans, spike_products
from training.kernels.dropout import Dropout
from training.kernels.layer_scans import Layers, Run, Saved, Scan, Sums, arrays
from training.kernels.scans.row_sums import packed, packed_shape
from training.kernels.tiles import GROUPS, Buffer, Tile, tiles_of


def matrix(x: torch.Tensor) -> torch.Tensor:
    """View a tile (group, time, sample, neuron) as the rows of a matrix."""
    return x.view(-1, x.shape[-1])


def _rate(flags: torch.Tensor) -> float:
    """Estimate the firing rate of a tile from some fifty steps of its first sample."""
    seen = flags[0, :: max(1, flags.shape[1] // 50), 0].numpy()
    return np.count_nonzero(seen & scans.SPIKED) / seen.size


@dataclass(frozen=True)
class LayerStack:
    """What is the same for all tiles.

    The first weight is None if the input is the first layer's current already; ``feedback`` has
    the recurrent weights (to, from) of each layer, or None.
    """

    weights: Sequence[torch.Tensor | None]
    biases: Sequence[torch.Tensor]
    feedback: Sequence[torch.Tensor | None]
    scan: Scan
    layers: Layers
    batch: int
    steps: int
    dropout: Dropout | None

    @cached_property
    def widths(self) -> list[int]:
        """Number of neurons of every layer."""
        return [len(bias) for bias in self.biases]

    @cached_property
    def recurrent(self) -> bool:
        """Whether some layer feeds back to itself."""
        return any(weight is not None for weight in self.feedback)

    def number(self, value: float) -> Any:
        """Return ``value`` in the type that the kernels compute in."""
        return self.biases[0].detach().numpy().dtype.type(value)

    def tiles(self) -> Iterator[Tile]:
        """Cut the batch into tiles."""
        return tiles_of(self.batch, self.recurrent)

    def buffer(self, neurons: int | None = None, dtype: torch.dtype | None = None) -> Buffer:
        """Allocate memory for one layer's values in a tile, of the widest layer by default."""
        shape = (self.batch, self.steps, neurons or max(self.widths))
        return Buffer.for_tile(*shape, dtype or self.biases[0].dtype, self.recurrent)

    def value(self, i: int) -> float:
        """Value of a spike sent by layer i: 1, or the dropout scale."""
        return self.dropout.scale if i == 0 and self.dropout is not None else 1.0

    def sent(self, i: int, flags: torch.Tensor, out: torch.Tensor) -> torch.Tensor:
        """Write what layer i sent to the next one to ``out``: its spikes without dropped ones."""
        scans.sent(*arrays(matrix(flags)), self.number(self.value(i)), *arrays(matrix(out)))
        return out


@dataclass(frozen=True)
class SavedStates:
    """V, flags and, where needed, Θ of every layer, for the whole batch or for one tile."""

    v: Sequence[Buffer]
    flags: Sequence[Buffer]
    theta: Sequence[Buffer | None]

    @classmethod
    def of(cls, stack: LayerStack, whole: bool) -> SavedStates:
        """Allocate memory for a stack's states, of the ``whole`` batch for a backward pass."""
        dtype = stack.biases[0].dtype

        def make(neurons: int, dtype: torch.dtype) -> Buffer:
            if whole:
                return Buffer.for_batch(stack.batch, stack.steps, neurons, dtype)
            return stack.buffer(neurons, dtype)

        needs = [
            whole and stack.scan.saves_theta(stack.layers, i) for i in range(len(stack.biases))
        ]
        return cls(
            [make(n, dtype) for n in stack.widths],
            [make(n, torch.uint8) for n in stack.widths],
            [make(n, dtype) if need else None for n, need in zip(stack.widths, needs, strict=True)],
        )

    def at(self, i: int, tile: Tile, neurons: int) -> Saved:
        """States of layer i in ``tile``."""
        theta = self.theta[i]
        return Saved(
            self.v[i].at(tile, neurons),
            self.flags[i].at(tile, neurons),
            None if theta is None else theta.at(tile, neurons),
        )


def _first_current(x: torch.Tensor, weight: torch.Tensor | None, out: torch.Tensor) -> None:
    if weight is None:
        out.copy_(x)
    elif weight.shape[1] == 1:  # nothing to sum: the product of each pair
        torch.mul(x, weight.t(), out=out)
    else:
        torch.mm(x.flatten(0, 2), weight.t(), out=matrix(out))


def feed_back_in_time(run: Run, grad: torch.Tensor, weight: torch.Tensor | None) -> None:
    """Run a layer's steps backwards; gradients return to spikes by ``weight`` (to, from)."""
    if weight is None:
        return run(0, grad.shape[1])
    steps = grad[0].unbind(0)
    run(len(steps) - 1, len(steps))
    for t in range(len(steps) - 2, -1, -1):
        steps[t].addmm_(steps[t + 1], weight)
        run(t, t + 1)


def forward(
    stack: LayerStack, x: torch.Tensor, saved: SavedStates
) -> Iterator[tuple[Tile, torch.Tensor]]:
    """Yield the spikes of the last layer, tile by tile, in memory that the next tile reuses."""
    buffers = (stack.buffer(), stack.buffer())
    from_to = [None if w is None else w.detach().t() for w in stack.weights]
    feeding = [None if w is None else packed(*arrays(w.t())) for w in stack.feedback]
    blocks: dict[int, np.ndarray] = {}
    for tile in stack.tiles():
        spikes, flags = x, None
        for i, (weight, bias) in enumerate(zip(from_to, stack.biases, strict=True)):
            current = buffers[i % 2].at(tile, len(bias))
            if flags is None or weight is None:
                _first_current(tile.rows(x), stack.weights[i], current)
            elif spike_products.pays(_rate(flags), *weight.shape):
                if i not in blocks:
                    blocks[i] = packed(*arrays(weight))
                value = stack.number(stack.value(i - 1))
                spike_products.product(
                    *arrays(matrix(flags)), value, blocks[i], *arrays(matrix(current))
                )
            else:
                if stack.value(i - 1) != 1:
                    stack.sent(i - 1, flags, spikes)
                torch.mm(matrix(spikes), weight, out=matrix(current))
            states = saved.at(i, tile, len(bias))
            stack.scan.forward(stack.layers, i, current, bias, states, feeding[i])
            flags = states.flags
            if i == 0 and stack.dropout is not None:
                stack.dropout.mark(flags, tile.first)
            spikes = current
        yield tile, spikes


def _unpacked(sums: torch.Tensor, neurons: int) -> torch.Tensor:
    """Add up sums (group, block, input, column) and view them as a weight (neuron, input)."""
    return sums.sum(0).transpose(0, 1).flatten(1)[:, :neurons].t()


class Gradients:
    """Sums over the tiles: of TE, biases and sparse products one per group, in a fixed order."""

    def __init__(self, stack: LayerStack) -> None:
        new, pairs = stack.biases[0].new_zeros, zip(stack.widths, stack.widths[1:], strict=False)
        te, learnt = stack.layers.te, stack.layers.learnt
        self.te = None if te is None else new((GROUPS, *te.shape))
        self.biases = [new((GROUPS, n)) for n in stack.widths]
        self.weights = [None if w is None else torch.zeros_like(w) for w in stack.weights]
        self.feedback = [None if w is None else torch.zeros_like(w) for w in stack.feedback]
        self._first = [new((GROUPS, n)) for n in stack.widths]
        shapes = {"gain": (GROUPS, stack.steps)}
        self._values = [
            [
                new((*shapes.get(name, (GROUPS,)), n)) if wanted else None
                for name, wanted in zip(stack.scan.names, learnt[i], strict=True)
            ]
            for i, n in enumerate(stack.widths)
        ]
        self._sparse = [new((GROUPS, *packed_shape(m, n))) for m, n in pairs]
        self._sparse_feedback = [
            new((1, *packed_shape(n, n))) for n in stack.widths if stack.recurrent
        ]
        self._stack = stack

    def of_layer(self, i: int) -> Sums:
        """Return the sums that layer i's scan adds to."""
        return Sums(self.biases[i], self.te, self._values[i], self._first[i])

    def add(
        self, i: int, flags: torch.Tensor, now: torch.Tensor, buffer: Buffer, tile: Tile
    ) -> None:
        """Add a tile's share of the gradient of layer i's weights, i > 0.

        ``flags`` are those of the layer before, ``now`` the gradient of layer i's current.
        """
        weight = self.weights[i]
        assert weight is not None
        if spike_products.pays(_rate(flags), flags.shape[-1], now.shape[-1]):
            given = arrays(flags.flatten(1, 2), now.flatten(1, 2), self._sparse[i - 1])
            spike_products.add_outer(*given, scans.share(tile.groups, now.shape[-1]))
        else:
            spikes = self._stack.sent(i - 1, flags, buffer.at(tile, flags.shape[-1]))
            weight.addmm_(matrix(now).t(), matrix(spikes))

    def add_feedback(
        self, i: int, flags: torch.Tensor, now: torch.Tensor, buffer: Buffer, tile: Tile
    ) -> None:
        """Add a tile's share of the gradient of layer i's recurrent weights."""
        weight = self.feedback[i]
        if weight is None or now.shape[1] == 1:
            return
        # What dropout takes on the way to the next layer still returns to the neurons.
        fired = flags & scans.SPIKED if self._stack.value(i) != 1 else flags
        if spike_products.pays(_rate(flags), *weight.shape):
            sums = self._sparse_feedback[i]
            given = arrays(fired[:, :-1].flatten(1, 2), now[:, 1:].flatten(1, 2), sums)
            spike_products.add_outer(*given, scans.share(1, len(weight)))
        else:
            spikes = buffer.at(tile, flags.shape[-1])
            scans.sent(*arrays(matrix(fired)), self._stack.number(1), *arrays(matrix(spikes)))
            weight.addmm_(now[0, 1:].flatten(0, 1).t(), spikes[0, :-1].flatten(0, 1))

    def of_weights(self) -> list[torch.Tensor | None]:
        """Return the gradients of all weights."""
        for i, sums in enumerate(self._sparse):
            weight = self.weights[i + 1]
            assert weight is not None
            weight.add_(_unpacked(sums, len(weight)), alpha=self._stack.value(i))
        return self.weights

    def of_feedback(self) -> list[torch.Tensor | None]:
        """Return the gradients of all recurrent weights."""
        for weight, sums in zip(self.feedback, self._sparse_feedback, strict=False):
            if weight is not None:
                weight.add_(_unpacked(sums, len(weight)))
        return self.feedback


def backward(
    stack: LayerStack, saved: SavedStates, grad: torch.Tensor
) -> Iterator[tuple[Tile, torch.Tensor, Gradients]]:
    """Yield gradients of the first layer's current, tile by tile, and the sums so far.

    The caller, who has the input, adds up the gradient of the first layer's weights.
    """
    buffers, below, sums = (stack.buffer(), stack.buffer()), stack.buffer(), Gradients(stack)
    depth = len(stack.biases)
    for tile in stack.tiles():
        now = buffers[0].at(tile, stack.widths[-1])
        now.copy_(tile.rows(grad))
        for i in reversed(range(depth)):
            states = saved.at(i, tile, stack.widths[i])
            if i == 0 and stack.dropout is not None:
                scale = stack.number(stack.dropout.scale)
                scans.returned(*arrays(matrix(states.flags)), scale, *arrays(matrix(now)))
            run = stack.scan.backward(stack.layers, i, now, states, sums.of_layer(i))
            feed_back_in_time(run, now, stack.feedback[i])
            sums.add_feedback(i, states.flags, now, below, tile)
            weight = stack.weights[i]
            if i == 0 or weight is None:
                break
            flags = saved.at(i - 1, tile, stack.widths[i - 1]).flags
            sums.add(i, flags, now, below, tile)
            after = buffers[(depth - i) % 2].at(tile, stack.widths[i - 1])
            torch.mm(matrix(now), weight, out=matrix(after))
            now = after
        yield tile, now, sums
