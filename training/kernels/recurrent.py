"""Recurrent CE-LIF: a layer whose spikes return to its own neurons one step later.

::

    I[t] = (from the layer below)[t] + W_rec·S[t−1] + b

:func:`reference` loops over :func:`training.dynamics.step` under autograd; :func:`fused` advances a
tile of samples by one step at a time, with one product per step (:mod:`training.kernels.tiled`).
Backward, with the adjoint of :mod:`training.kernels.scans`::

    GS[t] = (from above)[t] + W_recᵀ·G_I[t+1] − GV[t+1]·α·V[t]
    G_W_rec = Σ_batch,t G_I[t]·S[t−1]ᵀ
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch

from training.dynamics import Params
from training.kernels import adaptive
from training.kernels.layer_scans import AdaptiveScan, Layers, Saved, Sums
from training.kernels.reference import scan
from training.kernels.spike_products import add_rows
from training.kernels.tiled import feed_back_in_time
from training.support import compiled


@compiled.jitable
def feed_back(weight: Any, spikes: Any, out: Any) -> None:
    """Set ``out`` to the sum of the rows of ``weight`` (from, to) whose neurons spiked."""
    active = np.empty(len(spikes) + 1, np.int64)
    count = 0
    for m in range(len(spikes)):
        active[count] = m
        count += spikes[m] != 0
    add_rows(weight, active, count, out)


class LayerGradients(NamedTuple):
    """Gradients of a layer's current, bias and TE; of its decays and feedback, if asked for."""

    current: torch.Tensor
    bias: torch.Tensor
    te: torch.Tensor
    alpha: torch.Tensor | None
    beta: torch.Tensor | None
    weight: torch.Tensor | None


def gradients(
    grad: torch.Tensor,
    weight: torch.Tensor | None,
    te: torch.Tensor,
    v: torch.Tensor,
    flags: torch.Tensor,
    spikes: torch.Tensor | None,
    p: Params,
    theta: torch.Tensor | None = None,
) -> LayerGradients:
    """Return the gradients of a layer from that of its spikes.

    Memory is (batch, time, neuron), and ``flags`` are those of
    :func:`training.kernels.fused.gradients`. ``weight`` (to, from) and ``spikes`` are a recurrent
    layer's. The decays may differ between neurons; their gradients need ``theta``, Θ at every step.
    """
    alpha, beta = (value if isinstance(value, torch.Tensor) else float(value) for value in p[:2])
    neuron, context = adaptive.neurons_in("v*te", te.t(), alpha, beta, float(p.theta0))
    now = grad.transpose(0, 1).contiguous()[None]
    by_time = [
        None if x is None else x.transpose(0, 1).contiguous()[None] for x in (v, flags, theta)
    ]
    saved = Saved(*by_time)  # type: ignore[arg-type]
    new, neurons = v.new_zeros, te.shape[1]
    wanted = (theta is not None,) * 2 + (False,) * 2
    values = [new((1, neurons)) if each else None for each in wanted]
    sums = Sums(new((1, neurons)), new((1, *te.shape)), values, new((1, neurons)))
    layers = Layers(te.contiguous(), [tuple(neuron)], [wanted])
    run = AdaptiveScan(context, 0.0).backward(layers, 0, now, saved, sums)
    feed_back_in_time(run, now, weight)
    grad_x = now[0].transpose(0, 1)
    grad_weight = None
    if spikes is not None:
        grad_weight = grad_x[:, 1:].flatten(0, 1).t() @ spikes[:, :-1].flatten(0, 1)
    assert sums.te is not None
    of_decays = (None if each is None else each[0] for each in values[:2])
    return LayerGradients(grad_x, sums.bias[0], sums.te[0], *of_decays, grad_weight)  # type: ignore[call-arg]


def fused(
    current: torch.Tensor,
    te: torch.Tensor,
    p: Params,
    width: float,
    bias: torch.Tensor | None,
    weight: torch.Tensor,
) -> torch.Tensor:
    """Spikes (batch, neuron, time); ``weight`` (to, from) is what feeds them back."""
    neuron, context = adaptive.neurons_in("v*te", te, *p)
    return adaptive.fused(current, te, neuron, context, width, weight, bias)


def reference(
    current: torch.Tensor,
    te: torch.Tensor,
    p: Params,
    width: float,
    bias: torch.Tensor | None,
    weight: torch.Tensor,
) -> torch.Tensor:
    """Spikes of the plain loop; same signature as :func:`fused`."""

    def drive(x: torch.Tensor, s: torch.Tensor) -> torch.Tensor:
        x = x + s @ weight.t()
        return x if bias is None else x + bias

    return scan(current, te, p, width, drive).s
