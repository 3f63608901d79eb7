"""``celif card``: the figures of a model's card, measured."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from celif.commands.options import Data, Json, Samples, answer


def card(
    model: Annotated[Path, typer.Argument(help="Checkpoint .pt; its export .net lies beside it.")],
    data: Data = None,
    samples: Samples = None,
    lava_samples: Annotated[
        int, typer.Option(min=0, help="Of the first test samples, how many run in Lava, too.")
    ] = 10,
    as_json: Json = False,
) -> None:
    """Measure a model in float, twin and Lava, and print its card in Markdown."""
    from celif import card as cards

    measured = cards.measure(model, data, samples, lava_samples)
    if not as_json:
        sys.stdout.write(cards.markdown(measured))
    answer(measured.to_dict(), as_json)
