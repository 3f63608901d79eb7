"""``celif card``: the measured figures of a model, as a model card."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from celif.commands.options import Data, Json, Samples, answer

EXAMPLES = (
    "celif card runs/digits/best.safetensors",
    "celif card models/seq-mnist-152.safetensors --data DIR",
)


def card(
    model: Annotated[
        Path,
        typer.Argument(
            metavar="CHECKPOINT", help="Checkpoint; its export .net lies in the same folder."
        ),
    ],
    data: Data = None,
    samples: Samples = None,
    lava_samples: Annotated[
        int, typer.Option(metavar="N", min=0, help="Run the first N test samples in Lava, too.")
    ] = 10,
    as_json: Json = False,
) -> None:
    """Measure a model and print its model card in Markdown.

    The checkpoint is evaluated in float, its export in the integer simulator and in Lava.
    """
    from celif import card as cards

    measured = cards.measure(model, data, samples, lava_samples)
    if not as_json:
        sys.stdout.write(cards.markdown(measured))
    answer(measured.to_dict(), as_json)
