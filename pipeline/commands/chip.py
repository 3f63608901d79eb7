"""``celif fit`` and ``celif golden``: before the chip, and for who brings it up."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pipeline import console, exits
from pipeline.commands.options import Data, Input, Json, Net, Samples, TaskOption, answer


def fit(
    net: Net,
    chip: Annotated[
        str, typer.Option(help="loihi2, or a JSON file that overrides its figures.")
    ] = "loihi2",
    board: Annotated[
        str | None, typer.Option(help="Oheo Gulch, Kapoho Point or Hala Point; sets --chips.")
    ] = None,
    chips: Annotated[int | None, typer.Option(min=1, help="Chips on the board.")] = None,
    task: TaskOption = None,
    data: Data = None,
    input: Input = None,
    samples: Samples = 16,
    picture: Annotated[
        Path | None, typer.Option(help="Draw the chip's occupancy, .png or .svg.")
    ] = None,
    figures: Annotated[
        bool, typer.Option("--figures", help="Print the chip's figures and their sources.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Place a netx file on a chip's cores; samples give energy and time, too."""
    from export import loihi2, read_netx
    from export.chip import read_chip
    from export.fit import fit as place
    from pipeline import fit_picture, fit_view
    from pipeline import samples as inputs

    description = loihi2.CHIP
    if chip != description.name:
        description = read_chip(Path(chip), description)
    if board is not None:
        if chips is not None:
            raise ValueError("chips: expected either --board or --chips, got both")
        known = description.board(board)
        description, chips = description.on(known), known.chips
    fixed = read_netx(net)
    x = None
    if task is not None or input is not None:
        x, _ = inputs.load(task, data, input, samples)
    result = place(fixed, description, chips or 1, x)
    if figures:
        fit_view.show_figures(description)
    fit_view.show(net.name, result)
    answer(result.to_dict(), as_json)
    if result.placement is None:
        raise typer.Exit(exits.DIFFERENCE)
    if picture is not None:
        fit_picture.save(result.placement, f"{net.name} on {description.name}", picture)
        console.say(f"picture: {picture}")
