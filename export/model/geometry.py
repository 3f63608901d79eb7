"""Synapses in integers: which inputs reach which neurons, and how late spikes leave.

A layer's weights are a matrix (neuron, input), or kernels (out channel, in channel, height, width)
with a :class:`Geometry`. Images are numbered as torch flattens them: channel, row, column. What a
layer has one of per row of weights (TE, bias, delay) is shared by all positions of a channel.
A spike of step k counts as one of step k + delay; those that would be later than the last are lost.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from export.checks import ModelError, integer
from export.loihi2 import PIXELS_MAX

if TYPE_CHECKING:
    import torch

Pair = tuple[int, int]


class Shape(NamedTuple):
    """Channels, height and width of an image."""

    channels: int
    height: int
    width: int

    @property
    def size(self) -> int:
        """Number of pixels of all channels."""
        return self.channels * self.height * self.width


@dataclass(frozen=True)
class Geometry:
    """Shape of a convolution's input, and how its kernels move over it; pairs are (row, column)."""

    input_shape: Shape
    stride: Pair = (1, 1)
    padding: Pair = (0, 0)
    dilation: Pair = (1, 1)
    groups: int = 1

    def check(self, owner: str, weight: np.ndarray) -> None:
        """Refuse values that contradict each other, and kernels ``weight`` that do not fit."""
        for field, low in (("input_shape", 1), ("stride", 1), ("padding", 0), ("dilation", 1)):
            for value in getattr(self, field):
                integer(owner, field, value, low, PIXELS_MAX)
        integer(owner, "input_shape", self.input_shape.size, 1, PIXELS_MAX)
        integer(owner, "groups", self.groups, 1, self.input_shape.channels)
        out, per_group = weight.shape[:2]
        if self.input_shape.channels != per_group * self.groups or out % self.groups:
            expected = (
                f"kernels for {self.input_shape.channels} channels in {self.groups} group(s), "
                f"and as many for each"
            )
            raise ModelError.about(owner, "weight", expected, f"shape {weight.shape}")
        integer(owner, "shape", max(self.output_shape(weight).size, 1), 1, PIXELS_MAX)
        if min(self.output_shape(weight)) < 1:
            expected = f"kernels that fit into {tuple(self.input_shape)} with its padding"
            raise ModelError.about(owner, "weight", expected, f"shape {weight.shape}")

    def output_shape(self, weight: np.ndarray) -> Shape:
        """Return the shape of the output of kernels ``weight``."""
        height, width = (
            (size + 2 * pad - gap * (kernel - 1) - 1) // step + 1
            for size, pad, gap, kernel, step in zip(
                self.input_shape[1:],
                self.padding,
                self.dilation,
                weight.shape[2:],
                self.stride,
                strict=True,
            )
        )
        return Shape(len(weight), height, width)

    def one_to_one(self, weight: np.ndarray) -> bool:
        """Whether each input reaches only the neuron in the same position."""
        return weight.shape[1:] == (1, 1, 1) and self == Geometry(
            self.input_shape, groups=len(weight)
        )


def sums(
    weight: np.ndarray, geometry: Geometry | None, inputs: np.ndarray, dtype: torch.dtype
) -> np.ndarray:
    """Weights times inputs (…, input), summed for every neuron (…, neuron), in ``dtype``."""
    import torch  # here, so that a file is read without it
    from torch.nn import functional as F

    rows = torch.from_numpy(inputs).to(dtype)
    kernels = torch.from_numpy(weight).to(dtype)
    if geometry is None:
        # Through torch, because its BLAS took a third of the time of numpy's.
        product = torch.mm(rows.reshape(-1, weight.shape[1]), kernels.t())
    else:
        images = rows.reshape(-1, *geometry.input_shape)
        product = F.conv2d(
            images, kernels, None, geometry.stride, geometry.padding, geometry.dilation,
            geometry.groups,
        )  # fmt: skip
    return product.numpy().reshape(*inputs.shape[:-1], -1)


def matrix(weight: np.ndarray, geometry: Geometry | None) -> np.ndarray:
    """The weights as one matrix (neuron, input)."""
    if geometry is None:
        return weight
    import torch

    # What a unit input at one place gives everywhere is that place's column.
    units = np.eye(geometry.input_shape.size)
    return sums(weight, geometry, units, torch.float64).T.astype(weight.dtype)


def extremes(
    weight: np.ndarray, geometry: Geometry | None, low: int, high: int
) -> tuple[np.ndarray, np.ndarray]:
    """Smallest and largest sum of every neuron for inputs in ``low``..``high``."""
    positive, negative = (
        total(part.astype(np.int64, copy=False), geometry)
        for part in (np.maximum(weight, 0), np.minimum(weight, 0))
    )
    return positive * low + negative * high, positive * high + negative * low


def total(weight: np.ndarray, geometry: Geometry | None) -> np.ndarray:
    """Return the sum of the weights that lead to every neuron."""
    if geometry is None:
        return weight.sum(1)
    kernels = weight.sum(1)
    # A tap of the kernel counts at those places where it is not in the padding.
    inside = []
    for axis in (0, 1):
        size, places = geometry.input_shape[1 + axis], geometry.output_shape(weight)[1 + axis]
        first = np.arange(places) * geometry.stride[axis] - geometry.padding[axis]
        taps = np.arange(kernels.shape[1 + axis]) * geometry.dilation[axis]
        at = first[:, None] + taps
        inside.append(((at >= 0) & (at < size)).astype(np.int64))
    return np.einsum("oij,yi,xj->oyx", kernels, *inside).reshape(-1)


def delayed(spikes: np.ndarray, delay: np.ndarray) -> np.ndarray:
    """Spikes (batch, time, neuron) as they leave a layer, each ``delay`` (neuron,) steps later."""
    if not delay.any():
        return spikes
    out, steps = np.zeros_like(spikes), spikes.shape[1]
    for later in np.unique(delay[delay < steps]):
        neurons = delay == later
        out[:, later:, neurons] = spikes[:, : steps - later, neurons]
    return out
