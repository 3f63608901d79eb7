"""The ALIF neuron in integers: a LIF membrane under a threshold that its own spikes raise.

::

    Θ ← sat( rz(β·(Θ−Θ0), 12) + γ·S + Θ0 )
    V ← sat( rz(α·V, 12)·(1−S) + (acc « s) + b )
    S ← V ≥ Θ

Old V and S stand on the right, with V before its reset; Θ comes first. γ has the F fractional bits
of Θ, so γ·S is an addition, not a product.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from export.loihi2 import DECAY_BITS
from export.steps.arithmetic import saturate, shift_to_zero
from export.steps.lif import membrane, membrane_listing
from export.steps.listing import Instruction, Program, saturated, towards_zero
from training.support import compiled


class AlifState(NamedTuple):
    """Registers of a neuron, with ``v`` before the reset and ``s`` 0 or 1."""

    theta: Any
    v: Any
    s: Any


class AlifParams(NamedTuple):
    """Decay mantissas, resting threshold, its rise after a spike, current shift, added bias."""

    alpha_mant: Any
    beta_mant: Any
    theta0_int: Any
    gamma_int: Any
    shift: Any
    bias: Any


@compiled.jitable
def threshold(theta: Any, s: Any, p: AlifParams) -> Any:
    """Θ of the next time step, before it saturates."""
    decayed = shift_to_zero(p.beta_mant * (theta - p.theta0_int), DECAY_BITS)
    return decayed + p.gamma_int * s + p.theta0_int


@compiled.jitable
def step(acc: Any, state: AlifState, p: AlifParams) -> AlifState:
    """Advance an ALIF layer by one time step."""
    theta = saturate(threshold(state.theta, state.s, p))
    v = saturate(membrane(acc, state.v * (1 - state.s), p))
    return AlifState(theta, v, (v >= theta) * 1)


@compiled.jitable
def step_at(acc: Any, now: Any, p: AlifParams, n: Any) -> AlifState:
    """Advance neuron ``n``, whose registers and constants are entries of arrays."""
    own = AlifParams(
        p.alpha_mant[n], p.beta_mant[n], p.theta0_int[n], p.gamma_int[n], p.shift[n], p.bias[n]
    )
    return step(acc, AlifState(now[0][n], now[1][n], now[2][n]), own)


def listing() -> Program:
    """One step of a neuron in generic instructions; ``acc`` is its synaptic sum."""
    return (
        Instruction("LOAD", "theta", "theta", note="Θ of the step before"),
        Instruction("LOAD", "v", "v", note="V of the step before, not reset"),
        Instruction("LOAD", "s", "s", note="S of the step before"),
        Instruction("SUB", "d", "theta", "theta0_int", "β·(Θ−Θ0)"),
        Instruction("MUL", "d", "d", "beta_mant", "β·(Θ−Θ0)"),
        *towards_zero("d", DECAY_BITS, (1 << DECAY_BITS) - 1, "β·(Θ−Θ0)"),
        Instruction("SUB", "t", 1, "s", "1−S"),
        Instruction("CLR", "g", "gamma_int", "t", "γ·S"),
        Instruction("ADD", "theta", "d", "g", "Θ"),
        Instruction("ADD", "theta", "theta", "theta0_int", "Θ"),
        *saturated("theta", "Θ"),
        *membrane_listing(),
        Instruction("GE", "s", "v", "theta", "S: equality is a spike"),
        Instruction("STORE", "theta", "theta"),
        Instruction("STORE", "v", "v"),
        Instruction("STORE", "s", "s"),
        Instruction("SEND", "", "s"),
    )
