"""LIF and its kin, whose step is CE-LIF's with another context; they share its compiled kernels.

=====  ========================================================================================
LIF    Θ = Θ0
ALIF   Θ[t] = β·(Θ[t-1] − Θ0) + γ·S[t-1] + Θ0, with β and γ learnt per neuron: equation 3 of the
       CE-LIF paper, which gives no γ; it starts at 0.1 here, a third of Θ0. The ALIF that the
       paper's table cites is :class:`training.baselines.gated_neurons.SoftALIF`.
PLIF   LIF whose α is learnt, one per layer
LTMD   LIF whose Θ0 is learnt, one per layer, with moderate dropout before the classifier
=====  ========================================================================================
"""

from __future__ import annotations

import math

import torch
from torch import nn

from training.functional import ALPHA, BETA, THETA0, WIDTH
from training.kernels import adaptive
from training.kernels.layer_scans import AdaptiveScan

GAMMA = 0.1
"""By how much a spike of a fresh ALIF neuron raises its threshold."""
MODERATE = 0.2
"""Mean probability with which LTMD drops a neuron."""
LTMD_START = 0.5
"""Start of what LTMD learns; the threshold is its hyperbolic tangent, 0.46."""


class LIF(nn.Module):
    """Leaky integrate-and-fire with CE-LIF's constants; ``steps`` makes no difference to it."""

    scan = AdaptiveScan(adaptive.PLAIN, WIDTH)

    def __init__(self, neurons: int, steps: int = 0) -> None:
        super().__init__()
        self.neurons = neurons

    def values(self, like: torch.Tensor) -> adaptive.AdaptiveParams:
        """α, β, Θ0 and γ of every neuron."""
        shape = (self.neurons,)
        constants = (like.new_full(shape, value) for value in (ALPHA, BETA, THETA0, 0.0))
        return adaptive.AdaptiveParams(*constants)

    def forward(self, current: torch.Tensor, weight: torch.Tensor | None = None) -> torch.Tensor:
        """Spikes (batch, neuron, time); ``weight`` feeds them back."""
        return adaptive.run(current, None, self.values(current), adaptive.PLAIN, WIDTH, weight)


class ALIF(LIF):
    """Adaptive threshold that spikes raise, as the CE-LIF paper writes it."""

    def __init__(self, neurons: int, steps: int = 0) -> None:
        super().__init__(neurons)
        self.decay = nn.Parameter(torch.full((neurons,), math.log(BETA / (1 - BETA))))
        self.rise = nn.Parameter(torch.full((neurons,), GAMMA))

    def values(self, like: torch.Tensor) -> adaptive.AdaptiveParams:
        """β stays between 0 and 1."""
        return super().values(like)._replace(beta=self.decay.sigmoid(), gamma=self.rise)


class PLIF(LIF):
    """Learnt membrane decay."""

    def __init__(self, neurons: int, steps: int = 0) -> None:
        super().__init__(neurons)
        self.leak = nn.Parameter(torch.tensor(math.log(ALPHA / (1 - ALPHA))))

    def values(self, like: torch.Tensor) -> adaptive.AdaptiveParams:
        """α stays between 0 and 1."""
        return super().values(like)._replace(alpha=self.leak.sigmoid().expand(self.neurons))


class LTMD(LIF):
    """Learnt threshold, moderate dropout."""

    def __init__(self, neurons: int, steps: int = 0) -> None:
        super().__init__(neurons)
        self.threshold = nn.Parameter(torch.tensor(LTMD_START))

    def values(self, like: torch.Tensor) -> adaptive.AdaptiveParams:
        """Θ0 is the hyperbolic tangent of what is learnt."""
        return super().values(like)._replace(theta0=self.threshold.tanh().expand(self.neurons))

    @staticmethod
    def read_dropout(rates: torch.Tensor) -> torch.Tensor:
        """Draw factors of the neurons (batch, neuron), one for all steps, from their mean rates.

        Neurons that fire little are dropped more often: the probability of being kept rises with
        the rate and is :data:`MODERATE` below 1 on average. What is kept is scaled up.
        """
        rates = rates.detach()
        share = (rates - rates.min()) / (rates.max() - rates.min()).clamp_min(1e-12)
        spare = (1 - share.mean()).clamp_min(1e-12)
        kept = (1 - (1 - share) * MODERATE / spare).clamp(0, 1)
        return torch.bernoulli(kept) / torch.where(kept > 0, kept, torch.ones_like(kept))
