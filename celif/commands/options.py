"""Options that several commands share, and how a command answers."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from training import tasks

Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
Data = Annotated[Path | None, typer.Option(help="Folder of MNIST, in torchvision's layout.")]
Net = Annotated[Path, typer.Argument(help="Exported netx file.")]
Samples = Annotated[int | None, typer.Option(min=1, help="Use only the first samples.")]
Input = Annotated[
    Path | None, typer.Option(help="Samples as .npy, (batch, channel, time), in place of --task.")
]
TaskOption = Annotated[
    str | None, typer.Option(help=f"Take the test samples of a task: {', '.join(tasks.NAMES)}.")
]
OutFolder = Annotated[Path, typer.Option("--out", "-o", help="Folder for what is made.")]
Output = Annotated[Path | None, typer.Option("--output", "-o", help="Write the trace as .npz.")]


def answer(result: dict[str, Any], as_json: bool) -> None:
    """Print a result to standard output, if it was asked for as JSON."""
    if as_json:
        sys.stdout.write(json.dumps(result, indent=1) + "\n")
