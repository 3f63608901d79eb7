"""``celif export`` and ``celif inspect``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pipeline import console
from pipeline.commands.options import Data, Json, Net, answer
from training import tasks


def export(
    source: Annotated[Path, typer.Argument(metavar="CHECKPOINT", help="From celif train.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="netx file to write.")],
    weight_bits: Annotated[int, typer.Option(min=2, max=8)] = 8,
    te_bits: Annotated[int, typer.Option(min=2, max=16)] = 8,
    data: Data = None,
    as_json: Json = False,
) -> None:
    """Export a checkpoint to netx; the training samples of its task calibrate the formats."""
    from export import to_netx
    from training import checkpoint

    net = checkpoint.load(source)
    task = tasks.load(checkpoint.read(source).get("task", "digits"), data)
    report = to_netx(
        net,
        output,
        calibration=task.train.x,
        weight_bits=weight_bits,
        te_bits=te_bits,
    )
    console.show_export(report)
    answer(report.to_dict(), as_json)


def inspect(net: Net, as_json: Json = False) -> None:
    """Show what a netx file holds, after checking all of it."""
    from export import read_netx
    from pipeline.inspection import describe, show

    description = describe(read_netx(net))
    show(description)
    answer(description, as_json)
