"""How a layer's temporal encoding is stored, and how its mantissas are restored step by step.

A **table** keeps mantissas (row, column); each column serves ``hold`` steps, TE[k] = column
k div hold. Mantissas of up to 4 bits may be **packed**, two to a byte, the earlier one in the low
half.

A **cosine** keeps a phase increment per row and a quarter of a wave, 2^Q mantissas, for all rows::

    phase ← 0 when a sample starts
    q ← phase » 20        i ← (phase » (20−Q)) & (2^Q−1)
    i ← 2^Q−1−i if q is odd
    TE[k] ← −wave[i] if q is 1 or 2, else wave[i]
    phase ← (phase + increment) & (2²²−1)

so that wave[i] stands for cos((i + ½)·π/2^(Q+1)) times the amplitude. Phase and increment never
leave a 24-bit signed register.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from export import checks
from export.checks import ModelError
from export.loihi2 import (
    HOLD_MAX,
    PACKED_BITS,
    PHASE_BITS,
    WAVE_BITS_MAX,
)
from training.slayer.mantissa import mantissa_max

PHASE_ONE = 1 << PHASE_BITS
"""A whole turn."""

QUARTER_BITS = PHASE_BITS - 2

Generator = Callable[[int], np.ndarray]
"""Mantissas (row,) of step k; to be called for k = 0, 1, 2, …"""


@dataclass(frozen=True)
class Table:
    """Columns of mantissas, each held for ``hold`` steps, packed two to a byte or not."""

    hold: int = 1
    packed: bool = False

    @property
    def encoding(self) -> str:
        """Name in the file."""
        return "packed" if self.packed else "table"

    def first(self, rows: int) -> Table:
        """The form of the first rows."""
        return self

    def repeated(self, times: int) -> Table:
        """Return the form of a table whose rows are each repeated ``times`` times."""
        return self

    def same(self, other: Any) -> bool:
        """Whether ``other`` is the same form, for as many rows as it has."""
        return self == other

    def check(self, owner: str, te: np.ndarray, bits: int) -> None:
        """Refuse a table ``te`` of mantissas of ``bits`` bits that this form cannot hold."""
        checks.integer(owner, "te_hold", self.hold, 1, HOLD_MAX)
        if self.packed and bits > PACKED_BITS:
            expected = f"2..{PACKED_BITS} for packed TE"
            raise ModelError.about(owner, "te_bits", expected, bits, "use fewer, or a plain table")
        if self.hold > 1 and not np.array_equal(te, self.held(self.columns(te), te.shape[1])):
            expected = f"values that stay for {self.hold} steps"
            raise ModelError.about(owner, "te", expected, "values that change between")

    def columns(self, te: np.ndarray) -> np.ndarray:
        """The columns (row, column) that are kept of a table (row, step)."""
        return te[:, :: self.hold]

    def held(self, columns: np.ndarray, steps: int) -> np.ndarray:
        """The table (row, step) of kept columns."""
        if self.hold == 1:
            return columns[:, :steps]
        return np.repeat(columns, self.hold, axis=1)[:, :steps]

    def stored(self, te: np.ndarray) -> np.ndarray:
        """What memory and file hold: columns, or bytes of two columns each."""
        columns = self.columns(te)
        return pack(columns) if self.packed else columns

    def stored_columns(self, steps: int) -> int:
        """Second axis of what memory and file hold for ``steps`` steps."""
        columns = -(-steps // self.hold)
        return -(-columns // 2) if self.packed else columns

    def decode(self, stored: np.ndarray, steps: int) -> np.ndarray:
        """Return the table (row, step) that ``stored`` stands for."""
        columns = unpack(stored, -(-steps // self.hold)) if self.packed else stored
        return self.held(columns, steps)

    def generator(self, stored: np.ndarray, wave: np.ndarray, phase: np.ndarray) -> Generator:
        """Mantissas step by step, fetched from memory and unpacked as a chip would."""
        rows = np.ascontiguousarray(stored.T)
        if not self.packed:
            return lambda k: rows[k // self.hold]

        def fetch(k: int) -> np.ndarray:
            pair, high = divmod(k // self.hold, 2)
            return _signed(rows[pair] >> (PACKED_BITS * high))

        return fetch

    def bytes(self, rows: int, steps: int, bits: int) -> int:
        """Memory of the mantissas, in whole bytes each unless packed."""
        return rows * self.stored_columns(steps) * (1 if bits <= 8 else 2)


@dataclass(frozen=True, eq=False)
class CosineTable:
    """Phase increments (row,) in 2^−22 of a turn, and the mantissas of a quarter of a wave."""

    increment: np.ndarray
    wave: np.ndarray

    encoding: ClassVar[str] = "cosine"
    hold: ClassVar[int] = 1

    def first(self, rows: int) -> CosineTable:
        """The form of the first rows."""
        return CosineTable(self.increment[:rows], self.wave)

    def repeated(self, times: int) -> CosineTable:
        """Return the form of a table whose rows are each repeated ``times`` times."""
        return CosineTable(np.repeat(self.increment, times), self.wave)

    def same(self, other: Any) -> bool:
        """Whether ``other`` is the same form, for as many rows as it has."""
        return (
            isinstance(other, CosineTable)
            and np.array_equal(self.increment[: len(other.increment)], other.increment)
            and np.array_equal(self.wave, other.wave)
        )

    def check(self, owner: str, te: np.ndarray, bits: int) -> None:
        """Refuse a table ``te`` that is not what the generator gives."""
        self.check_generator(owner, len(te))
        limit = mantissa_max(bits)
        checks.integers(owner, "te_wave", self.wave, -limit, limit)
        if not np.array_equal(te, self.decode(self.increment, te.shape[1])):
            raise ModelError.about(owner, "te", "what its cosine generates", "something else")

    def check_generator(self, owner: str, rows: int) -> None:
        """Refuse increments and waves from which nothing can be generated."""
        checks.per_neuron(owner, "te_form", self.increment, 1, rows)
        # A faster wave looks like a slower one: half a turn a step is the most.
        checks.integers(owner, "te_form", self.increment, 0, PHASE_ONE // 2)
        checks.array(owner, "te_wave", self.wave, 1)
        size = len(self.wave)
        if size & (size - 1) or size > 1 << WAVE_BITS_MAX:
            expected = f"a power of two up to {1 << WAVE_BITS_MAX} of values"
            raise ModelError.about(owner, "te_wave", expected, size)

    def stored(self, te: np.ndarray) -> np.ndarray:
        """What memory and file hold of each row."""
        return self.increment

    def decode(self, stored: np.ndarray, steps: int) -> np.ndarray:
        """The table (row, step) that increments ``stored`` give."""
        phase = (stored.astype(np.int64)[:, None] * np.arange(steps)) & (PHASE_ONE - 1)
        return wave_at(phase, self.wave)

    def generator(self, stored: np.ndarray, wave: np.ndarray, phase: np.ndarray) -> Generator:
        """Mantissas step by step; ``phase`` is the accumulator, changed in place."""
        phase[:] = 0

        def advance(k: int) -> np.ndarray:
            te = wave_at(phase, wave)
            phase[:] = (phase + stored) & (PHASE_ONE - 1)
            return te

        return advance

    def bytes(self, rows: int, steps: int, bits: int) -> int:
        """Memory: increments in three bytes each, and one quarter of a wave."""
        return rows * 3 + len(self.wave) * (1 if bits <= 8 else 2)


Form = Table | CosineTable
DENSE = Table()
WAVE_BITS = 8
"""log2 of the mantissas in a quarter of a wave, enough for steps of less than half of 1/127."""

ENCODINGS = ("table", "packed", "cosine")
"""Values of ``te_encoding`` and of the file's ``teEncoding``."""


