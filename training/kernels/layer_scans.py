"""One object for each kind of neuron that runs its compiled scan on a layer of a tile.

``forward`` runs a layer's kernel on its tensors. ``backward`` binds them to it and returns a
function that goes back from a last step to a first one: once for all steps, or step by step in a
recurrent layer. The kinds themselves, without tensors, are what
:func:`training.kernels.fused.stack` takes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
import torch

from training.dynamics import Params
from training.kernels import scans
from training.kernels.pool import pool
from training.kernels.scans import adaptive, gated
from training.kernels.scans.adaptive import Context

Run = Callable[[int, int], None]
_TWO_PI = 2 * math.pi


def arrays(*tensors: torch.Tensor) -> tuple[np.ndarray, ...]:
    """Return the tensors as the kernels take them."""
    return tuple(tensor.detach().numpy() for tensor in tensors)


def _optional(tensor: torch.Tensor | None) -> np.ndarray | None:
    return None if tensor is None else tensor.detach().numpy()


class Saved(NamedTuple):
    """What the backward pass needs of a layer in a tile, (group, time, sample, neuron)."""

    v: torch.Tensor
    flags: torch.Tensor
    theta: torch.Tensor | None


class Sums(NamedTuple):
    """Gradients of one layer's parameters, a sum for each group of samples."""

    bias: torch.Tensor
    te: torch.Tensor | None
    values: Sequence[torch.Tensor | None]
    first: torch.Tensor
    """GΘ of the first step, which belongs to Θ0 as a whole."""


class Layers(NamedTuple):
    """Tensors that a scan reads: TE (time, widest layer), and each layer's values."""

    te: torch.Tensor | None
    values: Sequence[Sequence[torch.Tensor]]
    learnt: Sequence[Sequence[bool]]


class Scan(Protocol):
    """The scans of one kind of neuron."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the values that a layer has besides weights and biases."""

    def saves_theta(self, layers: Layers, i: int) -> bool:
        """Whether the backward pass of layer i needs Θ."""

    def forward(
        self, layers: Layers, i: int, current: torch.Tensor, bias: torch.Tensor, saved: Saved,
        feedback: np.ndarray | None,
    ) -> None:  # fmt: skip
        """Turn currents into spikes; ``feedback`` is the packed recurrent weight, or None."""

    def backward(self, layers: Layers, i: int, grad: torch.Tensor, saved: Saved, sums: Sums) -> Run:
        """Turn gradients of spikes into those of currents."""

    def value_grads(self, layers: Layers, i: int, sums: Sums) -> list[torch.Tensor | None]:
        """Gradients of the layer's values."""


def _state(like: torch.Tensor, count: int) -> list[torch.Tensor]:
    """Zeros (group, sample, neuron) for a tile's state."""
    groups, _, size, neurons = like.shape
    return [like.new_zeros(groups, size, neurons) for _ in range(count)]


def _share(current: torch.Tensor, feedback: np.ndarray | None) -> int:
    """How many neurons a thread takes, or samples of a recurrent layer."""
    groups, _, size, neurons = current.shape
    return scans.share(groups, neurons if feedback is None else size)


