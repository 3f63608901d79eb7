"""What ``celif compare`` prints."""

from __future__ import annotations

from rich import box
from rich.markup import escape
from rich.table import Table

from celif.comparison import ModelComparison
from celif.console import results, say

_SHOWN = 8


def show_comparison(result: ModelComparison) -> None:
    """Print both sides, how many predictions agree, and what differs first."""
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for name in ("model", "kind", "values", "accuracy"):
        justify = "left" if name in ("model", "kind") else "right"
        table.add_column(name, justify=justify, overflow="fold")  # type: ignore[arg-type]
    for side in (result.first, result.second):
        score = "" if side.accuracy is None else f"{side.accuracy:.2%}"
        table.add_row(escape(side.path), side.kind, f"{side.values:,}", score)
    results.print(table)
    say(f"same prediction: {result.agreement:.2%} of {result.samples:,} samples")
    if result.changed:
        shown = ", ".join(map(str, result.changed[:_SHOWN]))
        more = len(result.changed) - _SHOWN
        say(f"changed: samples {shown}" + (f" and {more:,} more" if more > 0 else ""))
    if result.datasets is not None:
        say(f"datasets that differ: {len(result.datasets)}")
        for difference in result.datasets[:_SHOWN]:
            say(f"  {difference}")
    if result.divergence is not None:
        say(f"in a run the first difference is: {result.divergence}")
