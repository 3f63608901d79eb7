"""The gap between the float network and its integers, which is measured and need not be zero."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from celif.verification.float_run import FloatStates, Source, run_float
from export import FixedNetwork, Trace, simulate
from export.model.lif import LeakyLayer


@dataclass(frozen=True)
class LayerGap:
    """How a layer in integers differs from the float one it came from.

    Errors are those of the registers V and Θ of every neuron at every step, in the float network's
    units. One spike that differs moves everything after it, so the errors say more about small
    differences than about large ones. A layer without such registers in float (CUBA) has None.
    """

    layer: int
    spike_agreement: float
    """Share of neuron steps at which both spike or neither does."""
    v_error_mean: float | None
    v_error_max: float | None
    theta_error_mean: float | None
    theta_error_max: float | None
    rate_float: float
    rate_fixed: float
    neurons: int
    silent_float: int
    """Neurons that never fired."""
    silent_fixed: int
    saturations: int
    """How often V or Θ stood at the end of its register."""


@dataclass(frozen=True)
class Gap:
    """Float against fixed, over all samples; the float side is the network as its user calls it."""

    samples: int
    prediction_agreement: float
    accuracy_float: float | None
    accuracy_fixed: float | None
    layers: tuple[LayerGap, ...]
    lost: int = 0
    """Samples that are classified rightly in float and wrongly in integers."""
    gained: int = 0
    """Samples that are classified wrongly in float and rightly in integers."""
    otherwise: str | None = None
    """How ``net(x)`` differs from the layers in a row that the file holds; None if it does not."""

    def __str__(self) -> str:
        line = f"same prediction for {self.prediction_agreement:.2%} of {self.samples:,} samples"
        if self.accuracy_float is None or self.accuracy_fixed is None:
            return line
        return (
            f"{line}, accuracy {self.accuracy_float:.2%} in float, {self.accuracy_fixed:.2%} fixed"
        )


class _Error:
    """Mean and maximum of absolute differences that arrive in parts."""

    def __init__(self) -> None:
        self.total, self.largest, self.count = 0.0, 0.0, 0

    def add(self, floats: np.ndarray, registers: np.ndarray, unit: float) -> None:
        difference = np.abs(registers * unit - floats)
        self.total += float(difference.sum())
        self.largest = max(self.largest, float(difference.max()))
        self.count += difference.size

    @property
    def mean(self) -> float:
        return self.total / max(self.count, 1)


class _Tally:
    """Counts of one layer, over parts of the samples."""

    def __init__(self, layer: int, unit: float | None) -> None:
        self.layer, self.unit = layer, unit
        self.values = self.same = self.fired_float = self.fired_fixed = self.saturations = 0
        self.alive_float: np.ndarray | bool = False
        self.alive_fixed: np.ndarray | bool = False
        self.v, self.theta = _Error(), _Error()

    def add(self, floats: FloatStates, trace: Trace) -> None:
        assert trace.spikes is not None  # the twin was asked for a trace
        assert trace.saturations is not None
        ours, theirs = floats.spikes != 0, trace.spikes[self.layer] != 0
        self.values += ours.size
        self.same += int((ours == theirs).sum())
        self.fired_float += int(ours.sum())
        self.fired_fixed += int(theirs.sum())
        self.alive_float = self.alive_float | ours.any(axis=(0, 2))
        self.alive_fixed = self.alive_fixed | theirs.any(axis=(0, 2))
        self.saturations += trace.saturations[self.layer]
        if self.unit is not None:
            for error, name in ((self.v, "v"), (self.theta, "theta")):
                registers = getattr(trace, name)[self.layer]
                if registers is not None:  # a threshold that does not move has no register
                    error.add(getattr(floats, name), registers, self.unit)

    def result(self) -> LayerGap:
        alive = np.asarray(self.alive_float), np.asarray(self.alive_fixed)
        measured = self.unit is not None
        return LayerGap(
            layer=self.layer,
            spike_agreement=self.same / self.values,
            v_error_mean=self.v.mean if measured else None,
            v_error_max=self.v.largest if measured else None,
            theta_error_mean=self.theta.mean if self.theta.count else None,
            theta_error_max=self.theta.largest if self.theta.count else None,
            rate_float=self.fired_float / self.values,
            rate_fixed=self.fired_fixed / self.values,
            neurons=alive[0].size,
            silent_float=int((~alive[0]).sum()),
            silent_fixed=int((~alive[1]).sum()),
            saturations=self.saturations,
        )


def measure_gap(
    fixed: FixedNetwork,
    source: Source,
    samples: np.ndarray,
    graded: np.ndarray,
    labels: np.ndarray | None,
    chunk: int = 128,
) -> Gap:
    """Compare the float network with the twin, register by register.

    Parameters
    ----------
    samples, graded
        The same samples (batch, channel, time) as the float network and as the twin take them.
    labels
        Classes (batch,), for accuracies.
    chunk
        Samples that are in memory at a time.
    """
    tallies = [_Tally(i, unit(layer)) for i, layer in enumerate(fixed.layers)]
    floats, integers, otherwise = [], [], None
    for start in range(0, len(samples), chunk):
        part = slice(start, start + chunk)
        run = run_float(source, samples[part])
        otherwise = otherwise or run.otherwise
        trace = simulate(fixed, graded[part], trace=True)
        for tally, states in zip(tallies, run.layers, strict=True):
            tally.add(states, trace)
        floats.append(run.logits.argmax(1))
        integers.append(trace.predictions)
    ours, theirs = np.concatenate(floats), np.concatenate(integers)
    lost = gained = 0
    if labels is not None:
        lost = int(((ours == labels) & (theirs != labels)).sum())
        gained = int(((ours != labels) & (theirs == labels)).sum())
    return Gap(
        samples=len(samples),
        prediction_agreement=float((ours == theirs).mean()),
        accuracy_float=None if labels is None else float((ours == labels).mean()),
        accuracy_fixed=None if labels is None else float((theirs == labels).mean()),
        layers=tuple(tally.result() for tally in tallies),
        lost=lost,
        gained=gained,
        otherwise=otherwise,
    )


def unit(layer: object) -> float | None:
    """What one unit of a layer's registers is worth in float; None if it has no such registers."""
    return 2.0**-layer.fraction_bits if isinstance(layer, LeakyLayer) else None
