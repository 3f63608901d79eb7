"""The CE-LIF recurrence in float, written once.

For t = 1..T, from V[0] = 0, S[0] = 0, Θ[0] = Θ0::

    Θ[t] = β·(Θ[t-1] − Θ0) + TE[t]⊙V[t-1] + Θ0
    V[t] = α·V[t-1]·(1 − S[t-1]) + I[t]
    S[t] = 1 where V[t] ≥ Θ[t], else 0

The threshold comes first, and reads V[t-1] as it was *before* the reset: a neuron
that has just spiked still writes TE[t]·V[t-1] into its threshold.

:func:`advance` is the same with any contextual embedding in the place of TE[t]⊙V[t-1], for the
paper's ablation and for the neurons that it is compared with (:mod:`training.kernels.adaptive`).

:func:`step` uses plain operators only. The same function object serves torch tensors
(:mod:`training.kernels.reference`), numpy arrays (the Lava float model) and, compiled by numba,
scalars (:mod:`training.kernels.fused`); all three give the same float32 bits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from training.support import compiled


class State(NamedTuple):
    """What a neuron carries from one step to the next; ``v`` is before the reset."""

    theta: Any
    v: Any
    s: Any


class Params(NamedTuple):
    """Membrane decay, threshold decay and resting threshold of a layer."""

    alpha: Any
    beta: Any
    theta0: Any

    def cast(self, dtype: np.dtype | type) -> Params:
        """Give the parameters the numpy type in which a kernel computes."""
        return Params(*(np.dtype(dtype).type(value) for value in self))


@compiled.jitable
def advance(x: Any, ce: Any, state: State, p: Params, spike: Callable[[Any, Any], Any]) -> State:
    """Advance a layer by one time step with the contextual embedding ``ce`` in its threshold."""
    theta = p.beta * (state.theta - p.theta0) + ce + p.theta0
    # decayed − decayed·S is α·V·(1 − S) without a literal 1, whose type numba would widen.
    decayed = p.alpha * state.v
    v = decayed - decayed * state.s + x
    return State(theta, v, spike(v, theta))


@compiled.jitable
def step(x: Any, te: Any, state: State, p: Params, spike: Callable[[Any, Any], Any]) -> State:
    """Advance a layer by one time step.

    Parameters
    ----------
    x, te
        Input current I[t] and temporal encoding TE[t].
    state
        State at t − 1.
    p
        Parameters in the arithmetic's own type.
    spike
        Called as ``spike(v, theta)``; 1 or True where ``v >= theta``. The caller's choice, because
        torch needs a surrogate gradient there.
    """
    return advance(x, te * state.v, state, p, spike)
