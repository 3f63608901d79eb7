"""The oracle's LIF layer: a leaky membrane, a constant threshold and a hard reset.

At every step, for each neuron::

    V ← sat( rz(α·V, 12)·(1−S) + (acc « shift) + (bias_mant « bias_exp) )
    S ← V ≥ Θ0

A sample starts at V = 0, S = 0.
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
    theta0_int: int,
    shift: Vector,
    bias_mant: Vector,
    bias_exp: int,
) -> Traces:
    """Run a LIF layer over one sample; arguments as in `hw_tests.oracle.celif.celif_layer`."""
    traces: Traces = {name: [[] for _ in weight] for name in ("v", "s")}
    alpha = for_each(alpha_mant, len(weight))
    v, s = [0] * len(weight), [0] * len(weight)
    for k in range(len(inputs[0])):
        for n, acc in enumerate(arriving(weight, inputs, k, weight_rec, s[:], sum_down, own_up)):
            kept = 0 if s[n] else rz(alpha[n] * v[n], DECAY_BITS)
            v[n] = saturate(kept + (acc << shift[n]) + (bias_mant[n] << bias_exp))
            s[n] = int(v[n] >= theta0_int)
            traces["v"][n].append(v[n])
            traces["s"][n].append(s[n])
    return traces


def arguments(layer: Any) -> dict[str, Any]:
    """Return what `run` needs of a layer; lists have one entry per output channel."""
    return {
        "alpha_mant": plain(layer.alpha_mant),
        "theta0_int": layer.theta0_int,
        "shift": layer.shift.tolist(),
        "bias_mant": layer.bias_mant.tolist(),
        "bias_exp": layer.bias_exp,
    }
