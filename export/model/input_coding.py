"""How a float input becomes graded spikes."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np

from export import checks, loihi2
from export.checks import ModelError

CLIPPED = 0.01
"""Share of input values that may lie beyond the largest graded spike."""

LEAST_RANGE = 1 / 16
"""Share of the input range that the largest samples should reach."""

TEXT_MAX = 200
"""Characters that a text in a file may have."""


@dataclass(frozen=True)
class TaskLabel:
    """The task whose samples a network takes: its name, and how they were made, in words."""

    name: str
    encoding: str = ""

    def __post_init__(self) -> None:
        for field, text, least in (("name", self.name, 1), ("encoding", self.encoding, 0)):
            if not (least <= len(text) <= TEXT_MAX and text.isprintable()):
                expected = f"{least}..{TEXT_MAX} printable characters"
                raise ModelError.about("task", field, expected, repr(text[:TEXT_MAX]))

    def __str__(self) -> str:
        return f"{self.name} ({self.encoding})" if self.encoding else self.name


@dataclass(frozen=True, eq=False)
class Encoding:
    """Samples are permuted in time, divided by ``scale``, rounded and clipped.

    ``bits`` is the magnitude's width; with ``signed``, values below zero are allowed.
    """

    channels: int
    scale: float
    bits: int
    signed: bool
    permutation: np.ndarray | None = None

    def __post_init__(self) -> None:
        checks.integer("input", "channels", self.channels, 1, 1 << 20)
        checks.integer("input", "bits", self.bits, 1, loihi2.MESSAGE_BITS_MAX)
        if not (np.isfinite(self.scale) and self.scale > 0):
            raise ModelError.about("input", "scale", "a positive number", self.scale)
        order = self.permutation
        if order is not None and not np.array_equal(np.sort(order), np.arange(order.size)):
            raise ModelError.about(
                "input", "permutation", "every step 0..T−1 exactly once", f"{order.size} others"
            )

    @property
    def range(self) -> tuple[int, int]:
        """Smallest and largest graded spike."""
        high = (1 << self.bits) - 1
        return (-high if self.signed else 0), high

    @property
    def message_bits(self) -> int:
        """Lava's ``num_message_bits``: 0 for plain spikes, which any nonzero value is."""
        return 0 if self.range == (0, 1) else self.bits

    def clipped(self, x: np.ndarray) -> float:
        """Share of the float values that :meth:`encode` would clip."""
        low, high = self.range
        scaled = np.rint(x / self.scale)
        return float(((scaled < low) | (scaled > high)).mean())

    def unlike(self, x: np.ndarray) -> str | None:
        """Return how float samples differ from those that calibrated the encoding, or None."""
        low, high = (bound * self.scale for bound in self.range)
        largest = float(np.abs(x).max())
        if largest == 0:
            return "every sample is zero; check how the samples were read"
        between = (
            f"they reach from {float(x.min()):.4g} to {float(x.max()):.4g}, the file was "
            f"calibrated for {low:.4g} to {high:.4g}; export with calibration samples that are "
            "scaled like these"
        )
        if (share := self.clipped(x)) > CLIPPED:
            return f"{share:.1%} of the input values are clipped: {between}"
        if largest < LEAST_RANGE * high:
            return f"the samples use {largest / high:.2%} of the input range: {between}"
        return None

    def _warn_of_clipped(self, scaled: np.ndarray) -> None:
        """Warn once, with their share, about values that the calibrated range cuts off."""
        low, high = self.range
        below, above = int((scaled < low).sum()), int((scaled > high).sum())
        if not below + above or self.__dict__.get("_warned"):
            return
        object.__setattr__(self, "_warned", True)
        ends = {f"below {low * self.scale:g}": below, f"above {high * self.scale:g}": above}
        parts = [f"{n:,} {end}" for end, n in ends.items() if n]
        unsigned = " (the calibration had no negative values)" if below and not self.signed else ""
        warnings.warn(
            f"input: {(below + above) / scaled.size:.2%} of the values lie outside the calibrated "
            f"range and are cut off: {', '.join(parts)}{unsigned}; export with calibration samples "
            "that are like these",
            stacklevel=4,
        )

    def encode(self, x: np.ndarray, steps: int) -> np.ndarray:
        """Graded spikes of ``x``; see :meth:`export.model.network.FixedNetwork.encode`."""
        x = np.asarray(x)
        if x.ndim != 3 or x.shape[1] != self.channels or not 1 <= x.shape[2] <= steps:
            raise ModelError(
                f"input: expected (batch, {self.channels}, time) with 1..{steps} "
                f"time steps, got shape {x.shape}; time is the last axis; shorten longer samples, "
                "or export a network with more steps"
            )
        if len(x) == 0:
            raise ModelError(f"input: expected at least one sample, got shape {x.shape}")
        low, high = self.range
        if np.issubdtype(x.dtype, np.integer) or x.dtype == bool:
            if x.min() < low or x.max() > high:
                raise ModelError(
                    f"input: expected integers in {low}..{high}, got {x.min()}..{x.max()}; "
                    "pass floats to have them scaled and clipped"
                )
            return x.astype(np.int32)
        if not np.isfinite(x).all():
            raise ModelError("input: expected finite numbers, got NaN or infinity")
        if self.permutation is not None:
            if x.shape[2] != steps:
                raise ModelError(
                    f"input: expected {steps} time steps, because the network permutes them, "
                    f"got {x.shape[2]}"
                )
            x = x[:, :, self.permutation]
        scaled = np.rint(x / self.scale)
        self._warn_of_clipped(scaled)
        graded = np.clip(scaled, low, high)
        return np.ascontiguousarray(graded.astype(np.int32))