def increments(turns: np.ndarray) -> np.ndarray:
    """Phase increments of waves of ``turns`` a step."""
    # cos is even and repeats: any frequency is one of half a turn or less.
    fraction = np.abs(turns - np.rint(turns))
    return np.rint(fraction * PHASE_ONE).astype(np.int64)


def quarter_wave(amplitude: float, bits: int, wave_bits: int = WAVE_BITS) -> np.ndarray:
    """Mantissas of a quarter of a cosine, at the middles of its parts; ``amplitude`` in units."""
    middles = (np.arange(1 << wave_bits) + 0.5) / (4 << wave_bits)
    limit = mantissa_max(bits)
    wave = np.clip(np.rint(amplitude * np.cos(2 * np.pi * middles)), -limit, limit)
    return wave.astype(np.int64)


def block_means(te: np.ndarray, hold: int) -> np.ndarray:
    """Means (row, column) of every ``hold`` steps of a table (row, step)."""
    if hold == 1:
        return te
    starts = np.arange(0, te.shape[1], hold)
    return np.add.reduceat(te, starts, axis=1) / np.diff([*starts, te.shape[1]])


def wave_at(phase: np.ndarray, wave: np.ndarray) -> np.ndarray:
    """Mantissas of the cosine at ``phase``."""
    last = len(wave) - 1
    quadrant = phase >> QUARTER_BITS
    i = (phase >> (QUARTER_BITS - last.bit_length())) & last
    # The second and fourth quarter run backwards; the two middle ones are below 0.
    value = wave[i ^ (last * (quadrant & 1))]
    return value * (1 - 2 * ((quadrant ^ quadrant >> 1) & 1))


def pack(columns: np.ndarray) -> np.ndarray:
    """Bytes of two mantissas each; the last byte's high half is 0 if their number is odd."""
    halves = columns.astype(np.int64) & ((1 << PACKED_BITS) - 1)
    if halves.shape[1] % 2:
        halves = np.pad(halves, ((0, 0), (0, 1)))
    return halves[:, ::2] | halves[:, 1::2] << PACKED_BITS


def unpack(packed: np.ndarray, count: int) -> np.ndarray:
    """The first ``count`` mantissas of each row of bytes."""
    halves = np.stack([packed, packed >> PACKED_BITS], axis=-1)
    return _signed(halves.reshape(len(packed), -1)[:, :count])


def _signed(halves: np.ndarray) -> np.ndarray:
    """Two's complement of the low half byte."""
    sign = 1 << (PACKED_BITS - 1)
    return ((halves & (2 * sign - 1)) ^ sign) - sign
