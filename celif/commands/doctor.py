"""``celif doctor``: what is installed, what works, and how to fix the rest."""

from __future__ import annotations

from typing import Annotated, Literal

import typer
from rich.markup import escape

from celif import console, exits
from celif.commands.chip_options import Board, Generation, Host, Hybrid, Partition, chip_options
from celif.commands.options import Json, answer

EXAMPLES = ("celif doctor", "celif doctor --target loihi2 --host slurm")

_COLOURS = {"ok": "green", "note": "yellow", "missing": "bold red"}


def doctor(
    target: Annotated[
        Literal["lava", "loihi2"],
        typer.Option(help="With loihi2, a chip that cannot be reached counts as missing."),
    ] = "lava",
    host: Host = None,
    partition: Partition = None,
    board: Board = None,
    generation: Generation = None,
    hybrid: Hybrid = False,
    as_json: Json = False,
) -> None:
    """Check this machine: what works, and how to fix the rest."""
    from celif.doctor import MISSING, Check, examine

    asked = target == "loihi2"
    chip = chip_options(
        asked, host=host, partition=partition, board=board, generation=generation, hybrid=hybrid
    )
    checks: list[Check] = []
    for check in examine(chip if asked else None):
        if not checks or checks[-1].group != check.group:
            console.say(check.group)
        remedy = f"; {check.remedy}" if check.remedy else ""
        mark = f"[{_COLOURS[check.state]}]{check.state:>7}[/]"
        line = escape(f"{check.name}: {check.found}{remedy}")
        console.results.print(f"{mark}  {line}", soft_wrap=True)
        checks.append(check)
    missing = [check.name for check in checks if check.state == MISSING]
    answer({"well": not missing, "checks": [check.to_dict() for check in checks]}, as_json)
    if missing:
        console.fail(f"missing: {', '.join(missing)}")
        raise typer.Exit(exits.BAD_INPUT)
