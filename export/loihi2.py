"""Loihi's bit widths and ranges: the sole home of 24, 12, 8 and 6.

Widths are those that Lava's public Processes document and its bit-accurate models use
(``lava.proc.lif``, ``lava.proc.dense`` in lava-nc 0.10); Intel publishes no register map.
"""

from __future__ import annotations

STATE_BITS = 24
STATE_MAX = (1 << (STATE_BITS - 1)) - 1
"""V and Θ saturate at ±STATE_MAX."""
SAFE_STATE_MAX = STATE_MAX - 1
"""A state at the very end may have been cut there, so it counts as saturated; this one cannot."""

DECAY_BITS = 12
DECAY_ONE = 1 << DECAY_BITS
"""α and β are mantissas of 1/DECAY_ONE, below one."""

WEIGHT_BITS = 8
WEIGHT_MAX = (1 << (WEIGHT_BITS - 1)) - 1
"""Weight mantissas are symmetric, −127..127: Dense clips −256 to −255 in inhibitory matrices."""

WEIGHT_BITS_MIN = TE_BITS_MIN = 2
WEIGHT_EXP_MIN = -8
TE_BITS_MAX = 16
TE_EXP_MAX = 31
FRACTION_BITS_MAX = 16

PACKED_BITS = 4
"""Most bits of a TE mantissa of which two share a byte."""

STEPS_MAX = 1 << 20
"""Longest sample, and TE."""

HOLD_MAX = 64
"""Most steps for which one TE mantissa may be held."""

PHASE_BITS = 22
"""Bits of a generated cosine's phase; a phase plus an increment fits a signed register."""

WAVE_BITS_MAX = 10
"""log2 of the most mantissas that a quarter of a wave may have."""

BIAS_MANT_BITS = 13
BIAS_MANT_MIN, BIAS_MANT_MAX = -(1 << (BIAS_MANT_BITS - 1)), (1 << (BIAS_MANT_BITS - 1)) - 1
BIAS_EXP_BITS = 3
BIAS_EXP_MAX = (1 << BIAS_EXP_BITS) - 1

MESSAGE_BITS_MAX = 16
"""Graded spikes, magnitude bits."""

MESSAGE_BITS_FIELD = 5
"""Bits in which a synapse keeps the number of its message bits."""

SUM_BITS = 32
READOUT_MAX = (1 << (SUM_BITS - 1)) - 1
"""The readout accumulates in 32 bits."""

SUM_MAX = (1 << (SUM_BITS - 1)) - 1
"""Lava carries synaptic sums in 32 bits and does not notice when they overflow."""

SYNAPSE_SHIFT = 1
"""A Dense synapse holds twice the mantissa, so that clearing its lowest bit changes nothing."""

CURRENT_SHIFT = 6
"""Stock LIF shifts the synaptic sum, its bias and its threshold up by this many bits."""

REFRACTORY_COUNT = 1 << 7
"""V of a stock LIF after a spike, as a chip shows it: its refractory period, 1, is counted in V."""

CUBA_WEIGHT_MIN, CUBA_WEIGHT_MAX = -256, 254

CUBA_VTH_BITS = 17
CUBA_VTH_MAX = (1 << CUBA_VTH_BITS) - 1
SDNN_BIAS_MAX = (1 << 15) - 1
"""Documented for Lava's LIF and SigmaDelta, neither of which checks it."""

DELAY_BITS = 6
DELAY_MAX = (1 << DELAY_BITS) - 2
"""Longest axonal delay: of six bits, SLAYER and netx use all but the last value."""

GAP_MAX = 64
"""Most silent steps between samples; the longest delay of a shifted block needs one less."""

PIXELS_MAX = 1 << 20
"""Most inputs of a convolution."""
