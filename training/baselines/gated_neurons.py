"""GLIF, and ALIF as Yin et al. published it: neurons with a leak and a reset of their own.

::

    GLIF      V[t] = (1 − a·(1 − λ))·V[t-1]·(1 − r·S[t-1]) − (1 − a)·δ
                     + (1 − b·(1 − g[t]))·I[t] − (1 − r)·ρ·S[t-1]
              gates a (exponential or linear leak), b (gated input), r (hard or soft reset), the
              decay λ, leak δ, reset ρ and threshold, one of each per layer, and a conductance g
              per step: all learnt, as logits
    SoftALIF  b[t] = ρ·b[t-1] + (1 − ρ)·S[t-1],  Θ[t] = 0.01 + 1.8·b[t]
              V[t] = α·V[t-1] + (1 − α)·I[t] − Θ[t]·S[t-1],  α = exp(−1/τ_m), ρ = exp(−1/τ_adp)
              τ_m and τ_adp learnt per neuron; the surrogate is half a Gaussian

Both are :func:`training.kernels.scans.gated.step` and run in its compiled kernels. GLIF's starting
values are ours, near CE-LIF's α and Θ0; SoftALIF's are those of its authors' script.
"""

from __future__ import annotations

import torch
from torch import nn

from training.functional import ALPHA, THETA0, WIDTH
from training.kernels import adaptive
from training.kernels.fused import StackLayer, stack
from training.kernels.layer_scans import GatedScan
from training.kernels.reference import Boxcar, Gaussian, gated_states
from training.kernels.scans.gated import Gates


class GatedNeuron(nn.Module):
    """A layer of neurons of :mod:`training.kernels.scans.gated`."""

    scan: GatedScan

    def __init__(self, neurons: int) -> None:
        super().__init__()
        self.neurons = neurons

    def gates(self, like: torch.Tensor) -> Gates:
        """Constants of the step, each (neuron,)."""
        raise NotImplementedError

    def gain(self, steps: int) -> torch.Tensor | None:
        """Factors of the current (time,), or None."""
        return None

    def values(self, like: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """The tensors that :attr:`scan` takes, for currents like ``like`` (batch, neuron, time)."""
        gain = self.gain(like.shape[-1])
        return (*self.gates(like), *([] if gain is None else [gain]))

    def _spike(self, v: torch.Tensor, theta: torch.Tensor) -> torch.Tensor:
        if self.scan.sigma is None:
            return Boxcar.apply(v, theta.expand_as(v), self.scan.width)
        return Gaussian.apply(v, theta, self.scan.sigma, self.scan.scale)

    def steps(
        self, current: torch.Tensor, weight: torch.Tensor | None = None
    ) -> list[torch.Tensor]:
        """Spikes of every step by the plain loop, each in the graph of the later ones."""
        gates, gain = self.gates(current), self.gain(current.shape[-1])
        states = gated_states(current, gates, self.scan.r, self._spike, gain, weight)
        return [state.s for state in states]

    def forward(
        self, current: torch.Tensor, weight: torch.Tensor | None = None, backend: str = "auto"
    ) -> torch.Tensor:
        """Spikes (batch, neuron, time); ``weight`` feeds them back."""
        if backend == "reference" or not adaptive.compiles(current):
            return torch.stack(self.steps(current, weight), -1)
        layer = StackLayer(None, current.new_zeros(self.neurons), weight, self.values(current))
        return stack(current, [layer], None, self.scan)


class GLIF(GatedNeuron):
    """Gated LIF, layer-wise, with a conductance that is learnt for every step."""

    scan = GatedScan(0.0, WIDTH, gains=True, still=True)

    def __init__(self, neurons: int, steps: int) -> None:
        super().__init__(neurons)
        # As logits, in the order of the equation: a, λ, r, δ, b, ρ, threshold.
        first = torch.tensor([0.8, ALPHA, 0.8, 0.05, 0.2, THETA0, THETA0])
        self.learnt = nn.Parameter(torch.logit(first))
        self.conductance = nn.Parameter(torch.logit(torch.full((steps,), 0.9)))

    def gates(self, like: torch.Tensor) -> Gates:
        """What the gates and constants come to."""
        a, decay, r, leak, _, reset, threshold = self.learnt.sigmoid()
        kept, none = 1 - a * (1 - decay), torch.zeros_like(a)
        found = (kept, kept * r, (1 - r) * reset, (1 - a) * leak, none, threshold, none)
        return Gates(*(value.expand(self.neurons) for value in found))

    def gain(self, steps: int) -> torch.Tensor | None:
        """The gated conductance of every step."""
        gate = self.learnt[4].sigmoid()
        return 1 - gate * (1 - self.conductance[:steps].sigmoid())


class SoftALIF(GatedNeuron):
    """ALIF of Yin et al.: learnt time constants, soft reset, Gaussian surrogate."""

    scan = GatedScan(1.0, WIDTH, sigma=0.5, scale=0.5)
    spiking_readout = True
    """Its authors read classes from the spike counts of such neurons."""

    def __init__(self, neurons: int, steps: int = 0) -> None:
        super().__init__(neurons)
        self.tau_m = nn.Parameter(torch.empty(neurons).normal_(20, 5))
        self.tau_adp = nn.Parameter(torch.empty(neurons).normal_(200, 25))

    @property
    def input_scale(self) -> torch.Tensor:
        """Factor 1 − α of the current (neuron,)."""
        return 1 - torch.exp(-1 / self.tau_m)

    def gates(self, like: torch.Tensor) -> Gates:
        """α, ρ and 1.8·(1 − ρ), and no other gate."""
        fade, none = torch.exp(-1 / self.tau_adp), torch.zeros_like(self.tau_m)
        rest, rise = torch.full_like(none, 0.01), 1.8 * (1 - fade)
        return Gates(torch.exp(-1 / self.tau_m), none, none, none, fade, rest, rise)
