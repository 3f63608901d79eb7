"""A page to look at: what was trained, what the chip will compute, and how they compare."""

from __future__ import annotations

import html
import io
from collections.abc import Sequence
from datetime import date
from pathlib import Path

import matplotlib
import numpy as np
import torch

matplotlib.use("Agg")
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

from export import FixedNetwork, simulate
from export.model import CelifLayer
from pipeline.verify import Verification
from training import Network
from training.dynamics import Params
from training.files import atomic_file
from training.reference import scan
from training.tasks import Task

FLOAT, FIXED, GREY = "#1f6fb4", "#d1495b", "#8a8f98"

_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>celif: {title}</title><style>
body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem;
 color: #20242a; }}
h1 {{ font-size: 1.7rem; margin-bottom: 0; }} h2 {{ font-size: 1.15rem; margin-top: 2rem; }}
p.sub {{ color: #5c636e; margin-top: .2rem; }}
.cards {{ display: flex; gap: 1rem; flex-wrap: wrap; }}
.card {{ border: 1px solid #d9dde3; border-radius: 8px; padding: .6rem 1.1rem; }}
.card b {{ display: block; font-size: 1.6rem; }} .card span {{ color: #5c636e; }}
table {{ border-collapse: collapse; width: 100%; }}
th, td {{ text-align: left; padding: .3rem .6rem; border-bottom: 1px solid #e4e7ec; }}
td.n, th.n {{ text-align: right; font-variant-numeric: tabular-nums; }}
.equal {{ color: #1a7f4b; font-weight: 600; }} .DIFFERS {{ color: #c0262d; font-weight: 700; }}
.not {{ color: #8a6d00; }} svg {{ max-width: 100%; height: auto; }}
</style></head><body>{body}</body></html>
"""


def write(
    out: Path,
    net: Network,
    fixed: FixedNetwork,
    task: Task,
    history: list[dict[str, float]],
    result: Verification,
) -> Path:
    """Write ``report.html`` and ``report.png`` into ``out``; return the page's path."""
    figure = picture(net, fixed, task, history)
    with atomic_file(out / "report.png") as draft:
        figure.savefig(draft, dpi=130, format="png")
    svg = io.StringIO()
    figure.savefig(svg, format="svg")
    plt.close(figure)
    drawing = svg.getvalue()
    body = _summary(net, task, result) + _ladder(result) + _gap(result)
    body += f"<h2>One digit, step by step</h2>{drawing[drawing.index('<svg') :]}"
    page = out / "report.html"
    with atomic_file(page) as draft:
        draft.write_text(_PAGE.format(title=html.escape(task.name), body=body), encoding="utf-8")
    return page


def _summary(net: Network, task: Task, result: Verification) -> str:
    gap = result.gap
    cards = [("parameters", f"{net.num_parameters:,}")]
    if gap is not None and gap.accuracy_float is not None and gap.accuracy_fixed is not None:
        cards += [
            (f"float, {gap.samples} test samples", f"{gap.accuracy_float:.2%}"),
            ("8-bit integers, the same", f"{gap.accuracy_fixed:.2%}"),
            ("same prediction", f"{gap.prediction_agreement:.2%}"),
        ]
    boxes = "".join(f'<div class="card"><b>{v}</b><span>{k}</span></div>' for k, v in cards)
    hidden = " → ".join(map(str, (net.in_features, *net.config["hidden"], net.config["classes"])))
    return (
        f"<h1>From PyTorch to Loihi: {html.escape(task.name)}</h1>"
        f'<p class="sub">CE-LIF network {hidden}, {task.steps} time steps. '
        f'{date.today().isoformat()}</p><div class="cards">{boxes}</div>'
    )


def _rows(header: tuple[str, ...], rows: Sequence[tuple[str, ...]], numbers: set[int]) -> str:
    def line(tag: str, cells: tuple[str, ...]) -> str:
        kinds = (' class="n"' if i in numbers else "" for i in range(len(cells)))
        inner = (f"<{tag}{k}>{c}</{tag}>" for k, c in zip(kinds, cells, strict=True))
        return f"<tr>{''.join(inner)}</tr>"

    return f"<table>{line('th', header)}{''.join(line('td', row) for row in rows)}</table>"


def _ladder(result: Verification) -> str:
    rows = []
    for rung in result.rungs:
        verdict = f'<span class="{rung.verdict.split()[0]}">{rung.verdict}</span>'
        if rung.detail:
            verdict += f" ({html.escape(rung.detail)})"
        ran = rung.verdict != "not run"
        counts = (f"{rung.values:,}", f"{rung.mismatches:,}") if ran else ("–", "–")
        rows.append((str(rung.rung), html.escape(rung.compared), *counts, verdict))
    header = ("rung", "compared", "values", "mismatches", "verdict")
    return f"<h2>The parity ladder</h2>{_rows(header, rows, {2, 3})}"


def _gap(result: Verification) -> str:
    if result.gap is None:
        return ""
    rows = [
        (
            f"layer {g.layer}",
            f"{g.spike_agreement:.2%}",
            f"{g.rate_float:.1%}",
            f"{g.rate_fixed:.1%}",
            str(g.dead_neurons),
            str(g.saturations),
        )
        for g in result.gap.layers
    ]
    header = ("", "same spikes", "rate, float", "rate, fixed", "silent neurons", "saturations")
    return f"<h2>What the integers change</h2>{_rows(header, rows, {1, 2, 3, 4, 5})}"


def picture(
    net: Network, fixed: FixedNetwork, task: Task, history: list[dict[str, float]]
) -> Figure:
    """Input, spikes, and membrane and threshold in float and fixed, of the first test sample."""
    x = task.test.x[:1]
    trace = simulate(fixed, fixed.encode(x.numpy()), trace=True)
    figure, axes = plt.subplots(
        4, 1, figsize=(9, 10), height_ratios=(0.8, 2.2, 1.6, 1.2), layout="constrained"
    )
    steps = np.arange(task.steps)
    axes[0].step(steps, x[0, 0], where="mid", color="black", lw=1)
    axes[0].set_ylabel("input")
    axes[0].set_title(f"test sample 0, a {int(task.test.y[0])}", loc="left", fontsize=10)
    _raster(axes[1], trace.spikes or [])
    _registers(axes[2], net, fixed, x, trace.theta or [], trace.v or [])
    for ax in axes[:3]:
        ax.set_xlim(-0.5, task.steps - 0.5)
    axes[2].set_xlabel("time step")
    epochs = np.arange(1, len(history) + 1)
    axes[3].plot(epochs, [h["accuracy"] for h in history], color=GREY, label="training")
    axes[3].plot(epochs, [h["validation"] for h in history], color=FLOAT, label="validation")
    axes[3].set(xlabel="epoch", ylabel="accuracy")
    axes[3].legend(frameon=False, loc="lower right")
    for ax in axes:
        ax.spines[["top", "right"]].set_visible(False)
    return figure


def _raster(ax: plt.Axes, spikes: list[np.ndarray]) -> None:
    base = 0
    for i, layer in enumerate(spikes):
        neuron, step = np.nonzero(layer[0])
        ax.scatter(step, neuron + base, s=2.5, marker="s", lw=0, color=f"C{i}")
        ax.text(1.005, base + layer.shape[1] / 2, f"layer {i}", color=f"C{i}", va="center",
                transform=ax.get_yaxis_transform())  # fmt: skip
        base += layer.shape[1]
    ax.set(ylabel="spikes, by neuron", ylim=(-1, base))


@torch.no_grad()
def _registers(
    ax: plt.Axes,
    net: Network,
    fixed: FixedNetwork,
    x: torch.Tensor,
    theta: list[np.ndarray | None],
    v: list[np.ndarray | None],
) -> None:
    """V and Θ of the last layer's most active neuron: float drawn wide, fixed dotted over it."""
    hidden = net.hidden_states(x)[-1]
    last = fixed.layers[-1]
    assert isinstance(last, CelifLayer)  # networks of the trainer have no others
    rates = hidden.spikes[0].mean(1)
    neuron = int((rates - 0.3).abs().argmin())
    p = Params(*(net.config[name] for name in ("alpha", "beta", "theta0")))
    current = hidden.current[:, neuron : neuron + 1]
    floats = scan(current, net.te[neuron : neuron + 1, : x.shape[2]], p, net.config["width"])
    unit = 2.0**-last.fraction_bits
    pairs = (("V", floats.v, v[-1], "-"), ("Θ", floats.theta, theta[-1], "--"))
    for name, ours, theirs, style in pairs:
        assert theirs is not None  # CELIF layers trace both
        ax.plot(ours[0, 0], style, color=FLOAT, lw=2.4, alpha=0.6, label=f"{name} float")
        ax.plot(theirs[0, neuron] * unit, style, color=FIXED, lw=1, label=f"{name} fixed")
    ax.set_ylabel(f"layer {len(fixed.layers) - 1}, neuron {neuron}")
    ax.margins(y=0.15)  # room for the legend
    ax.legend(frameon=False, ncols=4, fontsize=8, loc="upper left")
