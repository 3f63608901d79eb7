"""SLAYER's CUBA neuron in integers, as Lava's stock LIF computes it, written once.

::

    U ← wrap( rz((4096 − (du + 1))·U, 12) + (acc « 6) )
    V ← sat( rz((4096 − dv)·V·(1 − S), 12) + U + b )
    S ← V > vth « 6

Old V and S stand on the right, with V before its reset. wrap takes off one turn of 2²⁴ and
leaves exactly +2²³ alone, as Lava does; the comparison is strict.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from export.loihi2 import CURRENT_SHIFT, DECAY_BITS, DECAY_ONE, STATE_MAX
from export.steps.arithmetic import saturate, shift_to_zero
from training.support import compiled

HALF_TURN = STATE_MAX + 1
"""U wraps past it."""


class CubaState(NamedTuple):
    """Current, membrane before its reset, and spike (0 or 1)."""

    u: Any
    v: Any
    s: Any


class CubaParams(NamedTuple):
    """Decays and threshold as Lava's LIF takes them, and the shifted bias."""

    du: Any
    dv: Any
    vth: Any
    bias: Any


@compiled.jitable
def current(acc: Any, u: Any, p: CubaParams) -> Any:
    """U of the next time step, before it wraps."""
    return shift_to_zero(u * (DECAY_ONE - (p.du + 1)), DECAY_BITS) + (acc << CURRENT_SHIFT)


@compiled.jitable
def membrane(u: Any, kept: Any, p: CubaParams) -> Any:
    """V of the next time step, before it saturates; ``kept`` is what a spike left of the old V."""
    return shift_to_zero(kept * (DECAY_ONE - p.dv), DECAY_BITS) + u + p.bias


@compiled.jitable
def step(acc: Any, state: CubaState, p: CubaParams) -> CubaState:
    """Advance a CUBA layer by one time step."""
    u = current(acc, state.u, p)
    u = u - 2 * HALF_TURN * (u > HALF_TURN) + 2 * HALF_TURN * (u <= -HALF_TURN)
    v = saturate(membrane(u, state.v * (1 - state.s), p))
    return CubaState(u, v, (v > (p.vth << CURRENT_SHIFT)) * 1)
