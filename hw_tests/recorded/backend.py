"""A recorded chip in the place of a Loihi 2: rung 4 of the ladder for the network of a trace."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from export import FixedNetwork, ModelError, Trace
from export.loihi2 import REFRACTORY_COUNT
from export.model.network import CubaLayer
from hw_tests.backends import Backend
from hw_tests.recorded import lif


def shown_by_chip(net: FixedNetwork, trace: Trace, refractory: bool = True) -> Trace:
    """A trace with V of stock LIF neurons as a chip shows it after the step.

    Our traces hold V before its reset. After a spike Lava shows 0; a chip counts the refractory
    period in V, so that it shows 128 for the period of 1 that a stock LIF has, and starts the next
    step from 0. ``refractory`` False leaves that out.
    """
    if trace.v is None or trace.spikes is None:
        return trace
    count = REFRACTORY_COUNT if refractory else 0
    return replace(
        trace,
        v=[
            v if v is None or not isinstance(layer, CubaLayer) else np.where(s != 0, count, v)
            for layer, v, s in zip(net.layers, trace.v, trace.spikes, strict=True)
        ],
    )


def _check(net: FixedNetwork, x: np.ndarray) -> None:
    (ours,), (layer, *others) = lif.lif_network().layers, net.layers
    fields = ("du", "dv", "vth")
    same = (
        not others
        and net.readout is None
        and isinstance(layer, CubaLayer)
        and np.array_equal(layer.weight, ours.weight)
        and not layer.bias_mant.any()
        and all(getattr(layer, name) == getattr(ours, name) for name in fields)
    )
    if not same or not np.array_equal(x, lif.lif_input()):
        raise ModelError(
            "recorded Loihi 2: expected the network and input of the recorded trace "
            "(hw_tests.recorded.lif_network, lif_input), found others; run it on a chip"
        )


def recorded_loihi2() -> Backend:
    """The back end that answers with the published trace of a Loihi 2."""

    def run(net: FixedNetwork, x: np.ndarray) -> Trace:
        _check(net, x)
        spikes = lif.lif_spikes()
        return Trace(spikes.sum(2), [spikes], [lif.lif_v()], [None])

    return Backend("loihi2", "fixed", run)
