"""What ``celif sweep`` prints and draws."""

from __future__ import annotations

from pathlib import Path

from rich import box
from rich.table import Table

from celif.console import results, say
from celif.sweeping import Sweep
from training.support.atomic import atomic_file


def show_sweep(result: Sweep) -> None:
    """Print one row for every number of weight bits and one column for every number of TE bits."""
    te_bits = list(dict.fromkeys(point.te_bits for point in result.points))
    weight_bits = list(dict.fromkeys(point.weight_bits for point in result.points))
    found = {(point.weight_bits, point.te_bits): point for point in result.points}
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column("weights", justify="right")
    for bits in te_bits:
        table.add_column(f"TE of {bits} bits", justify="right")
    for weights in weight_bits:
        cells = [f"{found[weights, bits].accuracy:.2%}" for bits in te_bits]
        table.add_row(f"{weights} bits", *cells)
    results.print(table)
    say(
        f"accuracy of {result.samples:,} test samples of {result.task}; in float it is "
        f"{result.accuracy_float:.2%}"
    )
    if full := sum(point.saturations for point in result.points):
        say(f"registers saturated {full:,} times in all")


def check_picture(path: Path) -> None:
    """Refuse a picture that cannot be written, before anything is computed."""
    if path.suffix not in (".png", ".svg"):
        raise ValueError(f"--picture {path}: expected a name that ends in .png or .svg")


def draw(result: Sweep, path: Path) -> None:
    """Draw accuracy against the bits of weights, one line for every number of TE bits."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 3.6), layout="constrained")
    ax = figure.add_subplot()
    for bits in dict.fromkeys(point.te_bits for point in result.points):
        points = sorted(
            (point.weight_bits, 100 * point.accuracy)
            for point in result.points
            if point.te_bits == bits
        )
        ax.plot(*zip(*points, strict=True), "o-", markersize=4, label=f"TE of {bits} bits")
    ax.axhline(100 * result.accuracy_float, color="0.5", linestyle="--", label="float")
    ax.set_xlabel("bits of a weight")
    ax.set_ylabel("test accuracy, %")
    ax.set_xticks(sorted({point.weight_bits for point in result.points}))
    ax.set_title(f"{result.task}, {result.samples:,} test samples")
    ax.legend(frameon=False)
    with atomic_file(path) as draft:
        figure.savefig(draft, format=path.suffix[1:], dpi=150)