@dataclass(frozen=True)
class CelifScan:
    """CE-LIF with V⊙TE, α, β and Θ0 the same for all neurons; feedforward layers only."""

    p: Params
    width: float
    names = ()

    def saves_theta(self, layers: Layers, i: int) -> bool:
        """No: the flags say what V and Θ were to each other."""
        return False

    def _p(self, like: torch.Tensor) -> tuple[Params, Any]:
        dtype = like.detach().numpy().dtype
        return self.p.cast(dtype), dtype.type(self.width)

    def forward(
        self, layers: Layers, i: int, current: torch.Tensor, bias: torch.Tensor, saved: Saved,
        feedback: np.ndarray | None,
    ) -> None:  # fmt: skip
        """See :class:`Scan`."""
        assert layers.te is not None
        assert feedback is None
        p, width = self._p(bias)
        given = (*arrays(current, bias, layers.te), p, width, *arrays(saved.v, saved.flags))
        scans.forward(*given, scans.share(len(current), len(bias)))

    def backward(self, layers: Layers, i: int, grad: torch.Tensor, saved: Saved, sums: Sums) -> Run:
        """See :class:`Scan`; the steps are always all of them."""
        assert layers.te is not None
        assert sums.te is not None
        p, _ = self._p(grad)
        given = (*arrays(grad, layers.te), p, *arrays(saved.v, saved.flags, sums.bias, sums.te))
        each = scans.share(len(grad), grad.shape[-1])
        return lambda first, last: scans.backward(*given, each)

    def value_grads(self, layers: Layers, i: int, sums: Sums) -> list[torch.Tensor | None]:
        """None: the neuron has no values of its own."""
        return []


@dataclass(frozen=True)
class AdaptiveScan:
    """Neurons of :mod:`training.kernels.scans.adaptive`."""

    context: Context
    width: float
    names = ("alpha", "beta", "theta0", "gamma")

    def saves_theta(self, layers: Layers, i: int) -> bool:
        """Only β's gradient needs Θ."""
        return layers.learnt[i][1]

    def _neuron(self, layers: Layers, i: int) -> tuple[np.ndarray | None, np.ndarray, Context]:
        neuron = torch.stack([value.detach() for value in layers.values[i]]).numpy()
        return _optional(layers.te), neuron, self.context.cast(neuron.dtype)

    def forward(
        self, layers: Layers, i: int, current: torch.Tensor, bias: torch.Tensor, saved: Saved,
        feedback: np.ndarray | None,
    ) -> None:  # fmt: skip
        """See :class:`Scan`."""
        te, neuron, c = self._neuron(layers, i)
        theta, v, s = _state(current, 3)
        theta += layers.values[i][2].detach()
        given = (*arrays(current, bias), te, neuron, c, neuron.dtype.type(self.width),
                 *arrays(saved.v, saved.flags), _optional(saved.theta),
                 *arrays(theta, v, s))  # fmt: skip
        adaptive.forward(*given, feedback, _share(current, feedback))

    def backward(self, layers: Layers, i: int, grad: torch.Tensor, saved: Saved, sums: Sums) -> Run:
        """See :class:`Scan`."""
        te, neuron, c = self._neuron(layers, i)
        grad_v, grad_theta = _state(grad, 2)
        given = (*arrays(grad), te, neuron, c, *arrays(saved.v, saved.flags),
                 _optional(saved.theta), *arrays(grad_v, grad_theta, sums.bias),
                 _optional(sums.te), *map(_optional, sums.values))  # fmt: skip
        groups, _, _, neurons = grad.shape
        each = scans.share(groups, neurons)

        def run(first: int, last: int) -> None:
            adaptive.backward(*given, first, last, each)
            if first == 0:
                start = grad_theta.sum(1)
                sums.first[:groups] += start
                if sums.te is not None:
                    sums.te[:groups, 0, :neurons] += self.context.te * start

        return run

    def value_grads(self, layers: Layers, i: int, sums: Sums) -> list[torch.Tensor | None]:
        """See :class:`Scan`."""
        found = [None if each is None else each.sum(0) for each in sums.values]
        if found[2] is not None:
            found[2] = (1 - layers.values[i][1].detach()) * found[2] + sums.first.sum(0)
        return found


