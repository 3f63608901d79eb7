"""Layers of neurons in a recorded pass: calls of functions, of blocks and of neurons alone.

Each call adds a :class:`~export.graph.values.SpikeSource` with the current that it receives, and
gives its spikes as a value that later calls can weigh and add up.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import torch

from export.graph import operations
from export.graph.blocks import is_convolution, is_flatten, synapses_of, used_weight
from export.graph.values import (
    NotAffineError,
    SpikeSource,
    Term,
    Value,
    constants,
    product,
    require_value,
)
from export.loihi2 import DELAY_MAX
from export.model.geometry import Shape
from training.decays import per_layer
from training.network.temporal_encoding import Cosine
from training.slayer.neuron import Neuron


class NeuronCalls:
    """The layers of neurons that a pass of ``steps`` time steps has called so far."""

    def __init__(self, steps: int) -> None:
        super().__init__()
        self.steps = steps
        self.sources: list[SpikeSource] = []
        self.owners: list[Any] = []
        """What holds each layer's TE, kept alive: an object that is freed may pass on its id."""
        self.path: list[str] = []
        """The modules that are running, the innermost last."""

    @property
    def where(self) -> str:
        return self.path[-1] if self.path else "forward"

    def celif(
        self, current: Value, te: torch.Tensor, alpha: Any = 0.5, beta: Any = 0.99,
        theta0: float = 0.3, width: float = 0.2, backend: str = "auto",
        bias: torch.Tensor | None = None, weight_rec: torch.Tensor | None = None,
    ) -> Value:  # fmt: skip
        """A call of :func:`training.functional.celif`."""
        return self.layer(current, te, (alpha, beta, theta0, 0.0), width, bias, weight_rec)

    def layers(
        self, x: Value, weights: Any, biases: Any, te: torch.Tensor, alpha: Any = 0.5,
        beta: Any = 0.99, theta0: float = 0.3, width: float = 0.2, backend: str = "auto",
        dropout: float = 0.0, tied_dropout: bool = False, counts: bool = False,
        context: str = "v*te", gamma: float = 0.0, weights_rec: Any = None,
    ) -> Value:  # fmt: skip
        """A call of :func:`training.functional.layers`."""
        if context != "v*te" or dropout or (gamma and context == "v*te"):
            raise NotAffineError(f"neurons of another kind, context={context!r}")
        own = weights_rec or [None] * len(weights)
        given = [per_layer(n, v, len(weights)) for n, v in (("alpha", alpha), ("beta", beta))]
        rows = zip(weights, biases, own, *given, strict=True)
        for weight, bias, recurrent, *decays in rows:
            current = product(x, weight, None, 1)
            x = self.layer(current, te, (*decays, theta0, 0.0), width, bias, recurrent)
        if not counts:
            return x
        return operations.reduce_time(x, 2, mean=False)

    def layer(
        self,
        current: Value,
        te: torch.Tensor,
        params: tuple[Any, ...],
        width: float,
        bias: torch.Tensor | None,
        weight_rec: torch.Tensor | None = None,
        te_key: Any = None,
        **options: Any,
    ) -> Value:
        """Add a layer of neurons that receive ``current``; return its spikes."""
        name = f"layer {len(self.sources)} ({self.where})"
        current = require_value(current, name)
        if current.rate:
            raise NotAffineError("neurons that receive a mean over time")
        axes = current.index.ndim
        shape = Shape(*(*current.index.shape[1:-1], 1, 1)[:3])
        samples, found = len(current.index), current.index.shape[-1]
        if found != self.steps:
            raise NotAffineError(
                f"neurons that receive {found} steps instead of {self.steps}; their input is "
                "(batch, neuron, time), and a loop over time must produce every step"
            )
        natural = torch.arange(samples * shape.size * self.steps).reshape(current.index.shape)
        if shape.size != current.neurons or not torch.equal(current.index, natural):
            if axes != 3:
                raise NotAffineError("images of neurons in another arrangement")
            eye = torch.eye(shape.channels, dtype=current.bias.dtype)
            current = product(current, eye, None, 1)
            if not torch.equal(current.index, natural):
                raise NotAffineError("samples or steps in another order")
        if bias is not None:
            spread = bias.repeat_interleave(shape.size // len(bias))
            current = replace(current, bias=current.bias + spread)
        owner = te if te_key is None else te_key
        self.owners.append(owner)
        source = SpikeSource(
            name,
            shape.size,
            shape,
            current=current,
            te=te[: shape.channels],
            te_key=id(owner),
            params=constants(params, shape.channels, current.bias),
            width=width,
            weight_rec=weight_rec,
            rows=shape.channels,
            **options,
        )
        self.sources.append(source)
        zeros = current.bias.new_zeros(shape.size).detach()
        return Value({source: Term()}, zeros, natural, self.steps)

    def module(self, module: Any, value: Value, *rest: Any) -> Value:
        """The spikes of a block or of neurons alone."""
        if is_flatten(module):
            return value.arranged(value.index.flatten(1, -2))
        if isinstance(module, Neuron):
            return self.neurons(module, value, *rest)
        if not isinstance(module.neuron, Neuron):
            raise NotAffineError(
                f"SLAYER's {type(module.neuron).__name__} neurons, which a file can only hold in a "
                "chain of blocks, e.g. an nn.Sequential"
            )
        weight_rec = None
        if not synapses_of(module):
            factor = module.weight
            if factor is not None:
                value = operations.multiply(value, module.neuron.quantize_weight(factor))
            if module.bias is not None:
                value = operations.add(value, module.bias)
        else:
            used, *own = (used_weight(module, synapse) for synapse in synapses_of(module))
            weight_rec = own[0].flatten(1) if own else None
            value = _synaptic(module, used, value)
        steps = int(module.delay_shift) + _delay(module)
        late = np.broadcast_to(steps, module.neuron.num_neurons)
        return self.neurons(
            module.neuron, value, weight_rec, delay=late.copy() if late.any() else None,
            weight_bits=module.neuron.weight_bits,
        )  # fmt: skip

    def neurons(
        self, neuron: Neuron, value: Value, weight_rec: torch.Tensor | None = None, **options: Any
    ) -> Value:
        """The spikes of neurons that receive ``value``."""
        turns = neuron.te.turns() if isinstance(neuron.te, Cosine) else None
        p = (neuron.alpha, neuron.beta, neuron.theta0, neuron.gamma)
        return self.layer(
            value, neuron.te_table.to(value.bias), p, neuron.width, neuron.bias, weight_rec,
            te_key=neuron.te, turns=turns, kind=neuron.kind.name, **options,
        )  # fmt: skip


def _synaptic(module: Any, used: torch.Tensor, value: Value) -> Value:
    """The current of a block's synapse."""
    if not is_convolution(module):
        return product(value, used.flatten(1), None, 1)
    synapse = module.synapse
    if value.index.ndim != 5:
        raise NotAffineError("a convolution of something else than images")
    batch, *_, steps = value.index.shape
    images = value.arranged(value.index.movedim(-1, 1).flatten(0, 1))
    pairs: dict[str, Any] = {
        name: tuple(int(v) for v in getattr(synapse, name)[:2])
        for name in ("stride", "padding", "dilation")
    }
    made = operations.conv2d(images, used[..., 0], groups=int(synapse.groups), **pairs)
    return made.arranged(made.index.unflatten(0, (batch, steps)).movedim(1, -1))


def _delay(module: Any) -> np.ndarray:
    delay = getattr(module, "delay", None)
    if delay is None:
        return np.zeros((), np.int64)
    return np.floor(delay.delay.detach().cpu().numpy()).clip(0, DELAY_MAX).astype(np.int64)
