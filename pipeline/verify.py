"""``verify``: what the chip will compute, where that differs from the float network, and why."""

from __future__ import annotations

import os
from collections.abc import Collection
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch

from export import FixedNetwork, Trace, read_netx, simulate
from export.exporter import digest
from hw_tests import ladder
from hw_tests.ladder import Result, climb
from hw_tests.trace import firing_rates
from training import Network

LAVA_SAMPLES = 4
"""Samples that go through Lava, where a step costs milliseconds."""


@dataclass(frozen=True)
class LayerGap:
    """How a layer in integers differs from the float one it came from."""

    layer: int
    spike_agreement: float
    rate_float: float
    rate_fixed: float
    dead_neurons: int
    saturations: int


@dataclass(frozen=True)
class Gap:
    """Float against fixed: reported, not required to be nothing."""

    samples: int
    same_source: bool
    """Whether the file was exported from these very weights."""
    prediction_agreement: float
    accuracy_float: float | None
    accuracy_fixed: float | None
    layers: tuple[LayerGap, ...]


@dataclass(frozen=True)
class Verification:
    """Every rung's outcome and, where the float network is known, the gap."""

    rungs: tuple[Result, ...]
    gap: Gap | None

    @property
    def equal(self) -> bool:
        """Whether every rung that was asked for ran, at least one, and found no difference."""
        asked = [r for r in self.rungs if r.why not in (ladder.UNASKED, ladder.INAPPLICABLE)]
        return bool(asked) and all(result.verdict == "equal" for result in asked)

    @property
    def complete(self) -> bool:
        """Whether every rung below the chip ran that the network has a use for."""
        below = self.rungs[: ladder.CHIP]
        return not any(result.why in (ladder.UNASKED, ladder.UNAVAILABLE) for result in below)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {
            "equal": self.equal,
            "complete": self.complete,
            "rungs": [result.to_dict() for result in self.rungs],
            "gap": None if self.gap is None else asdict(self.gap),
        }


def verify(
    path: str | os.PathLike[str] | FixedNetwork,
    net: Network | None,
    x: torch.Tensor | np.ndarray,
    y: torch.Tensor | np.ndarray | None = None,
    *,
    targets: Collection[str] = ("torch", "twin", "lava"),
    lava_samples: int = LAVA_SAMPLES,
) -> Verification:
    """Climb the ladder with an exported network and measure the gap to the float one.

    Parameters
    ----------
    path
        The netx file, or what :func:`export.read_netx` made of it.
    net
        The float network it was exported from; None leaves the gap out.
    x, y
        Inputs (batch, channel, time) as the float network takes them, and labels for accuracy.
        The gap uses all of them, the rungs the first ``lava_samples``.
    targets
        Back ends of the ladder.
    """
    fixed = path if isinstance(path, FixedNetwork) else read_netx(path)
    graded = fixed.encode(np.asarray(x))
    rungs = climb(fixed, graded[:lava_samples], targets)
    gap = None
    if net is not None:
        samples = as_floats(fixed, np.asarray(x))
        gap = measure_gap(fixed, net, samples, graded, None if y is None else np.asarray(y))
    return Verification(tuple(rungs), gap)


def as_floats(fixed: FixedNetwork, x: np.ndarray) -> np.ndarray:
    """Samples as the float network takes them; graded spikes are scaled, and put back in order."""
    if not (np.issubdtype(x.dtype, np.integer) or x.dtype == bool):
        return x
    order = fixed.encoding.permutation
    values = x * fixed.encoding.scale
    return values if order is None else values[:, :, np.argsort(order)]


@torch.no_grad()
def measure_gap(
    fixed: FixedNetwork,
    net: Network,
    samples: np.ndarray,
    graded: np.ndarray,
    labels: np.ndarray | None,
    chunk: int = 128,
) -> Gap:
    """Compare the float network with the twin, spike by spike."""
    _check_same_shape(fixed, net)
    was_training = net.training
    net.eval()
    float_predictions, fixed_predictions, tallies = [], [], []
    for start in range(0, len(samples), chunk):
        part = slice(start, start + chunk)
        x = torch.as_tensor(samples[part], dtype=net.te.dtype)
        spikes = [state.spikes.numpy() for state in net.hidden_states(x)]
        float_predictions.append(net(x).argmax(1).numpy())
        trace = simulate(fixed, graded[part], trace=True)
        fixed_predictions.append(trace.predictions)
        tallies.append(_tally(trace, spikes))
    net.train(was_training)
    ours, theirs = np.concatenate(float_predictions), np.concatenate(fixed_predictions)
    # agreement, rates: means weighted by samples; fired: any sample; saturations: sum
    weights = np.array([len(p) for p in float_predictions]) / len(samples)
    layers = []
    for i in range(len(fixed.layers)):
        numbers = np.array([t[i][:3] for t in tallies])
        agreement, rate_float, rate_fixed = weights @ numbers
        fired = np.any([t[i][3] for t in tallies], axis=0)
        saturations = sum(t[i][4] for t in tallies)
        layers.append(
            LayerGap(
                i,
                float(agreement),
                float(rate_float),
                float(rate_fixed),
                int((~fired).sum()),
                int(saturations),
            )
        )
    return Gap(
        samples=len(samples),
        same_source=fixed.digests == {n: digest(p.detach()) for n, p in net.named_parameters()},
        prediction_agreement=float((ours == theirs).mean()),
        accuracy_float=None if labels is None else float((ours == labels).mean()),
        accuracy_fixed=None if labels is None else float((theirs == labels).mean()),
        layers=tuple(layers),
    )


def _check_same_shape(fixed: FixedNetwork, net: Network) -> None:
    if not isinstance(net, Network):
        raise TypeError(f"net: expected a training.Network, got {type(net).__name__}; pass None")
    ours = [fixed.encoding.channels, *(layer.neurons for layer in fixed.all_layers)]
    theirs = [net.in_features, *net.config["hidden"], net.config["classes"]]
    if ours != theirs or fixed.steps != net.steps:
        raise ValueError(
            f"net: expected widths {ours} and {fixed.steps} steps, as {fixed.path or 'the file'} "
            f"has, got {theirs} and {net.steps}; pass the network it was exported from"
        )


def _tally(trace: Trace, float_spikes: list[np.ndarray]) -> list[tuple[Any, ...]]:
    rates = firing_rates(trace)
    assert trace.spikes is not None  # the twin was asked for a trace
    assert trace.saturations is not None
    return [
        (
            (fixed == floats).mean(),
            floats.mean(),
            rate,
            fixed.any(axis=(0, 2)),
            saturated,
        )
        for fixed, floats, rate, saturated in zip(
            trace.spikes, float_spikes, rates, trace.saturations, strict=True
        )
    ]
