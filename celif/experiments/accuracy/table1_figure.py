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
    """Draw a point for each row that was run, in a panel for each task.

    Rows that are to be compared with the paper's have panels of their own, on a scale that shows
    differences, and a line to the paper's number. ``short`` names the training of the others.
    """
    rows = [row for row in rows if row.ours is not None] or rows[:1]
    tasks = dict.fromkeys(_task(row) for row in rows)
    panels = []
    for whole in (True, False):
        for task in tasks:
            part = [row for row in rows if _task(row) == task and _compares(row) == whole]
            if part:
                title = task if whole else f"{task}, {short}, not to be compared with the paper"
                panels.append((part, title, whole))
    figure, axes = plt.subplots(
        len(panels), 1, figsize=(WIDTH, 0.9 * len(panels) + 0.3 * len(rows)),
        layout="constrained", height_ratios=[1 + len(part) for part, _, _ in panels], squeeze=False,
    )  # fmt: skip
    for ax, panel in zip(axes.flat, panels, strict=True):
        _panel(ax, *panel)
    axes.flat[-1].set_xlabel("test accuracy, %")
    plain(axes.flat, "x")
    return figure


def _panel(ax: Axes, rows: list[Row], title: str, whole: bool) -> None:
    ours = np.array([row.ours if row.ours is not None else np.nan for row in rows])
    paper = np.array([row.paper if row.paper is not None else np.nan for row in rows])
    place = np.arange(len(rows))
    if whole:
        ax.hlines(place, np.fmin(ours, paper), np.fmax(ours, paper), color=GREY, lw=1)
    ax.plot(paper, place, "o", mfc="white", mec=GREY, mew=1.5, ms=8, label="paper, MNIST")
    changed = np.array([_changed(row) for row in rows])
    ax.plot(ours[~changed], place[~changed], "o", color=FLOAT, ms=6, label="ours")
    if changed.any():
        ax.plot(ours[changed], place[changed], "D", color=FLOAT, ms=5, mfc="white",
                label="ours, with a teacher or changed images")  # fmt: skip
    for i, score in enumerate(ours):
        ax.annotate(f"{score:.2f}", (score, i), (0, 6), textcoords="offset points", ha="center",
                    fontsize=SMALL, color=FLOAT)  # fmt: skip
    ax.set_yticks(place, [_short_name(row) for row in rows])
    ax.set_ylim(len(rows) - 0.4, -0.9)
    ax.margins(x=0.07)
    ax.set_title(title, loc="left", fontsize=SMALL + 1)
    legend(ax, ncols=3, loc="lower right", bbox_to_anchor=(1, 1), borderaxespad=0)


def _task(row: Row) -> str:
    return row.what.rpartition(", ")[2]


def _short_name(row: Row) -> str:
    """The row's model; all CE-LIF networks of the whole rows are called by what differs."""
    name = row.what.removesuffix(f", {_task(row)}")
    return name.replace("CE-LIF feedforward, ", "").replace("[64, 152, 152], ", "[64, 152, 152],\n")


def _compares(row: Row) -> bool:
    return row.comparable and row.paper is not None


def _changed(row: Row) -> bool:
    """Whether a network was trained with means that the paper does not have."""
    return any(word in row.note for word in ("adversarial", "shifted", "teacher"))
