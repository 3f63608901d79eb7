"""``celif sweep``: accuracy against bits, on a network and data of one's own."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from celif import console
from celif.commands.options import (
    Calibration,
    Data,
    Json,
    Labels,
    Network,
    Samples,
    TaskOption,
    answer,
)

EXAMPLES = (
    "celif sweep runs/digits/best.safetensors",
    "celif sweep mine.pt --data mine.npz --weight-bits 8,4,3,2 --te-bits 8,4 --picture bits.svg",
)


def sweep(
    source: Annotated[Path, typer.Argument(metavar="CHECKPOINT", help="Float checkpoint.")],
    weight_bits: Annotated[
        str, typer.Option(help="Bits of a weight to try, each 2..8.")
    ] = "8,6,5,4,3,2",
    te_bits: Annotated[str, typer.Option(help="Bits of a TE value to try, each 2..16.")] = "8,4",
    per_channel: Annotated[
        bool, typer.Option("--per-channel", help="Give each neuron its own exponents.")
    ] = False,
    task: TaskOption = None,
    data: Data = None,
    labels: Labels = None,
    calibration: Calibration = None,
    network: Network = None,
    samples: Samples = None,
    picture: Annotated[
        Path | None, typer.Option(help="Draw accuracy against bits, as .png or .svg.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Export with different numbers of bits and measure the accuracy of each.

    Every combination is exported without fine-tuning and runs the test samples in the integer
    simulator. Where accuracy falls, celif finetune usually brings it back.
    """
    from celif import outputs, sweeping
    from celif.inputs import user_tasks as own_data
    from celif.inputs.samples import read_checkpoint
    from celif.views.sweep_view import check_picture, draw, show_sweep

    if picture is not None:
        check_picture(picture)
        kind = outputs.picture_kind(picture)
        files = {"CHECKPOINT": source, "--data": data, "--labels": labels}
        files["--calibration"] = calibration
        outputs.require_output(picture, kind, files, "--picture")
    net, about = read_checkpoint(source, network)
    learnt = own_data.load_task(task or about.get("task"), data, labels)
    x = learnt.train.x if calibration is None else own_data.read_calibration(calibration)
    grid = sweeping.Grid(
        sweeping.numbers(weight_bits, "--weight-bits"), sweeping.numbers(te_bits, "--te-bits")
    )
    with console.progress_bar("exports") as report:
        result = sweeping.sweep(net, learnt, x, grid, samples, per_channel, report)
    show_sweep(result)
    if picture is not None:
        draw(result, picture)
        console.say(f"picture: {picture}")
    answer(result.to_dict(), as_json)
