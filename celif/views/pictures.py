"""Pictures of a verification: one sample step by step, agreement over time, the training."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

import matplotlib
import numpy as np

matplotlib.use("Agg")
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

from celif.verification.float_run import FloatStates, FloatTrace, Source, run_float
from celif.verification.gap import unit
from export import FixedNetwork, Trace, simulate
from export.model.network import CelifLayer

FLOAT, FIXED, GREY = "#1f6fb4", "#d1495b", "#8a8f98"
LAYERS = ("#3b5b92", "#c1762b", "#4c8c6b", "#8d5a97", "#7a6a4f")
AGREEMENT_SAMPLES = 64


def svg(figure: Figure) -> str:
    """The drawing as an element to put into a page; its text stays text."""
    stream = io.StringIO()
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "celif"}):
        figure.savefig(stream, format="svg", metadata={"Date": None})
    plt.close(figure)
    drawing = stream.getvalue()
    return drawing[drawing.index("<svg") :]


def sample_figure(fixed: FixedNetwork, source: Source | None, x: np.ndarray, title: str) -> Figure:
    """Input, spikes, and a neuron's registers in float and fixed, of one sample (1, C, T)."""
    trace = simulate(fixed, fixed.encode(x), trace=True)
    floats = None if source is None else run_float(source, x)
    figure, axes = plt.subplots(
        3, 1, figsize=(9, 7.6), height_ratios=(0.7, 2.2, 1.6), layout="constrained", sharex=True
    )
    _input(axes[0], x[0])
    axes[0].set_title(title, loc="left", fontsize=10)
    _raster(axes[1], trace, floats)
    _registers(axes[2], fixed, trace, floats)
    axes[2].set(xlabel="time step", xlim=(-0.5, x.shape[2] - 0.5))
    _plain(axes)
    return figure


def agreement_figure(fixed: FixedNetwork, source: Source, x: np.ndarray) -> Figure:
    """Share of neurons that spike alike in float and fixed, at every step of the first samples."""
    part = x[:AGREEMENT_SAMPLES]
    trace = simulate(fixed, fixed.encode(part), trace=True)
    figure, ax = plt.subplots(figsize=(9, 2.4), layout="constrained")
    layers = zip(run_float(source, part).layers, trace.spikes or [], strict=True)
    for i, (states, spikes) in enumerate(layers):
        same = ((states.spikes != 0) == (spikes != 0)).mean(axis=(0, 1))
        ax.plot(same, color=LAYERS[i % len(LAYERS)], lw=1.5, label=f"layer {i}")
    ax.set(xlabel="time step", ylabel="same spikes", xlim=(-0.5, x.shape[2] - 0.5))
    ax.yaxis.set_major_formatter(matplotlib.ticker.PercentFormatter(1, decimals=0))
    ax.legend(
        frameon=False, ncols=len(LAYERS), fontsize=8, loc="lower right", bbox_to_anchor=(1, 1)
    )
    _plain([ax])
    return figure


def training_figure(history: Sequence[Any]) -> Figure:
    """Accuracy, or whatever measure the task has, after every epoch."""
    measure = next(name for name in ("accuracy", *history[0]) if name in history[0])
    figure, ax = plt.subplots(figsize=(9, 2.4), layout="constrained")
    epochs = np.arange(1, len(history) + 1)
    for name, label, colour in ((measure, "training", GREY), ("validation", "validation", FLOAT)):
        ax.plot(epochs, [epoch[name] for epoch in history], color=colour, label=label)
    ax.set(xlabel="epoch", ylabel=measure)
    ax.legend(frameon=False, loc="lower right", fontsize=8)
    _plain([ax])
    return figure


def _plain(axes: Any) -> None:
    for ax in axes:
        ax.spines[["top", "right"]].set_visible(False)


def _input(ax: Any, x: np.ndarray) -> None:
    if len(x) == 1:
        ax.step(np.arange(x.shape[1]), x[0], where="mid", color="black", lw=1)
    else:
        ax.imshow(x, aspect="auto", cmap="Greys", interpolation="nearest", origin="lower")
    ax.set_ylabel("input")


def _raster(ax: Any, trace: Trace, floats: FloatTrace | None) -> None:
    """Spikes in integers; where float has another one, or none, in red."""
    base, ticks = 0, []
    for i, layer in enumerate(trace.spikes or ()):
        here = layer[0] != 0
        other = here if floats is None else floats.layers[i].spikes[0] != 0
        parts = ((here & other, LAYERS[i % len(LAYERS)], "s"), (here & ~other, FIXED, "s"))
        for spikes, colour, marker in (*parts, (other & ~here, FIXED, "_")):
            neuron, step = np.nonzero(spikes)
            # As pixels: thousands of marks would make the page heavy.
            ax.scatter(
                step, neuron + base, s=2.5, marker=marker, lw=0.6 if marker == "_" else 0,
                color=colour, rasterized=True,
            )  # fmt: skip
        ticks.append(base + layer.shape[1] / 2)
        base += layer.shape[1]
        ax.axhline(base - 0.5, color="#d9dde3", lw=0.6)
    ax.set_yticks(ticks, [f"layer {i}" for i in range(len(ticks))])
    ax.tick_params(axis="y", length=0)
    ax.set_ylim(-1, base)
    if floats is not None:
        ax.set_title(
            "spikes; red: in integers only (■) or in float only (–)", fontsize=8, loc="left"
        )


def _registers(ax: Any, fixed: FixedNetwork, trace: Trace, floats: FloatTrace | None) -> None:
    """V and Θ of a neuron of the last CE-LIF layer: float drawn wide, fixed thin over it."""
    last = max(i for i, layer in enumerate(fixed.layers) if isinstance(layer, CelifLayer))
    assert trace.spikes is not None  # the twin was asked for a trace
    neuron = int(np.abs(trace.spikes[last][0].mean(1) - 0.3).argmin())
    one = unit(fixed.layers[last])
    for name, symbol, style in (("v", "V", "-"), ("theta", "Θ", "--")):
        if floats is not None:
            states: FloatStates = floats.layers[last]
            ax.plot(
                getattr(states, name)[0, neuron], style, color=FLOAT, lw=2.4, alpha=0.6,
                label=f"{symbol} float",
            )  # fmt: skip
        registers = getattr(trace, name)[last][0, neuron]
        ax.plot(registers * one, style, color=FIXED, lw=1, label=f"{symbol} fixed")
    ax.set_ylabel(f"layer {last}, neuron {neuron}")
    ax.margins(y=0.15)  # room for the legend
    ax.legend(frameon=False, ncols=4, fontsize=8, loc="upper left")
