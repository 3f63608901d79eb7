"""The LIF neuron in integers: a leaky membrane, a constant threshold and a hard reset.

::

    V ← sat( rz(α·V, 12)·(1−S) + (acc « s) + b )
    S ← V ≥ Θ0

Old V and S stand on the right, with V before its reset. It is CE-LIF without a temporal encoding
(:mod:`export.steps.celif`), whose threshold then never leaves Θ0.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from export.loihi2 import DECAY_BITS
from export.steps.arithmetic import saturate, shift_to_zero
from export.steps.listing import Instruction, Program, saturated, towards_zero
from training.support import compiled


class LifState(NamedTuple):
    """Registers of a neuron, with ``v`` before the reset and ``s`` 0 or 1."""

    v: Any
    s: Any


class LifParams(NamedTuple):
    """Decay mantissa, threshold, current shift, and the bias as it is added to V."""

    alpha_mant: Any
    theta0_int: Any
    shift: Any
    bias: Any


@compiled.jitable
def membrane(acc: Any, kept: Any, p: Any) -> Any:
    """V of the next time step, before it saturates; ``kept`` is what a spike left of the old V."""
    return shift_to_zero(p.alpha_mant * kept, DECAY_BITS) + (acc << p.shift) + p.bias


@compiled.jitable
def step(acc: Any, state: LifState, p: LifParams) -> LifState:
    """Advance a LIF layer by one time step."""
    v = saturate(membrane(acc, state.v * (1 - state.s), p))
    return LifState(v, (v >= p.theta0_int) * 1)


@compiled.jitable
def step_at(acc: Any, now: Any, p: LifParams, n: Any) -> LifState:
    """Advance neuron ``n``, whose registers and constants are entries of arrays."""
    own = LifParams(p.alpha_mant[n], p.theta0_int[n], p.shift[n], p.bias[n])
    return step(acc, LifState(now[0][n], now[1][n]), own)


def membrane_listing() -> Program:
    """V of the next step, from ``v`` and ``s`` of the one before."""
    return (
        Instruction("MUL", "v", "v", "alpha_mant", "α·V"),
        *towards_zero("v", DECAY_BITS, (1 << DECAY_BITS) - 1, "α·V"),
        Instruction("CLR", "v", "v", "s", "(1−S): nothing is kept after a spike"),
        Instruction("SHL", "a", "acc", "shift", "synaptic sum"),
        Instruction("ADD", "v", "v", "a", "V"),
        Instruction("LOAD", "b", "bias_mant"),
        Instruction("SHL", "b", "b", "bias_exp", "bias"),
        Instruction("ADD", "v", "v", "b", "V"),
        *saturated("v", "V"),
    )


def listing() -> Program:
    """One step of a neuron in generic instructions; ``acc`` is its synaptic sum."""
    return (
        Instruction("LOAD", "v", "v", note="V of the step before, not reset"),
        Instruction("LOAD", "s", "s", note="S of the step before"),
        *membrane_listing(),
        Instruction("GE", "s", "v", "theta0_int", "S: equality is a spike"),
        Instruction("STORE", "v", "v"),
        Instruction("STORE", "s", "s"),
        Instruction("SEND", "", "s"),
    )
