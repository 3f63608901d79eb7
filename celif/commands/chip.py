"""``celif fit`` and ``celif golden``: planning for a chip, and the kit for bringing one up."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from celif import console, exits
from celif.commands.options import Data, Input, Json, Samples, TaskOption, answer


def fit(
    net: Annotated[Path | None, typer.Argument(help="Exported netx file.")] = None,
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
    calibration: Annotated[
        bool,
        typer.Option(
            "--calibration", help="Compare our counts with tables of Intel's compiler, and stop."
        ),
    ] = False,
    as_json: Json = False,
) -> None:
    """Place a netx file on a chip's cores; samples give energy and time, too."""
    if calibration:
        _calibrate(as_json)
        return
    if net is None:
        raise ValueError("net: expected an exported netx file (or --calibration), got none")
    from celif import samples as inputs
    from celif.views import fit_picture, fit_table
    from export import read_netx
    from export.fit.chip import read_chip
    from export.fit.figures import CHIP
    from export.fit.fit import fit as place

    if picture is not None:
        fit_picture.check_path(picture)
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
    if task is not None or input is not None:
        x, _ = inputs.load(task, data, input, samples)
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
    from celif.views.calibration_table import show_calibration
    from export.fit.calibration import calibration

    rows = calibration()
    show_calibration(rows)
    answer({"rows": [row.to_dict() for row in rows]}, as_json)


def golden(
    file: Annotated[
        Path, typer.Argument(help="Exported netx file; with --check, the .npz to compare.")
    ],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Folder of the kit to write.")
    ] = None,
    check: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Compare with the kit in this folder.")
    ] = None,
    case: Annotated[
        str | None, typer.Option(help="With --check: the case that the .npz is of.")
    ] = None,
    task: TaskOption = None,
    data: Data = None,
    input: Input = None,
    samples: Samples = 2,
    as_json: Json = False,
) -> None:
    """Write the bring-up kit of a netx file, or compare vectors with one."""
    if (output is None) == (check is None):
        raise ValueError("golden: expected either --output or --check, got both or neither")
    if check is not None:
        _compare(check, file, case, as_json)
        return
    from celif import samples as inputs
    from export import read_netx
    from hw_tests.golden import write_kit
    from hw_tests.golden.kit import random_input

    fixed = read_netx(file)
    if task is None and input is None:
        x = random_input(fixed, samples or 1)
        console.say("samples: random, the same every time (--task or --input gives others)")
    else:
        x, _ = inputs.load(task, data, input, samples)
    manifest = write_kit(fixed, x, str(output))
    count, files = len(manifest["cases"]), len(manifest["sha256"])
    console.say(f"{output}: {count} cases, {files} files; begin with its README.md")
    answer({"folder": str(output), **manifest}, as_json)


def _compare(kit: Path, file: Path, case: str | None, as_json: bool) -> None:
    from hw_tests.golden import check

    outcome = check(kit, file, case)
    answer(outcome.to_dict(), as_json)
    if outcome.first is not None:
        console.fail(f"{outcome.mismatches:,} of {outcome.values:,} values differ; the first:")
        console.say(f"{outcome.file}: {outcome.first}")
        raise typer.Exit(exits.DIFFERENCE)
    console.say(f"equal: {outcome.values:,} values")
    if outcome.missing:
        shown, more = outcome.missing[:6], len(outcome.missing) - 6
        rest = f" and {more} more" if more > 0 else ""
        console.warn(f"not compared, as {file} has none: {', '.join(shown)}{rest}")
        raise typer.Exit(exits.INCOMPLETE)
