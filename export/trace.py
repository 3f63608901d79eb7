"""What a run of an integer (or dequantised) network yields, whoever ran it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Trace:
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

    @property
    def predictions(self) -> np.ndarray:
        """Class of the largest logit, (batch,)."""
        return self.logits.argmax(1)
