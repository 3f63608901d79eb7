"""Neurons whose step is another one: GLIF, DEXAT and AHP, in a plain loop over time.

::

    GLIF    V[t] = (1 − a·(1 − λ))·V' − (1 − a)·δ + (1 − b·(1 − g))·I[t]
            V' = V[t-1]·(1 − r·S[t-1]) − (1 − r)·ρ·S[t-1]
            gates a (exponential or linear leak), b (gated input), r (hard or soft reset), and the
            decay λ, leak δ, conductance g, reset ρ and threshold: learnt, one of each a layer
    DEXAT   Θ[t] = Θ0 + κ1·B1[t] + κ2·B2[t],  Bi[t] = ρi·Bi[t-1] + (1 − ρi)·S[t-1]
    AHP     V[t] = α·V[t-1]·(1 − S[t-1]) + I[t] − κ·A[t],  A[t] = ρ·A[t-1] + (1 − ρ)·S[t-1]

A step costs some ten small operations of torch, forward, and twice that backward; what it costs
beside the compiled kernels is in ``docs/baselines.md``. GLIF's conductance is constant here; in its
own paper it is learnt for every step.
"""

from __future__ import annotations

import torch
from torch import nn

from training.functional import ALPHA, THETA0, WIDTH
from training.kernels.reference import Boxcar

State = tuple[torch.Tensor, ...]


class Looped(nn.Module):
    """A neuron with a step of its own.

    ``constants()`` are what its parameters come to, once for all steps;
    ``step(current, spikes before, state, constants)`` is what they do.
    """

    states = 1

    def __init__(self, neurons: int) -> None:
        super().__init__()
        self.neurons = neurons

    def constants(self) -> State:
        """Values that every step uses."""
        raise NotImplementedError

    def step(
        self, x: torch.Tensor, s: torch.Tensor, state: State, constants: State
    ) -> tuple[torch.Tensor, State]:
        """Spikes and state at t."""
        raise NotImplementedError

    def forward(self, current: torch.Tensor, weight: torch.Tensor | None = None) -> torch.Tensor:
        """Spikes (batch, neuron, time); ``weight`` feeds them back."""
        s = torch.zeros_like(current[..., 0])
        state: State = (s,) * self.states
        constants, spikes = self.constants(), []
        for x in current.unbind(-1):
            driven = x if weight is None else torch.addmm(x, s, weight.t())
            s, state = self.step(driven, s, state, constants)
            spikes.append(s)
        return torch.stack(spikes, -1)


class GLIF(Looped):
    """Gated LIF, its gates and constants learnt, one of each a layer."""

    def __init__(self, neurons: int) -> None:
        super().__init__(neurons)
        # As logits, in the order of the equation: a, b, r, λ, δ, g, ρ, threshold.
        first = torch.tensor([0.8, 0.2, 0.8, ALPHA, 0.05, 0.9, THETA0, THETA0])
        self.learnt = nn.Parameter(torch.logit(first))

    def constants(self) -> State:
        """Factors of V, of V's reset, of the spike, the leak, the factor of I, and the threshold.

        V[t] = kept·V[t-1] − S[t-1]·(hard·V[t-1] + soft) − leak + gain·I[t]
        """
        a, b, r, decay, leak, conductance, reset, threshold = self.learnt.sigmoid()
        kept = 1 - a * (1 - decay)
        gain = 1 - b * (1 - conductance)
        return kept, kept * r, kept * (1 - r) * reset, (1 - a) * leak, gain, threshold

    def step(
        self, x: torch.Tensor, s: torch.Tensor, state: State, constants: State
    ) -> tuple[torch.Tensor, State]:
        kept, hard, soft, leak, gain, threshold = constants
        v = kept * state[0] - s * (hard * state[0] + soft) - leak + gain * x
        return Boxcar.apply(v, threshold.expand_as(v), WIDTH), (v,)


class DEXAT(Looped):
    """Double-exponential adaptive threshold: one trace of spikes fades fast, one slowly."""

    states = 3

    def __init__(self, neurons: int) -> None:
        super().__init__(neurons)
        self.fade = nn.Parameter(torch.logit(torch.tensor([[0.9], [0.995]])).repeat(1, neurons))
        self.rise = nn.Parameter(torch.tensor([[1.0], [10.0]]).repeat(1, neurons))

    def constants(self) -> State:
        """Each trace's ρ, 1 − ρ and κ."""
        fades = self.fade.sigmoid()
        return (*fades, *(1 - fades), *self.rise)

    def step(
        self, x: torch.Tensor, s: torch.Tensor, state: State, constants: State
    ) -> tuple[torch.Tensor, State]:
        v, fast, slow = state
        fast_fade, slow_fade, fast_gain, slow_gain, fast_rise, slow_rise = constants
        fast = fast_fade * fast + fast_gain * s
        slow = slow_fade * slow + slow_gain * s
        theta = THETA0 + fast_rise * fast + slow_rise * slow
        v = ALPHA * v * (1 - s) + x
        return Boxcar.apply(v, theta, WIDTH), (v, fast, slow)


class AHP(Looped):
    """After-hyperpolarising current: a trace of its spikes inhibits the neuron."""

    states = 2

    def __init__(self, neurons: int) -> None:
        super().__init__(neurons)
        self.fade = nn.Parameter(torch.logit(torch.full((neurons,), 0.99)))
        self.pull = nn.Parameter(torch.full((neurons,), 5.0))

    def constants(self) -> State:
        """ρ, 1 − ρ, κ and the threshold."""
        fade = self.fade.sigmoid()
        return fade, 1 - fade, self.pull, torch.full_like(fade, THETA0)

    def step(
        self, x: torch.Tensor, s: torch.Tensor, state: State, constants: State
    ) -> tuple[torch.Tensor, State]:
        v, trace = state
        fade, gain, pull, threshold = constants
        trace = fade * trace + gain * s
        v = ALPHA * v * (1 - s) + x - pull * trace
        return Boxcar.apply(v, threshold.expand_as(v), WIDTH), (v, trace)
