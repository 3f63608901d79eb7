"""An independent oracle of the layers, in plain Python integers.

It shares no code with the training or the export. Python's integers never overflow, so every limit
of the hardware appears below as an explicit step.

CE-LIF, a spiking layer whose threshold adapts; at step k, for each neuron::

    Θ ← sat( rz(β·(Θ−Θ0), 12) + rz(TE[k]·V, te_exp) + Θ0 )
    V ← sat( rz(α·V, 12)·(1−S) + (acc « shift) + (bias_mant « bias_exp) )
    S ← V ≥ Θ

The right-hand sides of Θ and V hold the V and S of the previous step; Θ is updated first. A neuron
that spiked still contributes TE·V with the V it spiked at: the reset only enters V. ``acc`` is the
integer sum of weight mantissas times inputs. A sample starts at V = 0, S = 0, Θ = Θ0.

CUBA, Lava's stock fixed-point LIF; a sample starts at u = v = 0::

    u ← wrap( rz(u·(4096−(du+1)), 12) + (acc « 6) )
    v ← sat( rz(v·(4096−dv), 12) + u + (bias_mant « bias_exp) )
    s ← v > vth « 6,  then v ← 0 where s

Sigma-delta, Lava's stock fixed-point SigmaDelta with ReLU; a sample starts at σ = a = r = 0::

    σ ← σ + (acc « shift), in 32 bits
    d ← max(σ + (bias_mant « 12), 0) − a + r,  then a ← max(σ + (bias_mant « 12), 0)
    m ← d limited to ±(65535 « 6) if |d| ≥ vth « 12, else 0
    r ← d − m,  s ← m » 6 (rounding down)

In a recurrent layer ``acc`` also has the weights times the layer's own spikes of the step before,
shifted left where a spike counts for more than an input. Each of the two sums may first be shifted
right, rounding down.

Readout: logits[c] = Σ_t ( Σ_n W[c][n]·s[n][t] + bias[c] ).

Here rz(x, n) shifts right by n rounding towards zero, and sat limits to ±(2²³−1).
"""

from collections.abc import Sequence

Vector = Sequence[int]
Matrix = Sequence[Sequence[int]]
Traces = dict[str, list[list[int]]]

STATE_MAX = 2**23 - 1
DECAY_BITS = 12
CUBA_ALIGN_BITS = 6


def rz(x: int, n: int) -> int:
    """Shift `x` right by `n` bits, rounding towards zero (a bare ``>>`` would round down)."""
    return x >> n if x >= 0 else -(-x >> n)


def saturate(x: int) -> int:
    """Limit `x` to ±(2²³−1)."""
    return max(-STATE_MAX, min(STATE_MAX, x))


def _wrap_current(u: int) -> int:
    """Wrap a CUBA current as Lava does: into (−2²³, 2²³], by one turn at most."""
    # Not plain two's complement: +2²³ survives, −2²³ becomes +2²³, and beyond ±3·2²³ one turn is
    # not enough and the value stays out of range.
    if u > 2**23:
        return u - 2**24
    return u + 2**24 if u <= -(2**23) else u


def _accumulate(row: Vector, inputs: Matrix, step: int) -> int:
    """Sum weight mantissas times inputs of one neuron at one step."""
    return sum(w * channel[step] for w, channel in zip(row, inputs, strict=True))


def _arriving(
    weight: Matrix,
    inputs: Matrix,
    step: int,
    own: Matrix | None,
    spikes: Vector,
    sum_down: int,
    own_up: int,
) -> list[int]:
    """Sums that reach each neuron at one step; `spikes` are the layer's own, of the step before."""
    sums = [_accumulate(row, inputs, step) >> sum_down for row in weight]
    if own is None:
        return sums
    return [
        total + ((sum(w * s for w, s in zip(row, spikes, strict=True)) << own_up) >> sum_down)
        for total, row in zip(sums, own, strict=True)
    ]


def celif_layer(
    weight: Matrix,
    inputs: Matrix,
    te: Matrix,
    *,
    weight_rec: Matrix | None = None,
    sum_down: int = 0,
    own_up: int = 0,
    alpha_mant: int,
    beta_mant: int,
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
    alpha_mant, beta_mant : int
        Decays of V and of Θ−Θ0, in 1/4096.
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
    te_down = [te_exp] * len(weight) if isinstance(te_exp, int) else te_exp
    sum_up = [shift] * len(weight) if isinstance(shift, int) else shift
    bias = [mantissa << bias_exp for mantissa in bias_mant]
    v, s, theta = [0 for _ in neurons], [0 for _ in neurons], [theta0_int for _ in neurons]
    for k in range(len(inputs[0])):
        for n, acc in enumerate(_arriving(weight, inputs, k, weight_rec, s[:], sum_down, own_up)):
            # Θ goes first because it needs the V of the previous step, not yet reset.
            adaptation = rz(beta_mant * (theta[n] - theta0_int), DECAY_BITS)
            theta[n] = saturate(adaptation + rz(te[n][k] * v[n], te_down[n]) + theta0_int)
            kept = rz(alpha_mant * v[n], DECAY_BITS) * (1 - s[n])
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
        As in `celif_layer`.
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
        for n, acc in enumerate(_arriving(weight, inputs, k, weight_rec, s[:], sum_down, own_up)):
            u[n] = _wrap_current(rz(u[n] * (4096 - (du + 1)), DECAY_BITS) + (acc << 6))
            kept = rz(v[n] * (1 - s[n]) * (4096 - dv), DECAY_BITS)
            v[n] = saturate(kept + u[n] + (bias_mant[n] << bias_exp))
            s[n] = int(v[n] > vth << CUBA_ALIGN_BITS)
            for name, value in (("v", v[n]), ("u", u[n]), ("s", s[n])):
                traces[name][n].append(value)
    return traces


def sigma_delta_layer(
    weight: Matrix, inputs: Matrix, *, shift: int, vth: int, bias_mant: Vector
) -> Traces:
    """Run a sigma-delta layer over one sample.

    Parameters
    ----------
    weight, inputs
        As in `celif_layer`.
    shift : int
        Left shift of the weighted sum: 12 for spikes, 0 for messages.
    vth, bias_mant : int, [neuron]
        Threshold and biases, each before its shift by 12.

    Returns
    -------
    dict
        'v' (the sum σ) and 's' (the messages), each [neuron][step].
    """
    traces: Traces = {name: [[] for _ in weight] for name in ("v", "s")}
    largest = 65535 * 64
    for n, row in enumerate(weight):
        sigma, activation, left = 0, 0, 0
        for k in range(len(inputs[0])):
            sigma = (sigma + (_accumulate(row, inputs, k) << shift) + 2**31) % 2**32 - 2**31
            before, activation = activation, max(sigma + bias_mant[n] * 4096, 0)
            change = activation - before + left
            sent = 0
            if abs(change) >= vth * 4096:
                sent = max(-largest, min(largest, change))
            left = change - sent
            traces["v"][n].append(sigma)
            traces["s"][n].append(sent // 64)
    return traces


def readout(weight: Matrix, inputs: Matrix, bias: Vector) -> list[int]:
    """Sum weighted inputs and bias of each class over one sample, asserting 32 bits throughout."""
    logits = [0] * len(weight)
    for c, (row, offset) in enumerate(zip(weight, bias, strict=True)):
        for k in range(len(inputs[0])):
            logits[c] += _accumulate(row, inputs, k) + offset
            assert abs(logits[c]) < 2**31, f"logit {logits[c]} leaves 32 bits at step {k}"
    return logits
