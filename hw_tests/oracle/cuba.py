"""The oracle's CUBA layer, Lava's stock fixed-point LIF.

A sample starts at u = v = 0::

u ← wrap( rz(u·(4096−(du+1)), 12) + (acc « 6) )
v ← sat( rz(v·(4096−dv), 12) + u + (bias_mant « bias_exp) )
s ← v > vth « 6,  then v ← 0 where s
"""

from typing import Any

from hw_tests.oracle.arithmetic import (
    DECAY_BITS,
    Matrix,
    Traces,
    Vector,
    arriving,
    rz,
    saturate,
)

CUBA_ALIGN_BITS = 6


def _wrap_current(u: int) -> int:
    """Wrap a CUBA current as Lava does: into (−2²³, 2²³], by one turn at most."""
    # Not plain two's complement: +2²³ survives, −2²³ becomes +2²³, and beyond ±3·2²³ one turn is
    # not enough and the value stays out of range.
    if u > 2**23:
        return u - 2**24
    return u + 2**24 if u <= -(2**23) else u


def cuba_layer(
    weight: Matrix,
    inputs: Matrix,
    *,
    du: int,
    dv: int,
    vth: int,
    bias_mant: Vector,
    bias_exp: int,
    weight_rec: Matrix | None = None,
    sum_down: int = 0,
    own_up: int = 0,
) -> Traces:
    """Run a CUBA layer (Lava's fixed-point LIF) over one sample.

    Parameters
    ----------
    weight, inputs, bias_mant, bias_exp, weight_rec, sum_down, own_up
        As in `hw_tests.oracle.celif.celif_layer`.
    du, dv, vth : int
        Decays of current and voltage (Lava adds 1 to `du` only), threshold before its shift.

    Returns
    -------
    dict
        'v' (before the reset), 'u' and 's', each [neuron][step].
    """
    traces: Traces = {name: [[] for _ in weight] for name in ("v", "u", "s")}
    u, v, s = [0] * len(weight), [0] * len(weight), [0] * len(weight)
    for k in range(len(inputs[0])):
        for n, acc in enumerate(arriving(weight, inputs, k, weight_rec, s[:], sum_down, own_up)):
            u[n] = _wrap_current(rz(u[n] * (4096 - (du + 1)), DECAY_BITS) + (acc << 6))
            kept = rz(v[n] * (1 - s[n]) * (4096 - dv), DECAY_BITS)
            v[n] = saturate(kept + u[n] + (bias_mant[n] << bias_exp))
            s[n] = int(v[n] > vth << CUBA_ALIGN_BITS)
            for name, value in (("v", v[n]), ("u", u[n]), ("s", s[n])):
                traces[name][n].append(value)
    return traces


def arguments(layer: Any) -> dict[str, Any]:
    """Return what `cuba_layer` needs of a layer; lists have one entry per output channel."""
    return {
        "du": layer.du,
        "dv": layer.dv,
        "vth": layer.vth,
        "bias_mant": layer.bias_mant.tolist(),
        "bias_exp": CUBA_ALIGN_BITS,
    }


run = cuba_layer
