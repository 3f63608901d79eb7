"""The compiled loops over time of the fused kernels, forward and backward, and of dropout.

Forward runs :func:`training.dynamics.step` itself. The backward pass is the one mirror written by
hand; with G = ∂L/∂· and G[T+1] = 0::

    GS[t] = (from above)[t] − GV[t+1]·α·V[t]
    GV[t] = GS[t]·g'[t] + GV[t+1]·α·(1 − S[t]) + GΘ[t+1]·TE[t+1]
    GΘ[t] = −GS[t]·g'[t] + GΘ[t+1]·β
    G_TE[t+1] = Σ_batch GΘ[t+1]·V[t]          G_I[t] = GV[t]

Arrays are (group, time, sample, neuron). The samples of a group advance together, so that a row
of TE, or of its gradient, is fetched once for all of them and memory is read in one stream.
Threads share the groups and, where there are more threads than groups, the neurons; neither
changes the order of a sum.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from training.dynamics import State, step
from training.support import compiled

_prange = compiled.parallel_range()

BOXED, SPIKED, DROPPED = 1, 2, 4
"""Bits of a flag: inside the surrogate's box, a spike, and whether dropout took it."""

NOTHING = np.float32(1e-30)
"""Below this, GV becomes zero in all scans but those of CE-LIF with V⊙TE. Between spikes it fades
by a factor at every step, and would soon be a number below 1e-38, which processors handle so slowly
that training steps take up to twice as long. With V⊙TE it does not fade like that: the threshold
keeps a gradient for hundreds of steps and returns it to V at each of them."""

_NARROWEST = 32
"""Neurons below which a thread's share is not worth its start."""


