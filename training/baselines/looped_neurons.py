"""Neurons of models that the paper only cites: DEXAT and AHP, in a plain loop over time.

::

    DEXAT   Θ[t] = Θ0 + κ1·B1[t] + κ2·B2[t],  Bi[t] = ρi·Bi[t-1] + (1 − ρi)·S[t-1]
    AHP     V[t] = α·V[t-1]·(1 − S[t-1]) + I[t] − κ·A[t],  A[t] = ρ·A[t-1] + (1 − ρ)·S[t-1]

A step costs some ten small operations of torch forward, and twice as many backward;
``docs/baselines.md`` compares it with the compiled kernels.
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


class DEXAT(Looped):
    """Double-exponential adaptive threshold: one trace of spikes fades fast, one slowly."""

    states = 3

    def __init__(self, neurons: int, steps: int = 0) -> None:
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

    def __init__(self, neurons: int, steps: int = 0) -> None:
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
