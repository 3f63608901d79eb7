"""Compiled loops over time: spikes forward, gradients backward, for one tile of samples.

:mod:`.celif` is the paper's neuron, :mod:`.adaptive` the neurons that differ from it by the context
of their threshold, :mod:`.gated` those that differ by leak and reset.
"""

from training.kernels.scans.celif import (
    BOXED,
    DROPPED,
    SPIKED,
    adjoint,
    backward,
    drop,
    forward,
    hashed,
    returned,
    sent,
    share,
    spike,
)

__all__ = [
    "BOXED",
    "DROPPED",
    "SPIKED",
    "adjoint",
    "backward",
    "drop",
    "forward",
    "hashed",
    "returned",
    "sent",
    "share",
    "spike",
]