def share(groups: int, neurons: int) -> int:
    """How many neurons of a group a thread should take."""
    parts = min(-(-compiled.threads() // groups), max(1, neurons // _NARROWEST))
    return -(-neurons // parts)


@compiled.jitable
def spike(v: Any, theta: Any) -> Any:
    """Spike where v ≥ theta; the surrogate stands in the backward pass."""
    return v >= theta


@compiled.jitable
def adjoint(
    from_above: Any, grad_v: Any, grad_theta: Any, te: Any, v: Any, flags: Any, p: Any, zero: Any
) -> tuple[Any, Any]:
    """GV and GΘ of a step, from those of the step after it, whose TE is ``te``."""
    through_v = grad_v * p.alpha
    through_s = from_above - through_v * v
    boxed = through_s if flags & BOXED else zero
    kept = zero if flags & SPIKED else through_v
    return boxed + kept + grad_theta * te, grad_theta * p.beta - boxed


# In both scans the state has arrays of its own, and currents become spikes, gradients of spikes
# those of currents, in place. Each further array costs LLVM's vectoriser a check for overlap, of
# which it makes few, and the processor a stream of stores that may block loads from the same
# offset in other pages: together a factor of five. Unsigned indices need no test for being
# negative, which would be the end of vectorisation, too.


@compiled.kernel()
def forward(x, bias, te, p, width, v, flags, neurons_each):  # type: ignore[no-untyped-def]
    """Turn the currents ``x`` into spikes; ``v`` and ``flags`` are what the backward pass needs."""
    groups, steps, size, neurons = x.shape
    parts = (neurons + neurons_each - 1) // neurons_each
    for task in _prange(groups * parts):
        g, first = task // parts, task % parts * neurons_each
        last = min(first + neurons_each, neurons)
        theta = np.full((size, neurons), p.theta0)
        v_now = np.zeros((size, neurons), x.dtype)
        s_now = np.zeros((size, neurons), x.dtype)
        for t in range(steps):
            for i in range(size):
                for n in range(np.uint64(first), np.uint64(last)):
                    old = State(theta[i, n], v_now[i, n], s_now[i, n])
                    new = step(x[g, t, i, n] + bias[n], te[t, n], old, p, spike)
                    theta[i, n], v_now[i, n], s_now[i, n] = new.theta, new.v, new.s
                    v[g, t, i, n] = new.v
                    x[g, t, i, n] = new.s
                    boxed = abs(new.v - new.theta) < width
                    flags[g, t, i, n] = np.uint8(boxed) | np.uint8(new.s) << 1


@compiled.kernel()
def backward(grad, te, p, v, flags, grad_bias, grad_te, neurons_each):  # type: ignore[no-untyped-def]
    """Turn gradients of spikes into those of currents; add to group g's of bias and TE."""
    groups, steps, size, neurons = grad.shape
    parts = (neurons + neurons_each - 1) // neurons_each
    zero = p.alpha - p.alpha
    for task in _prange(groups * parts):
        g, first = task // parts, task % parts * neurons_each
        last = min(first + neurons_each, neurons)
        grad_v = np.zeros((size, neurons), grad.dtype)
        grad_theta = np.zeros((size, neurons), grad.dtype)
        for t in range(steps - 1, -1, -1):
            # After the last step grad_theta is 0: any row of TE, and of its gradient, will do.
            after = min(t + 1, steps - 1)
            # Samples and neurons backwards, too: a processor foresees one direction, not a zigzag.
            for i in range(size - 1, -1, -1):
                for k in range(np.uint64(last - first)):
                    n = np.uint64(last - 1) - np.uint64(k)
                    grad_te[g, after, n] += grad_theta[i, n] * v[g, t, i, n]
                    grad_v[i, n], grad_theta[i, n] = adjoint(
                        grad[g, t, i, n], grad_v[i, n], grad_theta[i, n], te[after, n],
                        v[g, t, i, n], flags[g, t, i, n], p, zero,
                    )  # fmt: skip
                    grad[g, t, i, n] = grad_v[i, n]
                    grad_bias[g, n] += grad_v[i, n]


@compiled.kernel()
def sent(flags, value, spikes):  # type: ignore[no-untyped-def]
    """What the layer sent: ``value`` where there was a spike that dropout left, else 0."""
    zero = value - value
    for row in _prange(flags.shape[0]):
        for n in range(flags.shape[1]):
            spikes[row, n] = value if flags[row, n] & (SPIKED | DROPPED) == SPIKED else zero


@compiled.kernel()
def returned(flags, value, grad):  # type: ignore[no-untyped-def]
    """Gradients of a layer's spikes, in place, from those of what :func:`sent` makes of them."""
    zero = value - value
    for row in _prange(flags.shape[0]):
        for n in range(flags.shape[1]):
            grad[row, n] = zero if flags[row, n] & DROPPED else grad[row, n] * value


_LOW = np.uint64(0xFFFFFFFF)


@compiled.jitable
def hashed(counter: Any, key: Any) -> Any:
    """32 random bits, a function of ``counter`` and ``key``; all are uint64.

    Chris Wellons' lowbias32 with the key between and before its rounds. Being a function of the
    place, a mask depends on neither the number of threads nor the order of the blocks.
    """
    x = (counter + key) & _LOW
    x = ((x ^ (x >> np.uint64(16))) * np.uint64(0x21F0AAAD)) & _LOW
    x = x ^ (key >> np.uint64(32))
    x = ((x ^ (x >> np.uint64(15))) * np.uint64(0xD35A2D97)) & _LOW
    return x ^ (x >> np.uint64(15))


@compiled.kernel()
def drop(flags, first, tied, key, below):  # type: ignore[no-untyped-def]
    """Mark as dropped where the hash of (sample, step, neuron) is less than ``below``.

    ``first`` is the first sample's place in its batch; ``tied`` drops a neuron at all steps.
    """
    groups, steps, size, neurons = flags.shape
    for g in _prange(groups):
        for t in range(steps):
            for i in range(size):
                row = (first + g * size + i) * steps + (0 if tied else t)
                start = np.uint64(row * neurons)
                for n in range(np.uint64(neurons)):
                    dropped = hashed(start + np.uint64(n), key) < below
                    flags[g, t, i, n] |= np.uint8(dropped) << 2
