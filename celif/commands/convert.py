"""``celif convert``: a checkpoint of an earlier version becomes one of the present version."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from celif.commands.options import Json, answer

EXAMPLES = ("celif convert runs/digits/last.pt", "celif convert old.pt -o new.safetensors")


def convert(
    checkpoint: Annotated[
        Path, typer.Argument(metavar="CHECKPOINT", help="Checkpoint (.pt) of version 1 or 2.")
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="File to write; by default a new one of the same name with .safetensors.",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Convert a checkpoint of an earlier version to safetensors.

    The old file is read without running anything in it: only the exact form that celif wrote is
    accepted. It is left as it is.
    """
    from celif import console, outputs
    from training import old_checkpoint
    from training.checkpoint import SUFFIX

    inputs = {"CHECKPOINT": checkpoint}
    if output is None:  # a file that nobody named may be a run's own, trained further since
        output = checkpoint.with_suffix(SUFFIX)
        outputs.require_output(output, None, inputs, remedy="name the file with -o")
    else:
        outputs.require_output(output, outputs.CHECKPOINT, inputs)
    written = old_checkpoint.convert(checkpoint, output)
    console.say(f"{checkpoint}: converted to {written}")
    answer({"checkpoint": str(checkpoint), "written": str(written)}, as_json)
