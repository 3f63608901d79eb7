"""Tensors of a recorded pass as what they are to a file: weighted sums of spikes.

Between two layers of neurons a forward pass may do anything that is affine: products with weights,
sums of several layers, normalisation with fixed statistics, pooling, reshaping. Every tensor then
is ::

    value[b, n, t] = Σ over sources (weight[n, m] · spikes[b, m, t]) + bias[n]

for samples b and steps t, or the mean of that over time. An *arrangement*, an index tensor of the
tensor's own shape, says which (b, n, t) stands where; reshaping and slicing act on it alone.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch.nn import functional as F

from export.checks import ModelError
from export.model.geometry import Geometry, Shape
from training.decays import argument, per_neuron, shared

DENSE_MAX = 1 << 24
"""The most weights of a matrix that a sum of several layers is written out as."""


Constants = tuple[float | torch.Tensor, float | torch.Tensor, float, float]
"""α, β, Θ0 and γ of a layer; each of the decays is one number or a tensor (row,)."""


class NotAffineError(Exception):
    """An operation whose result is not a weighted sum of spikes."""


@dataclass(eq=False)
class SpikeSource:
    """Where spikes come from: the input, or a layer of neurons.

    ``shape`` is that of images, or (neurons, 1, 1). All fields from ``current`` on are a layer's.
    """

    name: str
    neurons: int
    shape: Shape
    current: Value | None = None
    te: torch.Tensor | None = None
    """(row, step)."""
    te_key: int = 0
    turns: torch.Tensor | None = None
    kind: str = "celif"
    """The kind of the neurons, as training calls it."""
    params: Constants = (0.0, 0.0, 0.0, 0.0)
    width: float = 0.0
    weight_rec: torch.Tensor | None = None
    delay: np.ndarray | None = None
    """Steps (row,) by which the output is late."""
    weight_bits: int | None = None
    rows: int = 0

    @property
    def is_input(self) -> bool:
        """Whether this is the network's input."""
        return self.current is None


Sources = list[SpikeSource]


@dataclass(frozen=True)
class Term:
    """Weights (neuron, input) of one source, or kernels with a geometry; None for the identity."""

    weight: torch.Tensor | None = None
    geometry: Geometry | None = None

    def dense(self, inputs: int, like: torch.Tensor) -> torch.Tensor:
        """The weights as one matrix."""
        if self.weight is None:
            return torch.eye(inputs, dtype=like.dtype)
        if self.geometry is None:
            return self.weight
        g = self.geometry
        units = torch.eye(inputs, dtype=self.weight.dtype).reshape(-1, *g.input_shape)
        made = F.conv2d(units, self.weight, None, g.stride, g.padding, g.dilation, g.groups)
        return made.reshape(inputs, -1).t()


