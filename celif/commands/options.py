"""Options that several commands share, and how a command prints its result as JSON."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from celif import console
from celif.commands.help_names import TASKS


def _only_json(wanted: bool) -> bool:
    """Silence the tables: standard output then holds the JSON document and nothing else."""
    console.results.quiet = wanted
    return wanted


Json = Annotated[
    bool,
    typer.Option(
        "--json",
        callback=_only_json,
        is_eager=True,
        help="Print the result as JSON, and nothing else, to standard output.",
    ),
]
Data = Annotated[
    Path | None,
    typer.Option(
        help="Your own samples, FILE.npz with x and y (or FILE.npy and --labels), or the folder "
        "of a known data set."
    ),
]
Labels = Annotated[
    Path | None,
    typer.Option(help="Classes of the samples, FILE.npy, where their file does not hold them."),
]
Calibration = Annotated[
    Path | None,
    typer.Option(
        help="Samples that calibrate the integer formats, FILE.npz or FILE.npy; default the "
        "training samples of the task."
    ),
]
Network = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Your function that builds the network, as MODULE:FUNCTION, where the checkpoint "
        "is of your own module.",
    ),
]
Net = Annotated[Path, typer.Argument(metavar="NET", help="netx file that celif export wrote.")]
Samples = Annotated[
    int | None, typer.Option(metavar="N", min=1, help="Use only the first N samples.")
]
Input = Annotated[
    Path | None,
    typer.Option(
        help="Samples to use as they are, FILE.npy or FILE.npz (x), (batch, channel, time)."
    ),
]
TaskOption = Annotated[
    str | None,
    typer.Option(
        metavar="TASK",
        help=f"Task by name ({', '.join(TASKS)}), or MODULE:FUNCTION of your own.",
    ),
]
OutFolder = Annotated[Path, typer.Option("--out", "-o", help="Folder to write to.")]
Output = Annotated[
    Path | None,
    typer.Option("--output", "-o", help="Write spikes, V and Θ of every layer to this .npz file."),
]


def answer(result: dict[str, Any], as_json: bool) -> None:
    """Print a result to standard output if the user asked for JSON."""
    if as_json:
        sys.stdout.write(json.dumps(result, indent=1) + "\n")
