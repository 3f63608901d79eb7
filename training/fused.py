"""Layers of CE-LIF neurons in one pass over memory, forward and backward, on the CPU.

A block of samples goes through all layers before the next one starts: a matrix product, the scan
of :mod:`training.scans`, the next layer's product. Currents, spikes and their gradients then stay
in the cache. Of every step only V and a byte of flags are kept for the backward pass, which takes
the blocks in the same way.

Bits do not depend on the number of threads, except through torch's matrix products: the sums of
the gradients of TE and biases have a fixed order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch.autograd.function import once_differentiable

from training import scans
from training.blocks import GROUPS, Block, Room, blocks
from training.dropout import Dropout
from training.dynamics import Params

DTYPES = (torch.float32, torch.float64)
"""What the kernels compute in."""


def arrays(*tensors: torch.Tensor) -> tuple[np.ndarray, ...]:
    """The tensors as the kernels take them."""
    return tuple(tensor.detach().numpy() for tensor in tensors)


def _matrix(x: torch.Tensor) -> torch.Tensor:
    """A block (group, time, sample, neuron) as the rows of a matrix, without a copy."""
    return x.view(-1, x.shape[-1])


@dataclass(frozen=True)
class _Stack:
    """What stays the same for all blocks; ``te`` is (time, widest layer).

    The first weight is None if the input is the first layer's current already.
    """

    weights: Sequence[torch.Tensor | None]
    biases: Sequence[torch.Tensor]
    te: torch.Tensor
    p: Params
    batch: int
    dropout: Dropout | None

    @property
    def widths(self) -> list[int]:
        """Neurons of every layer."""
        return [len(bias) for bias in self.biases]

    def number(self, value: float) -> Any:
        """``value`` in the type that the kernels compute in."""
        return self.te.detach().numpy().dtype.type(value)

    def room(self) -> Room:
        """Memory for one layer's values in a block."""
        return Room.of_a_block(self.batch, len(self.te), max(self.widths), self.te.dtype)

    def sent(self, i: int, flags: torch.Tensor, out: torch.Tensor) -> torch.Tensor:
        """What layer i sent to the next: its spikes, but for those that dropout took."""
        value = self.dropout.scale if i == 0 and self.dropout is not None else 1.0
        scans.sent(*arrays(_matrix(flags)), self.number(value), *arrays(_matrix(out)))
        return out


@dataclass(frozen=True)
class _Kept:
    """V and flags of every layer, for the whole batch or, if nobody will ask, for a block."""

    v: Sequence[Room]
    flags: Sequence[Room]

    @classmethod
    def of(cls, stack: _Stack, whole: bool) -> _Kept:
        make = Room.of_a_batch if whole else Room.of_a_block
        shapes = [(stack.batch, len(stack.te), n) for n in stack.widths]
        return cls(
            [make(*shape, stack.te.dtype) for shape in shapes],
            [make(*shape, torch.uint8) for shape in shapes],
        )

    def at(self, i: int, block: Block, neurons: int) -> tuple[torch.Tensor, torch.Tensor]:
        """V and flags of layer i in ``block``."""
        return self.v[i].at(block, neurons), self.flags[i].at(block, neurons)


def _multiply(x: torch.Tensor, weight: torch.Tensor | None, out: torch.Tensor) -> None:
    if weight is None:
        out.copy_(x)
    elif weight.shape[1] == 1:  # nothing to sum: the product of each pair
        torch.mul(x, weight.t(), out=out)
    else:
        torch.mm(x.flatten(0, 2), weight.t(), out=_matrix(out))


def _forward(
    stack: _Stack, x: torch.Tensor, width: float, kept: _Kept
) -> Iterator[tuple[Block, torch.Tensor]]:
    """Spikes of the last layer, block by block, in memory that the next block takes."""
    rooms = (stack.room(), stack.room())
    for block in blocks(stack.batch):
        values = block.rows(x)
        for i, (weight, bias) in enumerate(zip(stack.weights, stack.biases, strict=True)):
            current = rooms[i % 2].at(block, len(bias))
            _multiply(values, weight, current)
            v, flags = kept.at(i, block, len(bias))
            each = scans.share(block.groups, len(bias))
            given = (*arrays(current, bias, stack.te), stack.p, stack.number(width))
            scans.forward(*given, *arrays(v, flags), each)
            if i == 0 and stack.dropout is not None:
                stack.dropout.mark(flags, block.first)
                stack.sent(i, flags, current)
            values = current
        yield block, values


@dataclass(frozen=True)
class _Gradients:
    """Sums over the blocks: of TE and biases one a group, in a fixed order."""

    te: torch.Tensor
    weights: Sequence[torch.Tensor | None]
    biases: Sequence[torch.Tensor]

    @classmethod
    def zeros(cls, stack: _Stack) -> _Gradients:
        return cls(
            stack.te.new_zeros((GROUPS, *stack.te.shape)),
            [None if weight is None else torch.zeros_like(weight) for weight in stack.weights],
            [stack.te.new_zeros((GROUPS, n)) for n in stack.widths],
        )


