"""LIF and its kin, whose step is CE-LIF's with another context; they share its compiled kernel.

=====  ========================================================================================
LIF    Θ = Θ0
ALIF   Θ[t] = β·(Θ[t-1] − Θ0) + γ·S[t-1] + Θ0, with β and γ learnt per neuron
PLIF   LIF whose α is learnt, one a layer
LTMD   LIF whose Θ0 is learnt, one a layer, with dropout of its spikes
=====  ========================================================================================

The paper gives no γ for ALIF; it starts at 0.1 here, a third of Θ0.
"""

from __future__ import annotations

import math

import torch
from torch import nn
from torch.nn import functional as F

from training.functional import ALPHA, BETA, THETA0, WIDTH
from training.kernels import adaptive

GAMMA = 0.1
"""Of ALIF at first: by how much a spike raises the threshold."""
MODERATE = 0.2
"""Dropout of LTMD's spikes."""


class LIF(nn.Module):
    """Leaky integrate-and-fire with CE-LIF's constants."""

    def __init__(self, neurons: int) -> None:
        super().__init__()
        self.neurons = neurons

    def values(self, like: torch.Tensor) -> adaptive.AdaptiveParams:
        """α, β, Θ0 and γ of every neuron."""
        shape = (self.neurons,)
        constants = (like.new_full(shape, value) for value in (ALPHA, BETA, THETA0, 0.0))
        return adaptive.AdaptiveParams(*constants)

    def forward(self, current: torch.Tensor, weight: torch.Tensor | None = None) -> torch.Tensor:
        """Spikes (batch, neuron, time); ``weight`` feeds them back."""
        te = current.new_zeros(current.shape[1:])
        return adaptive.run(current, te, self.values(current), adaptive.PLAIN, WIDTH, weight)


class ALIF(LIF):
    """Adaptive threshold that spikes raise."""

    def __init__(self, neurons: int) -> None:
        super().__init__(neurons)
        self.decay = nn.Parameter(torch.full((neurons,), math.log(BETA / (1 - BETA))))
        self.rise = nn.Parameter(torch.full((neurons,), GAMMA))

    def values(self, like: torch.Tensor) -> adaptive.AdaptiveParams:
        """β stays between 0 and 1."""
        return super().values(like)._replace(beta=self.decay.sigmoid(), gamma=self.rise)


class PLIF(LIF):
    """Learnt membrane decay."""

    def __init__(self, neurons: int) -> None:
        super().__init__(neurons)
        self.leak = nn.Parameter(torch.tensor(math.log(ALPHA / (1 - ALPHA))))

    def values(self, like: torch.Tensor) -> adaptive.AdaptiveParams:
        """α stays between 0 and 1."""
        return super().values(like)._replace(alpha=self.leak.sigmoid().expand(self.neurons))


class LTMD(LIF):
    """Learnt threshold, moderate dropout."""

    def __init__(self, neurons: int) -> None:
        super().__init__(neurons)
        self.threshold = nn.Parameter(torch.tensor(math.atanh(THETA0)))

    def values(self, like: torch.Tensor) -> adaptive.AdaptiveParams:
        """Θ0 = tanh of what is learnt."""
        return super().values(like)._replace(theta0=self.threshold.tanh().expand(self.neurons))

    def forward(self, current: torch.Tensor, weight: torch.Tensor | None = None) -> torch.Tensor:
        """As a LIF layer's, with dropout on what leaves it."""
        return F.dropout(super().forward(current, weight), MODERATE, self.training)
