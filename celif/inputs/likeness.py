"""Whether samples are like those that a file's input encoding was calibrated with."""

from __future__ import annotations

import numpy as np

from export.model.network import Encoding

CLIPPED = 0.01
"""Share of input values that may lie beyond the largest graded spike."""

LEAST_RANGE = 1 / 8
"""Share of the input range that the largest samples should reach."""


def clipped(encoding: Encoding, x: np.ndarray) -> float:
    """Share of the float values that :meth:`Encoding.encode` would clip."""
    low, high = encoding.range
    scaled = np.rint(x / encoding.scale)
    return float(((scaled < low) | (scaled > high)).mean())


def unlike(encoding: Encoding, x: np.ndarray) -> str | None:
    """Return how float samples differ from those that calibrated ``encoding``, or None."""
    low, high = (bound * encoding.scale for bound in encoding.range)
    largest = float(np.abs(x).max())
    if largest == 0:
        return "every sample is zero; check how the samples were read"
    between = (
        f"they reach from {float(x.min()):.4g} to {float(x.max()):.4g}, the file was "
        f"calibrated for {low:.4g} to {high:.4g}; export with calibration samples that are "
        "scaled like these"
    )
    if (share := clipped(encoding, x)) > CLIPPED:
        return f"{share:.1%} of the input values are clipped: {between}"
    if largest < LEAST_RANGE * high:
        return f"the samples use {largest / high:.2%} of the input range: {between}"
    return None
