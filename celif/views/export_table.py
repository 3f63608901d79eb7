"""What ``celif export`` prints: the formats of every layer and the errors of rounding."""

from __future__ import annotations

from rich import box
from rich.markup import escape
from rich.table import Table

from celif import console
from export import ExportReport


def show_export(report: ExportReport) -> None:
    """Print the formats and errors of an export."""
    console.say(f"{report.path}  ({report.file_bytes:,} bytes)")
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    names = ("layer", "shape", "F", "range", "room", "weights", "±", "TE", "±", "TE bytes")
    for name in names:
        table.add_column(name, justify="right" if name != "layer" else "left", overflow="fold")
    for layer in report.layers:
        table.add_row(
            escape(layer.name),
            f"{layer.neurons}×{layer.inputs}",
            str(layer.fraction_bits),
            "proven" if layer.proven else "calibrated",
            f"{layer.headroom_bits:.1f}",
            f"{layer.weight_bits} bits",
            f"{layer.weight_error:.0e}",
            f"{layer.te_bits} bits",
            f"{layer.te_error:.0e}",
            f"{layer.te_bytes:,}",
        )
    console.results.print(table)
    for layer in report.layers:
        if not layer.proven:
            console.say(f"{layer.name}: not proven: {layer.verdict}")
    console.say("F: fraction bits of V and Θ; room: bits to the end of the register;")
    console.say("±: largest rounding error")
