"""Layers of spiking neurons in one pass over memory, forward and backward, on the CPU.

A tile of samples goes through all layers before the next one starts
(:mod:`training.kernels.tiled`). The forward pass saves only V and a byte of flags per step, and Θ
where a gradient needs it; the backward pass takes the tiles in the same order.

Bits do not depend on the number of threads, except through torch's matrix products: the sums of
the gradients of TE, biases and neuron parameters have a fixed order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch.autograd.function import once_differentiable

from training.decays import per_neuron, shared
from training.dynamics import Params
from training.kernels import scans, tiled
from training.kernels.dropout import Dropout
from training.kernels.layer_scans import AdaptiveScan, CelifScan, Layers, Scan, arrays
from training.kernels.scans.adaptive import Context
from training.kernels.tiled import LayerStack, SavedStates, matrix
from training.kernels.tiles import GROUPS, Buffer

DTYPES = (torch.float32, torch.float64)
"""Types that the kernels compute in."""


class StackLayer(NamedTuple):
    """Tensors of one layer.

    Parameters
    ----------
    weight
        Input weights (neuron, input), or None for a first layer that is given its current.
    bias
        Current of every neuron at every step.
    feedback
        Recurrent weights (to, from), or None.
    values
        What the neurons have besides, as :attr:`Scan.names` lists it.
    """

    weight: torch.Tensor | None
    bias: torch.Tensor
    feedback: torch.Tensor | None = None
    values: tuple[torch.Tensor, ...] = ()


class _StackOptions(NamedTuple):
    scan: Scan
    depth: int
    dropout: Dropout | None
    counts: bool
    keep: bool


def _split(options: _StackOptions, parameters: Sequence[torch.Tensor]) -> list[StackLayer]:
    """Sort the tensors of all layers by layer."""
    each = 3 + len(options.scan.names)
    rows = [parameters[i * each : (i + 1) * each] for i in range(options.depth)]
    return [StackLayer(row[0], row[1], row[2], tuple(row[3:])) for row in rows]


def _stack(
    options: _StackOptions, layers: Sequence[StackLayer], te: torch.Tensor | None,
    wanted: Sequence[bool], batch: int, steps: int,
) -> LayerStack:  # fmt: skip
    learnt = [tuple(layer.values) for layer in _split(options, wanted)]  # type: ignore[arg-type]
    shared = Layers(te, [layer.values for layer in layers], learnt)  # type: ignore[arg-type]
    biases = [layer.bias.contiguous() for layer in layers]
    weights, feedback = [layer.weight for layer in layers], [layer.feedback for layer in layers]
    return LayerStack(
        weights, biases, feedback, options.scan, shared, batch, steps, options.dropout
    )


class _Layers(torch.autograd.Function):
    """Spikes of the last layer, or their sums over time; ``parameters`` are a `StackLayer`'s."""

    @staticmethod
    def forward(
        ctx: Any,
        x: torch.Tensor,
        te: torch.Tensor | None,
        options: _StackOptions,
        *parameters: torch.Tensor,
    ) -> torch.Tensor:
        layers, (batch, _, steps) = _split(options, parameters), x.shape
        te = None if te is None else te.t().contiguous()
        stack = _stack(options, layers, te, ctx.needs_input_grad[3:], batch, steps)
        saved = SavedStates.of(stack, whole=options.keep)
        neurons = stack.widths[-1]
        new = stack.biases[0].new_empty
        out = new((batch, neurons) if options.counts else (batch, steps, neurons))
        for tile, spikes in tiled.forward(stack, x, saved):
            values = spikes.sum(1) if options.counts else spikes.transpose(1, 2)
            out[tile.samples].view_as(values).copy_(values)
        if options.keep:
            ctx.options, ctx.steps = options, steps
            given = None if layers[0].weight is None else x
            buffers = [b and b.values for b in (*saved.v, *saved.flags, *saved.theta)]
            ctx.save_for_backward(given, te, *buffers, *parameters)
        return out if options.counts else out.transpose(1, 2)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        (grad,), options, steps = grads, ctx.options, ctx.steps
        x, te, *rest = ctx.saved_tensors
        depth, batch = options.depth, len(grad)
        buffers = [
            None if values is None else Buffer(values, steps) for values in rest[: 3 * depth]
        ]
        layers = _split(options, rest[3 * depth :])
        stack = _stack(options, layers, te, ctx.needs_input_grad[3:], batch, steps)
        saved = SavedStates(*(buffers[i : i + depth] for i in range(0, 3 * depth, depth)))  # type: ignore[arg-type]
        if options.counts:
            grad = grad[..., None].expand(-1, -1, steps)
        grad_x = None
        if ctx.needs_input_grad[0]:
            channels = stack.widths[0] if x is None else x.shape[1]
            grad_x = stack.biases[0].new_empty(batch, steps, channels).transpose(1, 2)
        for tile, now, sums in tiled.backward(stack, saved, grad):
            first = sums.weights[0]
            if x is not None and first is not None:
                first.addmm_(matrix(now).t(), tile.rows(x).flatten(0, 2))
            if grad_x is not None:
                weight = layers[0].weight
                tile.rows(grad_x).copy_(now if weight is None else torch.matmul(now, weight))
        found: list[torch.Tensor | None] = []
        weights, feedback = sums.of_weights(), sums.of_feedback()
        for i in range(depth):
            values = options.scan.value_grads(stack.layers, i, sums.of_layer(i))
            found += [weights[i], sums.biases[i].sum(0), feedback[i], *values]
        grad_te = None if sums.te is None else sums.te.sum(0).t()
        return (grad_x, grad_te, None, *found)


