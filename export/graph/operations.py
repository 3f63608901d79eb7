"""What torch's functions do to weighted sums of spikes: one handler for each kind of function.

A handler gets the function, its arguments, in which tensors that were recognised are
:class:`~export.graph.values.Value`, and returns the value of the result. It raises
:class:`~export.graph.values.NotAffineError` where the result is no weighted sum of spikes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch

from export.graph.values import NotAffineError, Term, Value, added, joined, product
from export.model.geometry import Geometry, Shape

ARRANGING = {
    "reshape", "view", "flatten", "unflatten", "transpose", "permute", "movedim", "moveaxis",
    "swapaxes", "swapdims", "t", "squeeze", "unsqueeze", "__getitem__", "narrow", "select",
    "chunk", "split", "unbind", "flip", "expand", "expand_as", "view_as", "reshape_as", "__get__",
    "tensor_split", "index_select", "roll", "repeat", "tile",
}  # fmt: skip
"""Functions that move elements without changing them."""

KEEPING = {
    "contiguous", "clone", "detach", "to", "float", "double", "type", "cpu", "requires_grad_",
    "dropout", "alpha_dropout", "feature_dropout", "dropout1d", "dropout2d", "dropout3d",
}  # fmt: skip
"""Functions that change nothing in evaluation mode."""

READING = {
    "__bool__", "item", "tolist", "__float__", "__int__", "__index__", "numpy", "__array__",
    "equal", "allclose", "is_nonzero",
}  # fmt: skip
"""Functions that take numbers out of a tensor, by which code can decide what to compute."""


def arrange(func: Callable[..., Any], value: Value, *args: Any, **kwargs: Any) -> Any:
    """Let a function that moves elements act on the arrangement."""
    args = tuple(a.index if isinstance(a, Value) else a for a in args)
    moved = func(value.index, *args, **kwargs)
    if isinstance(moved, torch.Tensor):
        return value.arranged(moved)
    return type(moved)(value.arranged(each) for each in moved)


def add(a: Any, b: Any, *, alpha: float = 1, sign: float = 1.0) -> Value:
    """The sum or, with ``sign`` −1, the difference of a value and another or a constant."""
    if alpha != 1:
        raise NotAffineError("a sum with a factor")
    if isinstance(a, Value) and isinstance(b, Value):
        return added(a, b, sign)
    if isinstance(a, Value):
        return replace(a, bias=a.bias + sign * a.per_neuron(b))
    minus = b if sign > 0 else b.scaled(b.bias.new_full((b.neurons,), -1.0))
    return replace(minus, bias=minus.bias + minus.per_neuron(a))


def multiply(a: Any, b: Any) -> Value:
    """The product of a value and a constant."""
    if isinstance(a, Value) and isinstance(b, Value):
        raise NotAffineError("a product of two sums of spikes")
    value, factor = (a, b) if isinstance(a, Value) else (b, a)
    return value.scaled(value.per_neuron(factor))


def divide(a: Any, b: Any) -> Value:
    """A value divided by a constant."""
    if isinstance(b, Value):
        raise NotAffineError("a division by a sum of spikes")
    return a.scaled(1 / a.per_neuron(b))


def linear(x: Any, weight: Any, bias: Any = None) -> Value:
    """A product with a matrix of weights along the last axis."""
    if isinstance(weight, Value) or isinstance(bias, Value):
        raise NotAffineError("weights that depend on the input")
    return product(x, weight, bias, -1)


def matmul(a: Any, b: Any) -> Value:
    """A product of a value and a matrix, from either side."""
    if isinstance(a, Value) and isinstance(b, Value):
        raise NotAffineError("a product of two sums of spikes")
    if isinstance(a, Value):
        if b.ndim != 2:
            raise NotAffineError("a product with no matrix")
        return product(a, b.t(), None, -1)
    if a.ndim != 2:
        raise NotAffineError("a product with no matrix")
    return product(b, a, None, -2)


def einsum(equation: Any, *operands: Any) -> Value:
    """A product with a matrix that torch.einsum writes in letters, such as ``oi,bit->bot``."""
    if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
        operands = tuple(operands[0])
    inputs, arrow, output = str(equation).replace(" ", "").partition("->")
    letters = inputs.split(",")
    values = [i for i, each in enumerate(operands) if isinstance(each, Value)]
    if len(operands) != 2 or len(values) != 1 or not arrow or "." in equation:
        raise NotAffineError("an einsum other than that of a value and a matrix")
    value, matrix = operands[values[0]], operands[1 - values[0]]
    own, weights = letters[values[0]], letters[1 - values[0]]
    summed = [letter for letter in own if letter not in output]
    made = [letter for letter in output if letter not in own]
    if len(summed) != 1 or len(made) != 1 or sorted(weights) != sorted(summed + made):
        raise NotAffineError("an einsum that is no product along one axis")
    axis = own.index(summed[0])
    weight = matrix if weights[0] == made[0] else matrix.t()
    found = product(value, weight, None, axis)
    order = [own.replace(summed[0], made[0]).index(letter) for letter in output]
    return found.arranged(found.index.permute(order))


def batch_norm(
    x: Value,
    running_mean: torch.Tensor | None,
    running_var: torch.Tensor | None,
    weight: torch.Tensor | None = None,
    bias: torch.Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Value:
    """Normalisation with the statistics of training, folded into weights and bias."""
    if training or running_mean is None or running_var is None:
        raise NotAffineError("normalisation by the statistics of the batch")
    factor = (running_var + eps).rsqrt()
    if weight is not None:
        factor = factor * weight
    offset = -running_mean * factor
    if bias is not None:
        offset = offset + bias
    axes = (-1, *(1,) * (x.index.ndim - 2))
    return x.scaled(x.per_neuron(factor.reshape(axes)), x.per_neuron(offset.reshape(axes)))


def conv2d(
    x: Value,
    weight: torch.Tensor,
    bias: torch.Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Value:
    """A convolution of images (image, channel, row, column), one for each sample and step."""
    if x.rate or x.index.ndim != 4:
        raise NotAffineError("a convolution of something else than images")
    if isinstance(padding, str):
        raise NotAffineError(f"padding={padding!r}; give it as numbers")
    count, shape = len(x.index), Shape(*x.index.shape[1:])
    sample, neuron, step = (each.reshape(count, -1) for each in x.places)
    order = torch.arange(shape.size)
    if shape.size != x.neurons or not bool((neuron == order).all()):
        raise NotAffineError("a convolution of images in another arrangement")
    if not (bool((sample == sample[:, :1]).all()) and bool((step == step[:, :1]).all())):
        raise NotAffineError("a convolution that mixes samples or steps")
    geometry = Geometry(shape, _pair(stride), _pair(padding), _pair(dilation), groups)
    kernels, out = weight, geometry.output_shape(weight.detach().numpy())
    rows = torch.arange(out.size)
    index = (sample[:, :1] * out.size + rows) * x.steps + step[:, :1]
    offset = 0 if bias is None else bias.repeat_interleave(out.height * out.width)
    terms = {}
    plain = len(x.terms) == 1 and not bool(x.bias.detach().any())
    for source, term in x.terms.items():
        if plain and term.weight is None:
            terms[source] = Term(kernels, geometry)
        else:
            matrix = Term(kernels, geometry).dense(shape.size, x.bias)
            terms[source] = Term(matrix.to(x.bias) @ x.matrices()[source])
    moved = x.bias.new_zeros(out.size)
    if not plain:
        moved = Term(kernels, geometry).dense(shape.size, x.bias).to(x.bias) @ x.bias
    shaped = index.reshape(count, *out)
    return replace(x, terms=terms, bias=moved + offset, index=shaped)


def avg_pool2d(
    x: Value,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Value:
    """The mean of windows, which is a convolution of every channel with equal weights."""
    size, channels = _pair(kernel_size), x.index.shape[1]
    if ceil_mode or (any(_pair(padding)) and not count_include_pad):
        raise NotAffineError("windows of different sizes")
    count = divisor_override or size[0] * size[1]
    weight = torch.full((channels, 1, *size), 1.0 / count, dtype=x.bias.dtype)
    return conv2d(x, weight, None, stride or size, padding, 1, channels)


def adaptive_avg_pool2d(x: Value, output_size: Any) -> Value:
    """The mean of whole images, or of windows that divide them."""
    out, shape = _pair(output_size), x.index.shape[2:]
    if any(size % parts for size, parts in zip(shape, out, strict=True)):
        raise NotAffineError("windows of different sizes")
    return avg_pool2d(x, tuple(size // parts for size, parts in zip(shape, out, strict=True)))


def reduce_time(x: Value, dim: Any = None, keepdim: bool = False, *, mean: bool) -> Value:
    """The sum or the mean over all steps."""
    if not isinstance(dim, int):
        if not isinstance(dim, (tuple, list)) or len(dim) != 1:
            raise NotAffineError("a sum over several axes")
        dim = dim[0]
    sample, neuron, step = (each.movedim(dim, -1) for each in x.places)
    alike = (sample == sample[..., :1]).all() and (neuron == neuron[..., :1]).all()
    steps = torch.arange(x.steps).expand(*step.shape[:-1], -1)
    if x.rate or not alike or not torch.equal(step, steps):
        raise NotAffineError("a sum over something else than all steps in their order")
    index = (sample * x.neurons + neuron)[..., 0]
    factor = 1.0 if mean else float(x.steps)
    rate = replace(x, index=index.unsqueeze(dim) if keepdim else index, rate=True)
    return rate if mean else rate.scaled(x.bias.new_full((x.neurons,), factor))


def concatenate(values: Any, dim: int = 0) -> Value:
    """Tensors of different neurons, one after the other."""
    if not all(isinstance(each, Value) for each in values):
        raise NotAffineError("a concatenation with something that is no sum of spikes")
    return joined(list(values), dim)


def stack(values: Any, dim: int = 0) -> Value:
    """Tensors along a new axis, e.g. those that a loop over time has made of every step."""
    if not all(isinstance(each, Value) for each in values):
        raise NotAffineError("a stack with something that is no sum of spikes")
    return joined([each.arranged(each.index.unsqueeze(dim)) for each in values], dim)


def _pair(value: Any) -> tuple[int, int]:
    first, *rest = value if isinstance(value, (tuple, list)) else (value,)
    return int(first), int(rest[0] if rest else first)


HANDLERS: dict[str, Callable[..., Any]] = {
    **dict.fromkeys(("add", "__add__", "__radd__", "add_", "__iadd__"), add),
    **dict.fromkeys(
        ("sub", "__sub__", "sub_", "__isub__"), lambda a, b, **k: add(a, b, sign=-1.0, **k)
    ),
    "__rsub__": lambda a, b: add(b, a, sign=-1.0),
    "rsub": lambda a, b: add(b, a, sign=-1.0),
    **dict.fromkeys(("mul", "__mul__", "__rmul__", "mul_", "__imul__", "multiply"), multiply),
    **dict.fromkeys(("div", "__truediv__", "true_divide", "div_", "__itruediv__"), divide),
    **dict.fromkeys(("neg", "__neg__"), lambda a: multiply(a, -1.0)),
    "linear": linear,
    **dict.fromkeys(("matmul", "__matmul__", "mm", "bmm"), matmul),
    "__rmatmul__": lambda a, b: matmul(b, a),
    "einsum": einsum,
    "batch_norm": batch_norm,
    "conv2d": conv2d,
    "avg_pool2d": avg_pool2d,
    "adaptive_avg_pool2d": adaptive_avg_pool2d,
    "mean": lambda x, dim=None, keepdim=False, **k: reduce_time(x, dim, keepdim, mean=True),
    "sum": lambda x, dim=None, keepdim=False, **k: reduce_time(x, dim, keepdim, mean=False),
    **dict.fromkeys(("cat", "concat", "concatenate"), concatenate),
    "stack": stack,
}
"""What each function does to values, by its name."""
