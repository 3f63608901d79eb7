"""CE-LIF, the paper's neuron: an encoding of time times the membrane moves the threshold.

The recurrence is :func:`training.dynamics.step`. The other contexts of the paper's ablation put
something else in the place of TE[t]⊙V[t-1], see :mod:`training.kernels.adaptive`.
"""

from __future__ import annotations

import torch

from training.functional import celif
from training.kernels import adaptive
from training.neurons.kind import CONTEXT, Drive, NeuronKind, NeuronParams


def _spikes(drive: Drive, te: torch.Tensor, p: NeuronParams, backend: str) -> torch.Tensor:
    if p.context == CONTEXT:
        return celif(
            drive.current, te, p.alpha, p.beta, p.theta0, p.width, backend, drive.bias,
            drive.weight_rec,
        )  # fmt: skip
    table = te[: drive.current.shape[1], : drive.current.shape[2]]
    neuron, context = adaptive.neurons_in(p.context, table, p.alpha, p.beta, p.theta0)
    return adaptive.run(drive.biased, table, neuron, context, p.width, drive.weight_rec, backend)


CELIF = NeuronKind("celif", frozenset({"beta", "context", "te"}), _spikes, fuses=True)