@dataclass(frozen=True)
class GatedScan:
    """Neurons of :mod:`training.kernels.scans.gated`.

    ``sigma`` is the width of a Gaussian surrogate, ``scale`` its area; None stands for the box.
    """

    r: float
    width: float
    sigma: float | None = None
    scale: float = 0.5
    gains: bool = False
    """Whether the last of a layer's values are gains of the input (time,)."""
    still: bool = False
    """Whether β = γ = r = 0 in all layers, so that thresholds do not move."""

    @property
    def names(self) -> tuple[str, ...]:
        """The constants of the step, then the gains."""
        return (*gated.Gates._fields, *(["gain"] if self.gains else []))

    def saves_theta(self, layers: Layers, i: int) -> bool:
        """A threshold that moves is needed, for the reset, β or the Gaussian."""
        return self.r != 0 or self.sigma is not None or layers.learnt[i][4]

    def _neuron(self, layers: Layers, i: int) -> tuple[np.ndarray | None, np.ndarray, Any]:
        values = [value.detach() for value in layers.values[i]]
        neuron = torch.stack(values[:7]).numpy()
        moving = neuron[[4, 6]].any() or self.r != 0 or any(layers.learnt[i][k] for k in (4, 6))
        if self.still and moving:
            raise ValueError(
                f"layer {i}: expected β = γ = r = 0 for thresholds that do not move, found others; "
                "make the scan without still=True"
            )
        gain = values[7].contiguous().numpy() if self.gains else None
        return gain, neuron, neuron.dtype.type(self.r)

    def forward(
        self, layers: Layers, i: int, current: torch.Tensor, bias: torch.Tensor, saved: Saved,
        feedback: np.ndarray | None,
    ) -> None:  # fmt: skip
        """See :class:`Scan`."""
        gain, neuron, r = self._neuron(layers, i)
        theta, v, s = _state(current, 3)
        theta += layers.values[i][5].detach()
        given = (*arrays(current, bias), gain, neuron, r, neuron.dtype.type(self.width),
                 *arrays(saved.v, saved.flags), _optional(saved.theta),
                 _optional(None if self.still else theta), *arrays(v, s))  # fmt: skip
        gated.forward(*given, feedback, _share(current, feedback))

    def _slope(self, saved: Saved) -> torch.Tensor | None:
        if self.sigma is None or saved.theta is None:
            return None
        slope = pool.empty(tuple(saved.v.shape), saved.v.dtype)
        torch.sub(saved.v, saved.theta, out=slope)
        slope.square_().mul_(-0.5 / self.sigma**2).exp_()
        return slope.mul_(self.scale / (self.sigma * math.sqrt(_TWO_PI)))

    def backward(self, layers: Layers, i: int, grad: torch.Tensor, saved: Saved, sums: Sums) -> Run:
        """See :class:`Scan`."""
        gain, neuron, r = self._neuron(layers, i)
        grad_v, moving = _state(grad, 2)
        grad_theta = None if self.still else moving
        gates = sums.values[:7]
        given = (*arrays(grad), gain, neuron, r, *arrays(saved.v, saved.flags),
                 *map(_optional, (saved.theta, self._slope(saved))),
                 *arrays(grad_v), _optional(grad_theta), *arrays(sums.bias),
                 _optional(sums.values[7] if self.gains else None),
                 *map(_optional, gates))  # fmt: skip
        groups, _, _, neurons = grad.shape
        each = scans.share(groups, neurons)

        def run(first: int, last: int) -> None:
            gated.backward(*given, first, last, each)
            if first == 0:
                sums.first[:groups] += moving.sum(1)
                if gates[3] is not None:
                    gates[3][:groups] -= grad_v.sum(1)
                by_gain = sums.values[7] if self.gains else None
                if by_gain is not None:
                    driven = saved.v[:, 0] + layers.values[i][3].detach()
                    by_gain[:groups, 0] += (grad_v * driven).sum(1)

        return run

    def value_grads(self, layers: Layers, i: int, sums: Sums) -> list[torch.Tensor | None]:
        """See :class:`Scan`."""
        found = [None if each is None else each.sum(0) for each in sums.values]
        if found[5] is not None:
            found[5] = (1 - layers.values[i][4].detach()) * found[5] + sums.first.sum(0)
        if self.gains and found[7] is not None:
            gain = layers.values[i][7].detach()
            found[7] = found[7].sum(-1) / gain[: len(found[7])]
        return found
