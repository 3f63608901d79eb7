"""``celif demo``: the whole path on handwritten digits that come with scikit-learn."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from celif import console, exits
from celif.commands.options import Json, OutFolder, answer

EXAMPLES = ("celif demo", "celif demo --quick --out /tmp/demo")


def demo(
    out: OutFolder = Path("demo"),
    quick: Annotated[
        bool, typer.Option("--quick", help="Train for two epochs only, and do not judge accuracy.")
    ] = False,
    seed: Annotated[int, typer.Option(help="Seed of the initial weights and of the order.")] = 0,
    as_json: Json = False,
) -> None:
    """Train, export, run in Lava and verify a small network, in about a minute.

    It ends with an HTML page. The data, 8×8 handwritten digits, come with scikit-learn.
    """
    from celif import demo as stages
    from celif import outputs

    outputs.require_folder(out)
    outputs.require_run_folder(out / "training", {})
    for name, kind in (("digits.net", outputs.NETX), ("report.html", outputs.PAGE)):
        if (out / name).exists():
            outputs.require_output(out / name, kind, {}, "--out")
    result = stages.run(out, quick=quick, seed=seed)
    answer(result.to_dict(), as_json)
    console.say(f"Page: {result.page}   network: {result.network}")
    for failure in result.failures:
        console.fail(f"missed: {failure}")
    if result.failures:
        raise typer.Exit(exits.DIFFERENCE)
