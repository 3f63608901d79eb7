"""The picture of ``table1``: our accuracies and the paper's, of the models that were run."""

from __future__ import annotations

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

from celif.experiments.machinery.experiment import Row
from celif.views.figures import FLOAT, GREY


def draw(rows: list[Row], budget: str) -> Figure:
    """Draw two bars for each row that was run."""
    rows = [row for row in rows if row.ours is not None] or rows[:1]
    figure, ax = plt.subplots(
        figsize=(9, 1.4 + (0.4 if len(rows) < 20 else 0.26) * len(rows)), layout="constrained"
    )
    place = np.arange(len(rows))
    ax.barh(place - 0.2, [row.paper or 0 for row in rows], 0.38, color=GREY, label="paper, MNIST")
    ax.barh(place + 0.2, [row.ours or 0 for row in rows], 0.38, color=FLOAT, label="ours")
    for i, row in enumerate(rows):
        text = "not run" if row.ours is None else f"{row.ours:.2f}"
        if row.paper is not None:
            ax.text(row.paper + 0.8, i - 0.2, f"{row.paper:.2f}", va="center", fontsize=8,
                    color="black")  # fmt: skip
        ax.text((row.ours or 0) + 0.8, i + 0.2, text, va="center", fontsize=8,
                color="black" if row.ours is not None else GREY)  # fmt: skip
    ax.set_yticks(place, [row.what for row in rows], fontsize=8)
    ax.invert_yaxis()
    ax.margins(y=0.01)
    ax.set(xlabel="test accuracy, %", xlim=(0, 108))
    ax.legend(frameon=False, fontsize=8, ncols=2, loc="lower right", bbox_to_anchor=(1, 1))
    ax.spines[["top", "right"]].set_visible(False)
    figure.suptitle(budget, fontsize=8, x=0.01, ha="left")
    return figure
