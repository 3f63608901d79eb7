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


def celif_layer(
    weight: Matrix,
    inputs: Matrix,
    te: Matrix,
    *,
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
    for n, (row, te_row, mantissa) in enumerate(zip(weight, te, bias_mant, strict=True)):
        v, s, theta = 0, 0, theta0_int
        te_down = te_exp if isinstance(te_exp, int) else te_exp[n]
        sum_up = shift if isinstance(shift, int) else shift[n]
        for k in range(len(inputs[0])):
            # Θ goes first because it needs the V of the previous step, not yet reset.
            adaptation = rz(beta_mant * (theta - theta0_int), DECAY_BITS)
            theta = saturate(adaptation + rz(te_row[k] * v, te_down) + theta0_int)
            kept = rz(alpha_mant * v, DECAY_BITS) * (1 - s)
            v = saturate(kept + (_accumulate(row, inputs, k) << sum_up) + (mantissa << bias_exp))
            s = int(v >= theta)
            for name, value in (("v", v), ("theta", theta), ("s", s)):
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
    weight: Matrix, inputs: Matrix, *, du: int, dv: int, vth: int, bias_mant: Vector, bias_exp: int
) -> Traces:
    """Run a CUBA layer (Lava's fixed-point LIF) over one sample.

    Parameters
    ----------
    weight, inputs, bias_mant, bias_exp
        As in `celif_layer`.
    du, dv, vth : int
        Decays of current and voltage (Lava adds 1 to `du` only), threshold before its shift.

    Returns
    -------
    dict
        'v' (before the reset), 'u' and 's', each [neuron][step].
    """
    traces: Traces = {name: [[] for _ in weight] for name in ("v", "u", "s")}
    for n, (row, mantissa) in enumerate(zip(weight, bias_mant, strict=True)):
        u, v = 0, 0
        for k in range(len(inputs[0])):
            drive = _accumulate(row, inputs, k) << CUBA_ALIGN_BITS
            u = _wrap_current(rz(u * (4096 - (du + 1)), DECAY_BITS) + drive)
            v = saturate(rz(v * (4096 - dv), DECAY_BITS) + u + (mantissa << bias_exp))
            s = int(v > vth << CUBA_ALIGN_BITS)
            for name, value in (("v", v), ("u", u), ("s", s)):
                traces[name][n].append(value)
            v *= 1 - s
    return traces


def readout(weight: Matrix, inputs: Matrix, bias: Vector) -> list[int]:
    """Sum weighted inputs and bias of each class over one sample, asserting 32 bits throughout."""
    logits = [0] * len(weight)
    for c, (row, offset) in enumerate(zip(weight, bias, strict=True)):
        for k in range(len(inputs[0])):
            logits[c] += _accumulate(row, inputs, k) + offset
            assert abs(logits[c]) < 2**31, f"logit {logits[c]} leaves 32 bits at step {k}"
    return logits
