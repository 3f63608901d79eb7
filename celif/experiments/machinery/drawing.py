"""One style for the figures of the experiments: a page wide, plain frames, small type."""

from __future__ import annotations

from collections.abc import Iterable

from matplotlib.axes import Axes

WIDTH = 9.0
"""Inches; a page shows a figure at two thirds of that, so no type is below :data:`SMALL`."""
SMALL = 9
GRID = "#e6e8ec"


def plain(axes: Iterable[Axes], grid: str | None = None) -> None:
    """Take away the frame's upper and right sides; ``grid`` is the axis across which lines help."""
    for ax in axes:
        ax.spines[["top", "right"]].set_visible(False)
        ax.tick_params(labelsize=SMALL)
        if grid == "x":
            ax.grid(axis="x", color=GRID)
        elif grid == "y":
            ax.grid(axis="y", color=GRID)
        ax.set_axisbelow(True)


def legend(ax: Axes, **options: object) -> None:
    """Draw a legend without a frame."""
    ax.legend(frameon=False, fontsize=SMALL, **options)