@dataclass(frozen=True)
class Value:
    """A tensor as a weighted sum of spikes; see the module."""

    terms: dict[SpikeSource, Term]
    bias: torch.Tensor
    """(neuron,)."""
    index: torch.Tensor
    steps: int
    rate: bool = False
    """Whether this is a mean over time; the index then leaves time out."""

    @property
    def neurons(self) -> int:
        """Number of rows."""
        return len(self.bias)

    @property
    def places(self) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Sample, neuron and step of every element."""
        steps = 1 if self.rate else self.steps
        rest = self.index // steps
        return rest // self.neurons, rest % self.neurons, self.index % steps

    def arranged(self, index: torch.Tensor) -> Value:
        """The same numbers in another arrangement."""
        return replace(self, index=index)

    def matrices(self) -> dict[SpikeSource, torch.Tensor]:
        """The weights of every source as a matrix."""
        found = {}
        for source, term in self.terms.items():
            if self.neurons * source.neurons > DENSE_MAX:
                raise NotAffineError(
                    f"a matrix of {self.neurons} × {source.neurons} weights, which is too large"
                )
            found[source] = term.dense(source.neurons, self.bias)
        return found

    def mapped(self, weight: torch.Tensor, bias: torch.Tensor | None, index: torch.Tensor) -> Value:
        """``weight`` (row, neuron) times this value, plus ``bias``."""
        terms = {}
        for source, matrix in self.matrices().items():
            own = weight.to(matrix)
            identity = self.terms[source].weight is None
            terms[source] = Term(own if identity else own @ matrix)
        moved = weight.to(self.bias) @ self.bias
        return replace(self, terms=terms, bias=moved if bias is None else moved + bias, index=index)

    def scaled(self, factor: torch.Tensor, offset: torch.Tensor | None = None) -> Value:
        """Every neuron times its ``factor`` (neuron,), plus its ``offset``."""
        terms = {}
        for source, term in self.terms.items():
            g, weight = term.geometry, term.weight
            if g is not None and weight is not None:
                per_channel = factor.reshape(len(weight), -1)
                if bool((per_channel == per_channel[:, :1]).all()):
                    kernels = weight * per_channel[:, :1, None, None]
                    terms[source] = Term(kernels, g)
                    continue
            terms[source] = Term(factor[:, None] * term.dense(source.neurons, factor))
        bias = self.bias * factor
        return replace(self, terms=terms, bias=bias if offset is None else bias + offset)

    def per_neuron(self, other: Any) -> torch.Tensor:
        """Return a number, or a tensor that broadcasts to this value, as one number per neuron."""
        if not isinstance(other, torch.Tensor):  # in the value's own precision from the start
            other = torch.as_tensor(other, dtype=self.bias.dtype)
        values = other.to(self.bias)
        try:
            values = values.expand(self.index.shape)
        except RuntimeError:
            raise NotAffineError("a tensor of another shape") from None
        neuron = self.places[1].flatten()
        found = values.new_zeros(self.neurons).index_put((neuron,), values.flatten())
        if not torch.allclose(found.detach()[neuron], values.flatten(), 0, 0, equal_nan=True):
            raise NotAffineError("numbers that differ between samples or steps")
        return found


def added(a: Value, b: Value, sign: float = 1.0) -> Value:
    """The sum of two values, element by element."""
    shape = torch.broadcast_shapes(a.index.shape, b.index.shape)
    if shape != a.index.shape or shape != b.index.shape:
        raise NotAffineError("a sum of tensors of different shapes")
    if a.rate != b.rate or a.neurons != b.neurons or not torch.equal(a.index, b.index):
        raise NotAffineError("a sum of tensors in different arrangements; stack steps to add them")
    if sign < 0:
        b = b.scaled(b.bias.new_full((b.neurons,), -1.0))
    terms = dict(a.terms)
    for source, term in b.terms.items():
        if source in terms:
            both = (t.dense(source.neurons, a.bias) for t in (terms[source], term))
            terms[source] = Term(sum(both, torch.zeros(())))
        else:
            terms[source] = term
    if len(terms) > 1:
        terms = {s: Term(t.dense(s.neurons, a.bias)) for s, t in terms.items()}
    return replace(a, terms=terms, bias=a.bias + b.bias)


def joined(values: list[Value], dim: int) -> Value:
    """Values of different neurons, or of different steps, one after the other along an axis."""
    first = values[0]
    if any(v.rate != first.rate or v.steps != first.steps for v in values):
        raise NotAffineError("a concatenation of tensors that are not alike in time")
    times = [v.places[2].unique() for v in values]
    if any(not torch.equal(each, times[0]) for each in times[1:]):
        if not all(_same_sums(v, first) for v in values):
            raise NotAffineError(
                "a concatenation of steps with different weights, while a file has the same for "
                "all steps"
            )
        return first.arranged(torch.cat([v.index for v in values], dim))
    total = sum(v.neurons for v in values)
    steps = 1 if first.rate else first.steps
    terms: dict[SpikeSource, list[torch.Tensor]] = {}
    indices, before = [], 0
    for value in values:
        sample, neuron, step = value.places
        indices.append((sample * total + before + neuron) * steps + step)
        for source, weight in value.matrices().items():
            padded = F.pad(weight, (0, 0, before, total - before - value.neurons))
            terms.setdefault(source, []).append(padded)
        before += value.neurons
    return replace(
        first,
        terms={s: Term(sum(parts[1:], parts[0])) for s, parts in terms.items()},
        bias=torch.cat([v.bias for v in values]),
        index=torch.cat(indices, dim),
    )


def _same_sums(a: Value, b: Value) -> bool:
    """Whether two values are elements of the same sums, e.g. at different steps."""
    return a is b or (
        a.terms.keys() == b.terms.keys()
        and torch.equal(a.bias, b.bias)
        and all(_same_term(term, b.terms[source]) for source, term in a.terms.items())
    )


def _same_term(a: Term, b: Term) -> bool:
    if a.weight is None or b.weight is None:
        return a.weight is b.weight
    return a.geometry == b.geometry and torch.equal(a.weight, b.weight)


def selection(value: Value, axis: int) -> torch.Tensor:
    """The neurons along ``axis``, the same at every other place, which is one sample and step."""
    sample, neuron, step = (each.movedim(axis, -1).flatten(0, -2) for each in value.places)
    if not (sample == sample[:, :1]).all() or not (step == step[:, :1]).all():
        raise NotAffineError("a product that mixes samples or steps")
    if not (neuron == neuron[:1]).all():
        raise NotAffineError("a product over different neurons at different places")
    return neuron[0]


def product(value: Value, weight: torch.Tensor, bias: torch.Tensor | None, axis: int) -> Value:
    """``weight`` (row, input) times what stands along ``axis``."""
    chosen = selection(value, axis)
    if weight.ndim != 2 or weight.shape[1] != len(chosen):
        raise NotAffineError(f"a product with weights of shape {tuple(weight.shape)}")
    steps = 1 if value.rate else value.steps
    sample, _, step = (each.movedim(axis, -1)[..., :1] for each in value.places)
    rows = torch.arange(len(weight))
    index = ((sample * len(weight) + rows) * steps + step).movedim(-1, axis)
    if len(chosen) == value.neurons and bool((chosen == torch.arange(len(chosen))).all()):
        full = weight
    else:
        columns = torch.zeros(len(chosen), value.neurons, dtype=weight.dtype)
        columns[torch.arange(len(chosen)), chosen] = 1
        full = weight @ columns
    return value.mapped(full, bias, index)


def require_value(value: object, name: str) -> Value:
    """Return ``value``, or raise ModelError if it is not what a file can express."""
    if isinstance(value, Value):
        return value
    why = value if isinstance(value, str) else "a tensor that does not come from the input"
    raise ModelError(
        f"network forward: {name}: expected a weighted sum of spikes, got {why}; a file holds "
        "layers of neurons with weighted sums between them"
    )


def constants(params: tuple[Any, ...], rows: int, like: torch.Tensor) -> Constants:
    """α, β, Θ0 and γ as a call gave them, with decays that differ, or are learnt, as tensors."""
    alpha, beta, theta0, gamma = params
    decays: list[float | torch.Tensor] = []
    for name, value in (("alpha", alpha), ("beta", beta)):
        if isinstance(value, (Value, str)):
            raise NotAffineError(f"{name} that depends on the input")
        decays.append(argument(name, value, rows, like))
    return decays[0], decays[1], float(theta0), float(gamma)


def joined_decays(members: list[SpikeSource], which: int, relays: int) -> float | torch.Tensor:
    """α or β of layers side by side: one number if all agree, else one for each row.

    A relay's membrane is at rest or has just spiked, and its threshold never moves, so that its
    decays make no difference; they are 0.
    """
    given = [s.params[which] for s in members]
    if shared(*given) and len(set(given)) == 1:
        return given[0]
    assert members[0].te is not None
    rows = [per_neuron(members[0].te.new_empty(s.rows), s.params[which])[0] for s in members]
    return torch.cat([*rows, rows[0].new_zeros(relays)])
