"""The CE-LIF step of one layer and one time step, compiled, for models that step one by one.

It is the same :func:`export.steps.celif.step` as everywhere, in a loop over neurons without
threads, and changes the state in place.
"""

from __future__ import annotations

import numpy as np

from export.steps import celif
from export.steps.celif import IntParams, State
from training.support import compiled

_celif_step = celif.step


@compiled.kernel(parallel=False)
def _advance(  # type: ignore[no-untyped-def]
    acc, te, alpha_mant, beta_mant, theta0_int, te_exp, shift, bias, theta, v, s
):
    for n in range(acc.size):
        new = _celif_step(
            acc[n],
            te[n],
            State(theta[n], v[n], s[n]),
            IntParams(alpha_mant[n], beta_mant[n], theta0_int[n], te_exp[n], shift[n], bias[n]),
        )
        theta[n], v[n], s[n] = new.theta, new.v, new.s


class CelifStep:
    """Advances a layer by one time step at a time.

    Parameters
    ----------
    neurons
        Neurons of the layer.
    p
        Registers, each one value for all neurons or one for each.
    """

    def __init__(self, neurons: int, p: IntParams):
        # Arrays of one type and layout, so that numba compiles a single version.
        self._registers = [self._each(value, neurons) for value in p]
        self._neurons = neurons

    def __call__(self, acc: np.ndarray, te: np.ndarray, state: State) -> State:
        """Take the sums and mantissas of a step, and change the state's arrays in place."""
        state = State(*(self._each(register, self._neurons) for register in state))
        te = self._each(te, self._neurons)
        _advance(acc.astype(np.int64), te, *self._registers, *state)
        return state

    @staticmethod
    def _each(value: np.ndarray, neurons: int) -> np.ndarray:
        if value.shape == (neurons,) and value.dtype == np.int64 and value.flags.c_contiguous:
            return value
        return np.ascontiguousarray(np.broadcast_to(value, neurons), np.int64)
