"""What a run of an integer (or dequantised) network, or of one of its layers, yields."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from training.support.summary import Summarised, Summary


@dataclass(frozen=True)
class Run:
    """What one layer did in one chunk of samples; arrays are (batch, time, neuron).

    Spikes are bytes; the messages of a sigma-delta layer are floats.
    """

    spikes: np.ndarray
    v: np.ndarray
    theta: np.ndarray | None
    saturated: int = 0
    """Number of times that a register was at its limit."""
    kept: bool = False
    """Whether the states are those of every step; if not, the time axis of V and Θ has length 1."""


@dataclass(frozen=True, eq=False, repr=False)
class Trace(Summarised):
    """Result of a run over a batch of samples.

    ``logits`` (batch, classes) are the readout's sums; without a readout, the last layer's spike
    counts. ``spikes``, ``v`` (before reset) and ``theta`` are lists per layer of
    (batch, neuron, time), or None when not asked for; an entry is None where a back end cannot
    see it (the threshold of a stock LIF). ``saturations`` counts, per layer, how often V or Θ
    stood at the end of its register; only the twin counts.
    """

    logits: np.ndarray
    spikes: list[np.ndarray] | None = None
    v: list[np.ndarray | None] | None = None
    theta: list[np.ndarray | None] | None = None
    saturations: list[int] | None = None

    def summary(self) -> Summary:
        """Return the number of samples, the first predictions and the firing rate of each layer."""
        samples, classes = self.logits.shape
        shown = ", ".join(map(str, self.predictions[:8])) + (", …" if samples > 8 else "")
        rows = tuple(
            (
                f"layer {i}",
                str(spikes.shape[1]),
                str(spikes.shape[2]),
                f"{(spikes != 0).mean():.1%}",
            )
            for i, spikes in enumerate(self.spikes or ())
        )
        counted = "" if self.saturations is None else f"saturations: {sum(self.saturations):,}"
        title = f"Trace of {samples:,} sample(s), {classes} classes; predictions {shown}"
        return Summary(title, ("layer", "neurons", "steps", "firing"), rows, counted)

    __repr__ = Summarised.__str__

    @property
    def predictions(self) -> np.ndarray:
        """Class of the largest logit, (batch,)."""
        return self.logits.argmax(1)

    def sample(self, i: int) -> Trace:
        """Return sample ``i`` as a batch of one; saturations, counted per batch, are left out."""
        return Trace(
            self.logits[i : i + 1],
            **_layers([self], lambda arrays: arrays[0][i : i + 1]),
        )


def joined(parts: Sequence[Trace]) -> Trace:
    """One trace of successive batches, which have the same variables."""
    counts = [part.saturations for part in parts]
    known = [count for count in counts if count is not None]
    return Trace(
        np.concatenate([part.logits for part in parts]),
        **_layers(parts, np.concatenate),
        saturations=[sum(n) for n in zip(*known, strict=True)]
        if len(known) == len(parts)
        else None,
    )


def _layers(
    parts: Sequence[Trace], combine: Callable[[Sequence[np.ndarray]], np.ndarray]
) -> dict[str, Any]:
    """Every layer's variables, combined over the parts; what was not seen stays None."""

    def combined(name: str) -> list[np.ndarray | None] | None:
        each = [getattr(part, name) for part in parts]
        if each[0] is None:
            return None
        columns = zip(*each, strict=True)
        return [None if column[0] is None else combine(column) for column in columns]

    return {name: combined(name) for name in ("spikes", "v", "theta")}
