"""ALIF, equation 3 of the paper: every spike raises the threshold, which then decays.

::

    Θ[t] = β·(Θ[t-1] − Θ0) + γ·S[t-1] + Θ0
    V[t] = α·V[t-1]·(1 − S[t-1]) + I[t]
    S[t] = 1 where V[t] ≥ Θ[t], else 0

γ is one constant of the layer. The step is :func:`training.dynamics.advance` with γ·S[t-1] in the
place of CE-LIF's context.
"""

from __future__ import annotations

import torch

from training.decays import per_neuron
from training.kernels import adaptive
from training.neurons.kind import Drive, NeuronKind, NeuronParams


def _spikes(drive: Drive, te: torch.Tensor, p: NeuronParams, backend: str) -> torch.Tensor:
    current = drive.biased
    values = per_neuron(current[0], p.alpha, p.beta, p.theta0, p.gamma)
    neuron = adaptive.AdaptiveParams(*values)
    run = adaptive.run
    return run(current, None, neuron, adaptive.PLAIN, p.width, drive.weight_rec, backend)


ALIF = NeuronKind("alif", frozenset({"beta", "gamma"}), _spikes)
