"""The oracle's CE-LIF layer, whose threshold adapts.

At step k, for each neuron::

    Θ ← sat( rz(β·(Θ−Θ0), 12) + rz(TE[k]·V, te_exp) + Θ0 )
    V ← sat( rz(α·V, 12)·(1−S) + (acc « shift) + (bias_mant « bias_exp) )
    S ← V ≥ Θ

The right-hand sides of Θ and V hold the V and S of the previous step; Θ is updated first. A neuron
that spiked still contributes TE·V with the V it spiked at: the reset only enters V. ``acc`` is the
integer sum of weight mantissas times inputs. A sample starts at V = 0, S = 0, Θ = Θ0.
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


def celif_layer(
    weight: Matrix,
    inputs: Matrix,
    te: Matrix,
    *,
    weight_rec: Matrix | None = None,
    sum_down: int = 0,
    own_up: int = 0,
    alpha_mant: int | Vector,
    beta_mant: int | Vector,
    theta0_int: int,
    te_exp: int | Vector,
    shift: int | Vector,
    bias_mant: Vector,
    bias_exp: int,
) -> Traces:
    """Run a CE-LIF layer over one sample.

    Parameters
    ----------
    weight, inputs : [neuron][input], [input][step]
        Weight mantissas, and spikes or graded integer inputs.
    te : [neuron][step]
        Mantissas TE; steps beyond those of `inputs` are ignored.
    weight_rec : [to][from], optional
        Weight mantissas of a recurrent layer.
    sum_down, own_up : int
        Right shift of both sums; left shift, before it, of that of the layer's own spikes.
    alpha_mant, beta_mant : int or [neuron]
        Decays of V and of Θ−Θ0, in 1/4096; one for all neurons, or one each.
    theta0_int : int
        Resting threshold Θ0.
    te_exp, shift : int or [neuron]
        Right shift of TE·V, left shift of the weighted sum; one for all neurons, or one each.
    bias_mant, bias_exp : [neuron], int
        The bias of a neuron is ``bias_mant « bias_exp``.

    Returns
    -------
    dict
        'v', 'theta' and 's', each [neuron][step]; 'v' is the value compared with 'theta'.
    """
    traces: Traces = {name: [[] for _ in weight] for name in ("v", "theta", "s")}
    neurons = range(len(weight))
    te_down, sum_up = for_each(te_exp, len(weight)), for_each(shift, len(weight))
    alpha, beta = for_each(alpha_mant, len(weight)), for_each(beta_mant, len(weight))
    bias = [mantissa << bias_exp for mantissa in bias_mant]
    v, s, theta = [0 for _ in neurons], [0 for _ in neurons], [theta0_int for _ in neurons]
    for k in range(len(inputs[0])):
        for n, acc in enumerate(arriving(weight, inputs, k, weight_rec, s[:], sum_down, own_up)):
            # Θ goes first because it needs the V of the previous step, not yet reset.
            adaptation = rz(beta[n] * (theta[n] - theta0_int), DECAY_BITS)
            theta[n] = saturate(adaptation + rz(te[n][k] * v[n], te_down[n]) + theta0_int)
            kept = rz(alpha[n] * v[n], DECAY_BITS) * (1 - s[n])
            v[n] = saturate(kept + (acc << sum_up[n]) + bias[n])
            s[n] = int(v[n] >= theta[n])
            for name, value in (("v", v[n]), ("theta", theta[n]), ("s", s[n])):
                traces[name][n].append(value)
    return traces


def held_te(columns: Matrix, hold: int, steps: int) -> list[list[int]]:
    """TE [neuron][step] of a table that keeps one column for every `hold` steps."""
    return [[row[k // hold] for k in range(steps)] for row in columns]


def packed_te(table: Matrix, hold: int, steps: int) -> list[list[int]]:
    """TE [neuron][step] of bytes that hold two mantissas of 4 bits each, the earlier one low."""
    columns = []
    for row in table:
        nibbles = [nibble for byte in row for nibble in (byte % 16, byte // 16)]
        columns.append([nibble - 16 if nibble > 7 else nibble for nibble in nibbles])
    return held_te(columns, hold, steps)


def cosine_te(increments: Vector, wave: Vector, steps: int) -> list[list[int]]:
    """TE [neuron][step] of phases that advance by `increments` of 2⁻²² turns a step.

    `wave` is the first quarter of a cosine, sampled at the middles of equal parts; the other three
    follow by symmetry.
    """
    falling = list(wave)
    rising = falling[::-1]
    turn = falling + [-w for w in rising] + [-w for w in falling] + rising
    part = 2**22 // len(turn)
    return [[turn[k * step % 2**22 // part] for k in range(steps)] for step in increments]


def arguments(layer: Any) -> dict[str, Any]:
    """Return what `celif_layer` needs of a layer; lists have one entry per output channel."""
    return {
        "te": _te(layer),
        "te_exp": layer.te_shift.tolist(),
        "shift": layer.shift.tolist(),
        "bias_mant": layer.bias_mant.tolist(),
        "alpha_mant": plain(layer.alpha_mant),
        "beta_mant": plain(layer.beta_mant),
        "theta0_int": layer.theta0_int,
        "bias_exp": layer.bias_exp,
    }


def _te(layer: Any) -> list[list[int]]:
    """TE mantissas, computed from what the layer keeps of them."""
    form, steps = layer.te_form, layer.te.shape[1]
    stored = form.stored(layer.te).tolist()
    if form.encoding == "cosine":
        return cosine_te(stored, form.wave.tolist(), steps)
    decode = packed_te if form.encoding == "packed" else held_te
    return decode(stored, form.hold, steps)


run = celif_layer
