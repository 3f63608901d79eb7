"""The picture of ``table1``: our accuracies and the paper's, of the models that were run."""

from __future__ import annotations

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

from celif.experiments.machinery.drawing import SMALL, WIDTH, legend, plain
from celif.experiments.machinery.experiment import Row
from celif.views.pictures import FLOAT, GREY


def draw(rows: list[Row], short: str) -> Figure:
    """Draw a line for each row that was run, from the paper's number to ours.

    ``short`` names the training of rows that are not to be compared with the paper's.
    """
    rows = [row for row in rows if row.ours is not None] or rows[:1]
    ours = np.array([row.ours if row.ours is not None else np.nan for row in rows])
    paper = np.array([row.paper if row.paper is not None else np.nan for row in rows])
    figure, ax = plt.subplots(figsize=(WIDTH, 1.1 + 0.4 * len(rows)), layout="constrained")
    place = np.arange(len(rows))
    ax.hlines(place, np.fmin(ours, paper), np.fmax(ours, paper), color=GREY, lw=1)
    ax.plot(paper, place, "o", mfc="white", mec=GREY, mew=1.5, ms=8, label="paper, MNIST")
    whole = np.array([row.comparable for row in rows])
    if whole.any():
        ax.plot(ours[whole], place[whole], "o", color=FLOAT, ms=7, label="ours")
    if not whole.all():
        ax.plot(ours[~whole], place[~whole], "D", color=FLOAT, ms=6, label=f"ours, {short}")
    for i, score in enumerate(ours):
        ax.annotate(f"{score:.2f}", (score, i), (0, 7), textcoords="offset points", ha="center",
                    fontsize=SMALL, color=FLOAT)  # fmt: skip
    ax.set_yticks(place, [row.what for row in rows])
    ax.set_ylim(len(rows) - 0.4, -0.7)
    ax.margins(x=0.05)
    ax.set_xlabel("test accuracy, %")
    legend(ax, ncols=3, loc="lower right", bbox_to_anchor=(1, 1), borderaxespad=0)
    plain([ax], "x")
    return figure
