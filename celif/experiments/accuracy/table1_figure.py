"""The picture of ``table1``: our accuracies and the paper's, of the models that were run."""

from __future__ import annotations

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from celif.experiments.machinery.drawing import SMALL, WIDTH, legend, plain
from celif.experiments.machinery.experiment import Row
from celif.views.pictures import FLOAT, GREY


def draw(rows: list[Row], short: str) -> Figure:
    """Draw a line for each row that was run, from the paper's number to ours.

    Rows that are to be compared with the paper's have a panel of their own, on a scale that shows
    differences. ``short`` names the training of the others.
    """
    rows = [row for row in rows if row.ours is not None] or rows[:1]
    whole, others = (
        [row for row in rows if (row.comparable and row.paper is not None) == wanted]
        for wanted in (True, False)
    )
    panels = [
        (part, label)
        for part, label in ((whole, "ours"), (others, f"ours, {short}, not to be compared"))
        if part
    ]  # fmt: skip
    figure, axes = plt.subplots(
        len(panels), 1, figsize=(WIDTH, 1.1 * len(panels) + 0.4 * len(rows)), layout="constrained",
        height_ratios=[1 + len(part) for part, _ in panels], squeeze=False,
    )  # fmt: skip
    for ax, (part, label) in zip(axes.flat, panels, strict=True):
        _panel(ax, part, label)
    axes.flat[-1].set_xlabel("test accuracy, %")
    plain(axes.flat, "x")
    return figure


def _panel(ax: Axes, rows: list[Row], label: str) -> None:
    ours = np.array([row.ours if row.ours is not None else np.nan for row in rows])
    paper = np.array([row.paper if row.paper is not None else np.nan for row in rows])
    place = np.arange(len(rows))
    ax.hlines(place, np.fmin(ours, paper), np.fmax(ours, paper), color=GREY, lw=1)
    ax.plot(paper, place, "o", mfc="white", mec=GREY, mew=1.5, ms=8, label="paper, MNIST")
    changed = np.array([_changed(row) for row in rows])
    ax.plot(ours[~changed], place[~changed], "o", color=FLOAT, ms=6, label=label)
    if changed.any():
        ax.plot(ours[changed], place[changed], "D", color=FLOAT, ms=5, mfc="white",
                label=f"{label}, with a teacher or changed images")  # fmt: skip
    for i, score in enumerate(ours):
        ax.annotate(f"{score:.2f}", (score, i), (0, 7), textcoords="offset points", ha="center",
                    fontsize=SMALL, color=FLOAT)  # fmt: skip
    ax.set_yticks(place, [row.what for row in rows])
    ax.set_ylim(len(rows) - 0.4, -0.7)
    ax.margins(x=0.05)
    legend(ax, ncols=3, loc="lower right", bbox_to_anchor=(1, 1), borderaxespad=0)


def _changed(row: Row) -> bool:
    """Whether a network was trained with means that the paper does not have."""
    return any(word in row.note for word in ("adversarial", "shifted", "teacher"))
