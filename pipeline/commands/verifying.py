"""``celif verify``: the parity ladder and the gap."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pipeline import console, exits
from pipeline.commands.options import Data, Input, Json, Net, Samples, TaskOption, answer


def verify(
    net: Net,
    against: Annotated[Path | None, typer.Option(help="Checkpoint it was exported from.")] = None,
    task: TaskOption = None,
    data: Data = None,
    input: Input = None,
    samples: Samples = None,
    lava_samples: Annotated[int, typer.Option(min=1, help="Samples that climb the ladder.")] = 4,
    target: Annotated[
        str | None,
        typer.Option(help="Compare only these, of torch,twin,lava,loihi2; default all but loihi2."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Climb the parity ladder and measure the gap to the float network."""
    from pipeline import samples as inputs
    from pipeline.verify import verify as climb
    from training import checkpoint

    x, y = inputs.load(task, data, input, samples)
    source = None if against is None else checkpoint.load(against)
    targets = [n.strip() for n in (target or "torch,twin,lava").split(",") if n.strip()]
    console.notice(f"Comparing {min(lava_samples, len(x))} samples; in Lava this takes a while.")
    result = climb(net, source, x, y, targets=targets, lava_samples=lava_samples)
    console.show_verification(result)
    answer(result.to_dict(), as_json)
    differs = any(rung.verdict == "DIFFERS" for rung in result.rungs)
    if differs or (result.gap is not None and not result.gap.same_source):
        raise typer.Exit(exits.DIFFERENCE)
    # Who names targets leaves the others out on purpose; what was asked for must have run.
    if not result.equal or not (target or result.complete):
        console.warn("incomplete: no difference was found, but a rung that applies did not run")
        raise typer.Exit(exits.INCOMPLETE)
