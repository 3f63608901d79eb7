"""Layers of CE-LIF neurons in one pass over memory, forward and backward, on the CPU.

A block of samples goes through all layers before the next one starts
(:mod:`training.kernels.tiled`). Of
every step only V and a byte of flags are kept for the backward pass, which takes the blocks in the
same way.

Bits do not depend on the number of threads, except through torch's matrix products: the sums of
the gradients of TE and biases have a fixed order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch.autograd.function import once_differentiable

from training.dynamics import Params
from training.kernels import scans, tiled
from training.kernels.dropout import Dropout
from training.kernels.tiled import LayerStack, SavedStates, arrays, matrix
from training.kernels.tiles import GROUPS, Buffer

DTYPES = (torch.float32, torch.float64)
"""What the kernels compute in."""


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
        stack = LayerStack(weights, biases, te, p.cast(te.numpy().dtype), batch, dropout)
        kept = SavedStates.of(stack, whole=keep)
        neurons = stack.widths[-1]
        out = te.new_empty((batch, neurons) if counts else (batch, steps, neurons))
        for tile, spikes in tiled.forward(stack, x, width, kept):
            values = spikes.sum(1) if counts else spikes.transpose(1, 2)
            out[tile.samples].view_as(values).copy_(values)
        if keep:
            ctx.p, ctx.dropout, ctx.counts = stack.p, dropout, counts
            given = None if weights[0] is None else x
            buffers = [buffer.values for buffer in (*kept.v, *kept.flags)]
            ctx.save_for_backward(given, te, *weights, *biases, *buffers)
        return out if counts else out.transpose(1, 2)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        (grad,), (x, te, *saved) = grads, ctx.saved_tensors
        depth = len(saved) // 4
        weights, biases, v, flags = (saved[i : i + depth] for i in range(0, len(saved), depth))
        batch, steps = len(grad), len(te)
        stack = LayerStack(weights, biases, te, ctx.p, batch, ctx.dropout)
        kept = SavedStates(
            [Buffer(values, steps) for values in v], [Buffer(values, steps) for values in flags]
        )
        if ctx.counts:
            grad = grad[..., None].expand(-1, -1, steps)
        grad_x = None
        if ctx.needs_input_grad[0]:
            channels = len(biases[0]) if x is None else x.shape[1]
            grad_x = te.new_empty(batch, steps, channels).transpose(1, 2)
        for tile, now, sums in tiled.backward(stack, kept, grad):
            first = sums.weights[0]
            if x is not None and first is not None:
                first.addmm_(matrix(now).t(), tile.rows(x).flatten(0, 2))
            if grad_x is not None:
                tile.rows(grad_x).copy_(now if x is None else torch.matmul(now, weights[0]))
        grad_biases = [each.sum(0) for each in sums.biases]
        return (grad_x, sums.te.sum(0).t(), *5 * (None,), *sums.of_weights(), *grad_biases)


def gradients(
    grad: torch.Tensor, te: torch.Tensor, v: torch.Tensor, flags: torch.Tensor, p: Params
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Gradients of current, bias and TE, from that of the spikes and the states of a scan.

    Memory is (batch, time, neuron). ``flags`` has the bits of :mod:`training.kernels.scans`.
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
    """Spikes of the recurrence; same signature as :func:`training.kernels.reference.celif`."""
    if bias is None:
        bias = current.new_zeros(current.shape[1])
    return layers(current, [None], [bias], te, p, width)
