"""NIR's nodes without a state as modules: matrices, convolutions, pooling, flattening."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from celif.interchange.graph import kind
from celif.interchange.nodes import NirError


class Matrix(nn.Module):
    """A Linear or an Affine node, for values (batch, channel, time)."""

    def __init__(self, node: Any) -> None:
        super().__init__()
        bias = getattr(node, "bias", None)
        self.weight = nn.Parameter(torch.as_tensor(np.array(node.weight), dtype=torch.float32))
        self.bias = None
        if bias is not None:
            self.bias = nn.Parameter(torch.as_tensor(np.array(bias), dtype=torch.float32))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.linear(x.transpose(1, 2), self.weight, self.bias).transpose(1, 2)


class EachStep(nn.Module):
    """A module of torch's for images, applied to every step."""

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self.module = module

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, steps = len(x), x.shape[-1]
        made = self.module(x.movedim(-1, 1).flatten(0, 1))
        return made.unflatten(0, (batch, steps)).movedim(1, -1)


class Scaled(nn.Module):
    """A factor for every value of a step, or one for all."""

    factor: torch.Tensor

    def __init__(self, factor: np.ndarray) -> None:
        super().__init__()
        self.register_buffer("factor", torch.as_tensor(np.array(factor), dtype=torch.float32))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * self.factor[..., None]


def stateless(name: str, node: Any) -> nn.Module | None:
    """Return the module of a node without a state, or None if it has one."""
    which = kind(node)
    if which in ("Input", "Output"):
        return nn.Identity()
    if which in ("Linear", "Affine"):
        return Matrix(node)
    if which == "Scale":
        return Scaled(node.scale)
    if which == "Flatten":
        return nn.Flatten(1, -2)
    if which == "Conv2d":
        return EachStep(_convolution(name, node))
    if which in ("AvgPool2d", "SumPool2d"):
        size, stride, padding = (
            _pair(getattr(node, each)) for each in ("kernel_size", "stride", "padding")
        )
        pool = EachStep(nn.AvgPool2d(size, stride, padding))
        if which == "AvgPool2d":
            return pool
        return nn.Sequential(pool, Scaled(np.array(float(size[0] * size[1]))))
    return None


def output_shape(node: Any, before: tuple[int, ...]) -> tuple[int, ...]:
    """Shape to give the parameters of the next neurons where they are one number for all."""
    if kind(node) in ("Linear", "Affine"):
        return (len(node.weight),)
    if kind(node) == "Input":
        shape = np.ravel(node.input_type["input"])
        return (int(shape[0]), 1, 1) if len(shape) == 3 else ()
    if kind(node) == "Flatten":
        return ()
    return (len(node.weight), 1, 1) if kind(node) == "Conv2d" else before


def _pair(value: Any) -> tuple[int, int]:
    first, second = np.broadcast_to(value, 2)
    return int(first), int(second)


def _convolution(name: str, node: Any) -> nn.Conv2d:
    if isinstance(node.padding, str):
        raise NirError(name, "padding in numbers", repr(node.padding))
    out, per_group = node.weight.shape[:2]
    pairs = {each: _pair(getattr(node, each)) for each in ("stride", "padding", "dilation")}
    groups = int(node.groups)
    made = nn.Conv2d(per_group * groups, out, node.weight.shape[2:], groups=groups, **pairs)  # type: ignore[arg-type]
    with torch.no_grad():
        made.weight.copy_(torch.as_tensor(np.array(node.weight)))
        assert made.bias is not None
        made.bias.copy_(torch.as_tensor(np.array(node.bias)))
    return made
