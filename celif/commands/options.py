"""Options that several commands share, and how a command prints its result as JSON."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from celif import console
from celif.commands.names import TASKS


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
Data = Annotated[Path | None, typer.Option(help="Folder that holds MNIST in torchvision's layout.")]
Net = Annotated[Path, typer.Argument(help="netx file that celif export wrote.")]
Samples = Annotated[int | None, typer.Option(min=1, help="Use only the first N samples.")]
Input = Annotated[
    Path | None,
    typer.Option(help="Samples as a .npy file, (batch, channel, time), in place of --task."),
]
TaskOption = Annotated[
    str | None, typer.Option(help=f"Use the test samples of a task: {', '.join(TASKS)}.")
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
