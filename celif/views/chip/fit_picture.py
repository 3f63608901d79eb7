"""A picture of a placement: every core in use, what its memory holds, and of which layer.

The squares are filled by words of the pool. Another limit may be nearer, such as neuron words for
TE, so each core also has the share of its nearest limit as a number.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib
from matplotlib.collections import PatchCollection
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle
from matplotlib.patheffects import withStroke

from celif.views.chip.fit_table import ACROSS, symbol
from export.fit.placement import Core, Placement
from export.fit.words import LABELS
from training.support.atomic import atomic_file

# Colours that stay apart for the colour-blind (Okabe and Ito).
COLOURS = {"synapses": "#0072B2", "axons": "#56B4E9", "te": "#E69F00", "state": "#009E73"}
_EMPTY, _EDGE = "#f2f2f2", "#9a9a9a"
_CHIPS_SHOWN = 12
_CELL = 0.9


def _squares(cores: tuple[Core, ...], per_chip: int, pool: int) -> dict[str, list[Rectangle]]:
    """Rectangles of a chip, by what they show; a core's memory fills its square from below."""
    shapes: dict[str, list[Rectangle]] = {name: [] for name in ("empty", *COLOURS)}
    for place in range(per_chip):
        x, y = place % ACROSS, -(place // ACROSS)
        shapes["empty"].append(Rectangle((x, y), _CELL, _CELL))
        if place >= len(cores):
            continue
        filled = 0.0
        for name in COLOURS:
            height = _CELL * getattr(cores[place].held, name) / pool
            shapes[name].append(Rectangle((x, y + filled), _CELL, height))
            filled += height
    return shapes


def draw(placement: Placement, title: str) -> Figure:
    """Draw the chips in use (the first dozen) as squares of cores."""
    per_chip, pool = placement.chip["cores"], placement.chip["pool_words"]
    used = -(-len(placement.cores) // per_chip)
    shown = min(used, _CHIPS_SHOWN)
    columns = min(shown, 3)
    rows = -(-shown // columns)
    wide, deep = min(per_chip, ACROSS), -(-per_chip // ACROSS)
    size = 0.45 if columns == 1 else 0.29
    # In inches: margins and titles keep their size whatever the chips need.
    width = max(size * wide * columns + 0.4, 7.2)
    height = (size * deep + 0.5) * rows + 1.5
    figure = Figure(figsize=(width, height))
    axes = figure.subplots(rows, columns, squeeze=False)
    for n, ax in enumerate(axes.flat):
        ax.set_axis_off()
        if n >= shown:
            continue
        cores = placement.cores[n * per_chip : (n + 1) * per_chip]
        for name, shapes in _squares(cores, per_chip, pool).items():
            face = _EMPTY if name == "empty" else COLOURS[name]
            edge = _EDGE if name == "empty" else "none"
            ax.add_collection(
                PatchCollection(shapes, facecolor=face, edgecolor=edge, linewidth=0.6)
            )
        for place, core in enumerate(cores):
            at = place % ACROSS + _CELL / 2, -(place // ACROSS) + _CELL / 2
            ax.text(
                *at,
                f"{symbol(core.layer)}\n{max(placement.loads(core).values()):.0%}",
                ha="center",
                va="center",
                fontsize=15 * size,
                path_effects=[withStroke(linewidth=2, foreground="white")],
            )
        ax.set_xlim(-0.1, wide)
        ax.set_ylim(1 - deep - 0.1, 1)
        ax.set_aspect("equal")
        ax.set_title(f"chip {n}: {len(cores)} of {per_chip} cores", fontsize=9, loc="left")
    more = f" ({used - shown} more chips in use are not drawn)" if used > shown else ""
    figure.suptitle(title + more, fontsize=11)
    keys = [Patch(color=COLOURS[name], label=LABELS[name]) for name in COLOURS]
    keys.append(Patch(facecolor=_EMPTY, edgecolor=_EDGE, label=f"free, of {pool:,} words"))
    figure.legend(handles=keys, loc="lower center", ncols=len(keys), fontsize=8, frameon=False)
    names = [
        f"{symbol(i)}: {layer.neurons:,} {layer.kind}"
        for i, layer in enumerate(placement.layers[:6])
    ]
    dots = " …" if len(placement.layers) > len(names) else ""
    said = (
        "   ".join(names)
        + dots
        + "\nin a core: its layer, and how much of its nearest limit is taken"
    )
    figure.text(0.5, 0.4 / height, said, ha="center", fontsize=8)
    figure.subplots_adjust(
        left=0.2 / width, right=1 - 0.2 / width, top=1 - 0.75 / height, bottom=0.75 / height,
        hspace=0.5 / (size * deep), wspace=0.06,
    )  # fmt: skip
    return figure


def check_path(path: Path) -> None:
    """Refuse a path that :func:`save` could not write."""
    if path.suffix.lower() not in (".png", ".svg"):
        raise ValueError(f"--picture {path}: expected a name that ends in .png or .svg")
    if not path.absolute().parent.is_dir():
        raise ValueError(f"--picture {path}: its folder does not exist; create it")


def save(placement: Placement, title: str, path: Path) -> None:
    """Write the picture as PNG or SVG, by the end of its name."""
    check_path(path)
    kind = path.suffix.lower().lstrip(".")
    # Without a salt of our own, matplotlib draws its names in SVG at random.
    with atomic_file(path) as draft, matplotlib.rc_context({"svg.hashsalt": "celif"}):
        draw(placement, title).savefig(
            draft, format=kind, dpi=150, metadata={"Date": None} if kind == "svg" else None
        )