def _backward(
    stack: _Stack, kept: _Kept, grad: torch.Tensor
) -> Iterator[tuple[Block, torch.Tensor, _Gradients]]:
    """Gradients of the first layer's current, block by block, and the sums so far."""
    rooms, below = (stack.room(), stack.room()), stack.room()
    sums, depth = _Gradients.zeros(stack), len(stack.biases)
    for block in blocks(stack.batch):
        now = rooms[0].at(block, stack.widths[-1])
        now.copy_(block.rows(grad))
        for i in reversed(range(depth)):
            v, flags = kept.at(i, block, stack.widths[i])
            if i == 0 and stack.dropout is not None:
                scale = stack.number(stack.dropout.scale)
                scans.returned(*arrays(_matrix(flags)), scale, *arrays(_matrix(now)))
            each = scans.share(block.groups, stack.widths[i])
            given = (*arrays(now, stack.te), stack.p, *arrays(v, flags))
            scans.backward(*given, *arrays(sums.biases[i], sums.te), each)
            weight, grad_weight = stack.weights[i], sums.weights[i]
            if i == 0 or weight is None or grad_weight is None:
                break
            neurons = stack.widths[i - 1]
            _, flags = kept.at(i - 1, block, neurons)
            spikes = stack.sent(i - 1, flags, below.at(block, neurons))
            grad_weight.addmm_(_matrix(now).t(), _matrix(spikes))
            after = rooms[(depth - i) % 2].at(block, neurons)
            torch.mm(_matrix(now), weight, out=_matrix(after))
            now = after
        yield block, now, sums


class _Layers(torch.autograd.Function):
    """Spikes of the last layer, or their sums over time; ``parameters`` are weights and biases."""

    @staticmethod
    def forward(
        ctx: Any,
        x: torch.Tensor,
        te: torch.Tensor,
        p: Params,
        width: float,
        dropout: Dropout | None,
        counts: bool,
        keep: bool,
        *parameters: torch.Tensor,
    ) -> torch.Tensor:
        depth = len(parameters) // 2
        weights, biases = parameters[:depth], [bias.contiguous() for bias in parameters[depth:]]
        batch, _, steps = x.shape
        te = te.t().contiguous()
        stack = _Stack(weights, biases, te, p.cast(te.numpy().dtype), batch, dropout)
        kept = _Kept.of(stack, whole=keep)
        neurons = stack.widths[-1]
        out = te.new_empty((batch, neurons) if counts else (batch, steps, neurons))
        for block, spikes in _forward(stack, x, width, kept):
            values = spikes.sum(1) if counts else spikes.transpose(1, 2)
            out[block.samples].view_as(values).copy_(values)
        if keep:
            ctx.p, ctx.dropout, ctx.counts = stack.p, dropout, counts
            given = None if weights[0] is None else x
            rooms = [room.values for room in (*kept.v, *kept.flags)]
            ctx.save_for_backward(given, te, *weights, *biases, *rooms)
        return out if counts else out.transpose(1, 2)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        (grad,), (x, te, *saved) = grads, ctx.saved_tensors
        depth = len(saved) // 4
        weights, biases, v, flags = (saved[i : i + depth] for i in range(0, len(saved), depth))
        batch, steps = len(grad), len(te)
        stack = _Stack(weights, biases, te, ctx.p, batch, ctx.dropout)
        kept = _Kept(
            [Room(values, steps) for values in v], [Room(values, steps) for values in flags]
        )
        if ctx.counts:
            grad = grad[..., None].expand(-1, -1, steps)
        grad_x = None
        if ctx.needs_input_grad[0]:
            channels = len(biases[0]) if x is None else x.shape[1]
            grad_x = te.new_empty(batch, steps, channels).transpose(1, 2)
        for block, now, sums in _backward(stack, kept, grad):
            first = sums.weights[0]
            if x is not None and first is not None:
                first.addmm_(_matrix(now).t(), block.rows(x).flatten(0, 2))
            if grad_x is not None:
                block.rows(grad_x).copy_(now if x is None else torch.matmul(now, weights[0]))
        grad_biases = [each.sum(0) for each in sums.biases]
        return (grad_x, sums.te.sum(0).t(), *5 * (None,), *sums.weights, *grad_biases)


def gradients(
    grad: torch.Tensor, te: torch.Tensor, v: torch.Tensor, flags: torch.Tensor, p: Params
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Gradients of current, bias and TE, from that of the spikes and the states of a scan.

    Memory is (batch, time, neuron). ``flags`` has the bits of :mod:`training.scans`.
    """
    grad_x = v.new_empty(v.shape).copy_(grad)
    grad_te = v.new_zeros((GROUPS, *te.shape))
    grad_bias = v.new_zeros((GROUPS, te.shape[1]))
    each = scans.share(GROUPS, te.shape[1])
    for first in range(0, len(v), GROUPS):  # here each sample is a group
        part = (tensor[first : first + GROUPS, :, None] for tensor in (grad_x, v, flags))
        now, *states = arrays(*part)
        sums = arrays(grad_bias, grad_te)
        scans.backward(now, *arrays(te.contiguous()), p, *states, *sums, each)
    return grad_x, grad_bias.sum(0), grad_te.sum(0)


def layers(
    x: torch.Tensor,
    weights: Sequence[torch.Tensor | None],
    biases: Sequence[torch.Tensor],
    te: torch.Tensor,
    p: Params,
    width: float,
    dropout: Dropout | None = None,
    counts: bool = False,
) -> torch.Tensor:
    """Spikes of the last layer, or their sums over time, for ``x`` (batch, channel, time).

    The first weight is None if ``x`` is the first layer's current. Dropout acts on the first
    layer's spikes on their way to the second.
    """
    parameters = (*weights, *biases)
    wanted = any(t is not None and t.requires_grad for t in (x, te, *parameters))
    keep = wanted and torch.is_grad_enabled()
    return _Layers.apply(x, te, p, width, dropout, counts, keep, *parameters)


def celif(
    current: torch.Tensor,
    te: torch.Tensor,
    p: Params,
    width: float,
    bias: torch.Tensor | None = None,
) -> torch.Tensor:
    """Spikes of the recurrence; same signature as :func:`training.reference.celif`."""
    if bias is None:
        bias = current.new_zeros(current.shape[1])
    return layers(current, [None], [bias], te, p, width)