def gradients(
    grad: torch.Tensor, te: torch.Tensor, v: torch.Tensor, flags: torch.Tensor, p: Params
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return gradients of current, bias and TE from that of the spikes and the states of a scan.

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


def stack(
    x: torch.Tensor,
    layers: Sequence[StackLayer],
    te: torch.Tensor | None,
    scan: Scan,
    dropout: Dropout | None = None,
    counts: bool = False,
) -> torch.Tensor:
    """Return the spikes of the last of several layers of one kind of neuron.

    Parameters
    ----------
    x
        Input (batch, channel, time), or the first layer's current where its weight is None.
    layers
        Tensors of every layer.
    te
        Temporal encoding (widest layer, time), or None for neurons without one.
    scan
        The kind of neuron.
    dropout
        Acts on the first layer's spikes on their way to the second.
    counts
        Return the number of spikes of every neuron, (batch, neuron), instead of the spikes.
    """
    parameters = [
        tensor
        for layer in layers
        for tensor in (layer.weight, layer.bias, layer.feedback, *layer.values)
    ]
    wanted = any(t is not None and t.requires_grad for t in (x, te, *parameters))
    options = _StackOptions(scan, len(layers), dropout, counts, wanted and torch.is_grad_enabled())
    return _Layers.apply(x, te, options, *parameters)


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
    """Return the spikes of the last feedforward CE-LIF layer, or their sums over time."""
    pairs = [StackLayer(weight, bias) for weight, bias in zip(weights, biases, strict=True)]
    return stack(x, pairs, te, CelifScan(p, width), dropout, counts)


def celif(
    current: torch.Tensor,
    te: torch.Tensor,
    p: Params,
    width: float,
    bias: torch.Tensor | None = None,
) -> torch.Tensor:
    """Spikes of the recurrence; same signature as :func:`training.kernels.reference.celif`.

    Neurons with decays of their own run in the scan of :mod:`training.kernels.scans.adaptive`.
    """
    if bias is None:
        bias = current.new_zeros(current.shape[1])
    if shared(p.alpha, p.beta):
        return layers(current, [None], [bias], te, p, width)
    values = per_neuron(te, p.alpha, p.beta, p.theta0, 0.0)
    scan = AdaptiveScan(Context(v_te=1.0), width)
    return stack(current, [StackLayer(None, bias, None, tuple(values))], te, scan)
