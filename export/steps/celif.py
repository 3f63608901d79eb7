"""The CE-LIF recurrence in integers, as FORMAT.md specifies it, written once.

::

    Θ ← sat( rz(β·(Θ−Θ0), 12) + rz(TE[k]·V, e_te) + Θ0 )
    V ← sat( rz(α·V, 12)·(1−S) + (acc « s) + b )
    S ← V ≥ Θ

rz(x, n) shifts right by n bits, rounding towards zero; sat clips to ±(2²³−1), once per
register and step. Old V and S stand on the right; Θ comes first and reads V before its reset.
``acc`` is the integer sum of weight mantissas times inputs, b the bias mantissa « its exponent.

Plain operators only: the same function object serves numpy arrays (the Lava fixed model),
torch tensors and, compiled by numba, the scalars of the batched twin. Everything is 64 bits
wide: TE (16 bits) times V (24 bits) needs 40.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from export.loihi2 import DECAY_BITS
from export.steps.arithmetic import saturate, shift_to_zero
from training.support import compiled


class State(NamedTuple):
    """Registers of a neuron, with ``v`` before the reset and ``s`` 0 or 1."""

    theta: Any
    v: Any
    s: Any


class IntParams(NamedTuple):
    """Registers that stay: decay mantissas, resting threshold, exponent of TE, current shift, bias.

    ``bias`` is the value added to V (mantissa already shifted), one per neuron.
    """

    alpha_mant: Any
    beta_mant: Any
    theta0_int: Any
    te_exp: Any
    shift: Any
    bias: Any


@compiled.jitable
def unsaturated(acc: Any, te: Any, state: State, p: IntParams) -> tuple[Any, Any]:
    """Θ and V of the next time step, before they are put into their registers."""
    theta = (
        shift_to_zero(p.beta_mant * (state.theta - p.theta0_int), DECAY_BITS)
        + shift_to_zero(te * state.v, p.te_exp)
        + p.theta0_int
    )
    decayed = shift_to_zero(p.alpha_mant * state.v, DECAY_BITS)
    return theta, decayed * (1 - state.s) + (acc << p.shift) + p.bias


@compiled.jitable
def step(acc: Any, te: Any, state: State, p: IntParams) -> State:
    """Advance a layer by one time step in integers."""
    theta, v = unsaturated(acc, te, state, p)
    theta, v = saturate(theta), saturate(v)
    return State(theta, v, (v >= theta) * 1)
