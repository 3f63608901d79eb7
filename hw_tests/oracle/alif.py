"""The oracle's ALIF layer: every spike raises the threshold, which decays back to rest.

At every step, for each neuron::

    Θ ← sat( rz(β·(Θ−Θ0), 12) + γ·S + Θ0 )
    V ← sat( rz(α·V, 12)·(1−S) + (acc « shift) + (bias_mant « bias_exp) )
    S ← V ≥ Θ

The right-hand sides hold the V and S of the previous step; Θ is updated first. A sample starts at
V = 0, S = 0, Θ = Θ0.
"""

from typing import Any

from hw_tests.oracle.arithmetic import (
    DECAY_BITS,
    Matrix,
    Traces,
    Vector,
    arriving,
    for_each,
    plain,
    rz,
    saturate,
)


def run(
    weight: Matrix,
    inputs: Matrix,
    *,
    weight_rec: Matrix | None = None,
    sum_down: int = 0,
    own_up: int = 0,
    alpha_mant: int | Vector,
    beta_mant: int | Vector,
    theta0_int: int,
    gamma_int: int,
    shift: Vector,
    bias_mant: Vector,
    bias_exp: int,
) -> Traces:
    """Run an ALIF layer over one sample; arguments as in `hw_tests.oracle.celif.celif_layer`.

    `gamma_int` is what a spike adds to the threshold.
    """
    traces: Traces = {name: [[] for _ in weight] for name in ("v", "theta", "s")}
    alpha, beta = for_each(alpha_mant, len(weight)), for_each(beta_mant, len(weight))
    v, s, theta = [0] * len(weight), [0] * len(weight), [theta0_int] * len(weight)
    for k in range(len(inputs[0])):
        for n, acc in enumerate(arriving(weight, inputs, k, weight_rec, s[:], sum_down, own_up)):
            raised = rz(beta[n] * (theta[n] - theta0_int), DECAY_BITS)
            if s[n]:
                raised += gamma_int
            theta[n] = saturate(raised + theta0_int)
            kept = 0 if s[n] else rz(alpha[n] * v[n], DECAY_BITS)
            v[n] = saturate(kept + (acc << shift[n]) + (bias_mant[n] << bias_exp))
            s[n] = int(v[n] >= theta[n])
            for name, value in (("v", v[n]), ("theta", theta[n]), ("s", s[n])):
                traces[name][n].append(value)
    return traces


def arguments(layer: Any) -> dict[str, Any]:
    """Return what `run` needs of a layer; lists have one entry per output channel."""
    return {
        "alpha_mant": plain(layer.alpha_mant),
        "beta_mant": plain(layer.beta_mant),
        "theta0_int": layer.theta0_int,
        "gamma_int": layer.gamma_int,
        "shift": layer.shift.tolist(),
        "bias_mant": layer.bias_mant.tolist(),
        "bias_exp": layer.bias_exp,
    }
