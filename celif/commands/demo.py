"""``celif demo``: the whole path on data that comes along."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from celif import console, exits
from celif.commands.options import Json, OutFolder, answer


def demo(
    out: OutFolder = Path("demo"),
    quick: Annotated[bool, typer.Option(help="Train for a moment; judge no accuracy.")] = False,
    seed: int = 0,
    as_json: Json = False,
) -> None:
    """The whole path on data that comes along: train, export, run in Lava, verify, report."""
    from celif import demo as stages

    outcome = stages.run(out, quick=quick, seed=seed)
    answer(outcome.to_dict(), as_json)
    console.say(f"Page: {outcome.page}   network: {outcome.network}")
    for failure in outcome.failures:
        console.fail(f"missed: {failure}")
    if outcome.failures:
        raise typer.Exit(exits.DIFFERENCE)
