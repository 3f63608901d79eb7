"""LIF, equation 2 of the paper: a constant threshold and a hard reset.

::

    V[t] = α·V[t-1]·(1 − S[t-1]) + I[t]
    S[t] = 1 where V[t] ≥ Θ0, else 0

This is CE-LIF with TE = 0: its threshold starts at Θ0 and stays there, whatever β is, in every bit.
LIF therefore shares CE-LIF's step and its fast kernels.
"""

from __future__ import annotations

import torch

from training.functional import celif
from training.neurons.kind import Drive, NeuronKind, NeuronParams


def _spikes(drive: Drive, te: torch.Tensor, p: NeuronParams, backend: str) -> torch.Tensor:
    return celif(
        drive.current, te, p.alpha, p.beta, p.theta0, p.width, backend, drive.bias,
        drive.weight_rec,
    )  # fmt: skip


LIF = NeuronKind("lif", frozenset(), _spikes, fuses=True)
