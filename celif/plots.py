"""Plots of traces, networks and verifications, on axes of yours or on new ones.

>>> trace = celif.simulate(fixed, x, trace=True)
>>> plots.raster(trace, sample=0)
>>> plots.registers(fixed, trace, layer=1, neuron=19)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from export import FixedNetwork, Trace

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from celif.verification.verify import Verification

__all__ = ["gap", "raster", "registers", "temporal_encoding"]

LAYERS = ("#3b5b92", "#c1762b", "#4c8c6b", "#8d5a97", "#7a6a4f")


def _axes(ax: Axes | None, height: float) -> Axes:
    if ax is not None:
        return ax
    from matplotlib import pyplot as plt

    return plt.subplots(figsize=(9, height), layout="constrained")[1]


def _finish(ax: Axes, **labels: Any) -> Axes:
    ax.set(**labels)
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def raster(trace: Trace, sample: int = 0, ax: Axes | None = None) -> Axes:
    """Draw the spikes of every layer of one sample, a row per neuron."""
    if trace.spikes is None:
        raise ValueError("trace: expected spikes, got none; run with trace=True")
    ax = _axes(ax, 4)
    base, ticks = 0, []
    for i, spikes in enumerate(trace.spikes):
        neuron, step = np.nonzero(spikes[sample])
        ax.scatter(step, neuron + base, s=2.5, marker="s", lw=0, color=LAYERS[i % len(LAYERS)])
        ticks.append(base + spikes.shape[1] / 2)
        base += spikes.shape[1]
        ax.axhline(base - 0.5, color="#d9dde3", lw=0.6)
    ax.set_yticks(ticks, [f"layer {i}" for i in range(len(ticks))])
    return _finish(ax, xlabel="time step", ylim=(-1, base))


def registers(
    net: FixedNetwork,
    trace: Trace,
    layer: int = 0,
    neuron: int = 0,
    sample: int = 0,
    ax: Axes | None = None,
) -> Axes:
    """Draw V and Θ of one neuron, in the units of the float network, and mark its spikes."""
    if trace.v is None or trace.theta is None or trace.spikes is None:
        raise ValueError("trace: expected V and Θ, got none; run with trace=True")
    v, theta = trace.v[layer], trace.theta[layer]
    if v is None or theta is None:
        raise ValueError(f"layer {layer}: expected V and Θ, got none; it has no threshold to show")
    unit = 2.0 ** -getattr(net.layers[layer], "fraction_bits", 0)
    ax = _axes(ax, 3)
    ax.plot(v[sample, neuron] * unit, color=LAYERS[0], lw=1.2, label="V")
    ax.plot(theta[sample, neuron] * unit, "--", color=LAYERS[1], lw=1.2, label="Θ")
    spikes = np.flatnonzero(trace.spikes[layer][sample, neuron])
    ax.plot(spikes, v[sample, neuron, spikes] * unit, "k|", markersize=7, label="spike")
    ax.legend(frameon=False, ncols=3, fontsize=8)
    return _finish(ax, xlabel="time step", ylabel=f"layer {layer}, neuron {neuron}")


def temporal_encoding(net: Any, layer: int = 0, ax: Axes | None = None) -> Axes:
    """Draw the temporal encoding, a row per neuron: of a layer of a file, or of a ``Network``."""
    if isinstance(net, FixedNetwork):
        found: Any = net.layers[layer]
        if getattr(found, "te", None) is None:
            raise ValueError(f"layer {layer}: expected a temporal encoding, got none")
        te = found.te * 2.0 ** -np.reshape(found.te_exp, (-1, 1))
    else:
        te = net.te_table.detach().cpu().numpy()
    ax = _axes(ax, 3)
    largest = float(np.abs(te).max()) or 1.0
    image = ax.imshow(
        te,
        aspect="auto",
        cmap="RdBu_r",
        vmin=-largest,
        vmax=largest,
        interpolation="nearest",
        origin="lower",
    )
    ax.figure.colorbar(image, ax=ax, label="TE")
    return _finish(ax, xlabel="time step", ylabel="neuron")


def gap(result: Verification, ax: Axes | None = None) -> Axes:
    """Draw, for every layer, the share of neuron steps that spike alike in float and integers."""
    if result.gap is None:
        raise ValueError("verification: expected a gap, got none; pass the float network to verify")
    layers = result.gap.layers
    ax = _axes(ax, 2.4)
    names = [f"layer {layer.layer}" for layer in layers]
    ax.barh(names, [100 * layer.spike_agreement for layer in layers], color=LAYERS[0], height=0.6)
    ax.invert_yaxis()
    return _finish(ax, xlabel="same spikes, %", xlim=(0, 100), title=str(result.gap))
