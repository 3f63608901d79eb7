"""SLAYER's sigma-delta neuron in integers, as Lava's stock SigmaDelta computes it, written once.

::

    σ ← wrap( σ + (acc « s) )                     sum of all changes of the input
    A ← max( σ + b, 0 )
    Δ ← A − A_old + r                             change since the last message, and what it left
    m ← Δ if |Δ| ≥ vth « 12, else 0               limited to the largest message
    r ← Δ − m
    message ← m » 6, rounding down

A message stands for message · 2⁻¹², a weight for weight · 2⁻⁶, so σ, A, r are in units of 2⁻¹⁸; s
is 12 where inputs are spikes and 0 where they are messages. wrap is to 32 bits, the width of
Lava's registers. The limit is ours: Lava sends whatever comes, wider than any message; here the
rest follows at the next step.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from export.loihi2 import MESSAGE_BITS_MAX, SUM_MAX
from training.support import compiled

MESSAGE_EXP = 12
"""A message stands for message · 2^−MESSAGE_EXP."""

STATE_EXP = 6
"""Bits of the state below a message's."""

MESSAGE_MAX = (1 << MESSAGE_BITS_MAX) - 1
_LARGEST = MESSAGE_MAX << STATE_EXP
_HALF_TURN = SUM_MAX + 1


class SigmaDeltaState(NamedTuple):
    """Summed input, activation, what the last message left, and the message."""

    sigma: Any
    act: Any
    residue: Any
    s: Any


class SigmaDeltaParams(NamedTuple):
    """Left shift of the synaptic sum, and bias and threshold in the state's unit."""

    shift: Any
    bias: Any
    vth: Any


@compiled.jitable
def step(acc: Any, state: SigmaDeltaState, p: SigmaDeltaParams) -> SigmaDeltaState:
    """Advance a sigma-delta layer by one time step."""
    sigma = state.sigma + (acc << p.shift)
    sigma = ((sigma + _HALF_TURN) & (2 * _HALF_TURN - 1)) - _HALF_TURN
    act = (sigma + p.bias) * (sigma + p.bias > 0)
    delta = act - state.act + state.residue
    # The limit as in saturate: what is too large, above or below, is taken off.
    sent = (
        delta - (delta - _LARGEST) * (delta > _LARGEST) - (delta + _LARGEST) * (delta < -_LARGEST)
    )
    sent = sent * (abs(delta) >= p.vth)
    return SigmaDeltaState(sigma, act, delta - sent, sent >> STATE_EXP)
