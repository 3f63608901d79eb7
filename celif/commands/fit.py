"""``celif fit``: whether a network fits a chip, and what it costs there."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from celif import console, exits
from celif.commands.options import Data, Input, Json, Samples, TaskOption, answer

EXAMPLES = (
    "celif fit digits.net --task digits",
    'celif fit digits.net --board "Kapoho Point" --picture cores.svg',
)


def fit(
    net: Annotated[
        Path | None, typer.Argument(metavar="NET", help="netx file that celif export wrote.")
    ] = None,
    chip: Annotated[
        str, typer.Option(help="loihi2, or a JSON file that overrides some of its figures.")
    ] = "loihi2",
    board: Annotated[
        str | None,
        typer.Option(help="Board: Oheo Gulch, Kapoho Point or Hala Point; sets --chips."),
    ] = None,
    chips: Annotated[int | None, typer.Option(metavar="N", min=1, help="Number of chips.")] = None,
    task: TaskOption = None,
    data: Data = None,
    input: Input = None,
    samples: Samples = 16,
    picture: Annotated[
        Path | None, typer.Option(help="Draw which layer occupies which core, as .png or .svg.")
    ] = None,
    figures: Annotated[
        bool,
        typer.Option("--figures", help="Print the figures assumed of the chip, and their sources."),
    ] = False,
    calibration: Annotated[
        bool,
        typer.Option(
            "--calibration",
            help="Compare our model with published tables and measurements, and stop.",
        ),
    ] = False,
    as_json: Json = False,
) -> None:
    """Place a netx file on a chip's cores; estimate energy and time.

    Energy and time need samples, from --task, --data or --input, on which operations are counted.
    """
    if calibration:
        _calibrate(as_json)
        return
    if net is None:
        raise ValueError("net: expected an exported netx file (or --calibration), got none")
    from celif import outputs
    from celif.inputs import samples as inputs
    from celif.views.chip import fit_picture, fit_table
    from export import read_netx
    from export.fit import fit as place
    from export.fit.chip import read_chip
    from export.fit.figures import CHIP

    if picture is not None:
        fit_picture.check_path(picture)
        files: outputs.Inputs = {"NET": net, "--chip": chip, "--data": data, "--input": input}
        outputs.require_output(picture, outputs.picture_kind(picture), files, "--picture")
    description = CHIP
    if chip != description.name:
        description = read_chip(Path(chip), description)
    if board is not None:
        if chips is not None:
            raise ValueError("chips: expected either --board or --chips, got both")
        known = description.board(board)
        description, chips = description.on(known), known.chips
    fixed = read_netx(net)
    x = None
    if task is not None or data is not None or input is not None:
        x, _ = inputs.load(task, data, input, samples, fixed=fixed, judged=False)
    result = place(fixed, description, chips or 1, x)
    if figures:
        fit_table.show_figures(description)
    fit_table.show(net.name, result)
    answer(result.to_dict(), as_json)
    if result.placement is None:
        raise typer.Exit(exits.DIFFERENCE)
    if picture is not None:
        fit_picture.save(result.placement, f"{net.name} on {description.name}", picture)
        console.say(f"picture: {picture}")


def _calibrate(as_json: bool) -> None:
    from celif.views.chip.calibration_table import show_calibration, show_measured
    from export.fit.calibration import calibration
    from export.fit.energy.measured import MEASUREMENTS

    rows = calibration()
    show_calibration(rows)
    show_measured(MEASUREMENTS)
    measured = [one.to_dict() for one in MEASUREMENTS]
    answer({"rows": [row.to_dict() for row in rows], "measured": measured}, as_json)
