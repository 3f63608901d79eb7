"""Options that choose a Loihi 2 and how to reach it, for ``run``, ``verify`` and ``doctor``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

_PANEL = "Target loihi2"

Host = Annotated[
    str | None,
    typer.Option(
        help="Address of a host to reach directly, or slurm; default from the environment.",
        rich_help_panel=_PANEL,
    ),
]
Partition = Annotated[
    str | None, typer.Option(help="SLURM partition to ask for.", rich_help_panel=_PANEL)
]
Board = Annotated[str | None, typer.Option(help="SLURM board to ask for.", rich_help_panel=_PANEL)]
Generation = Annotated[
    str | None, typer.Option(help="Generation of the chip, such as N3C1.", rich_help_panel=_PANEL)
]
Hybrid = Annotated[
    bool,
    typer.Option(
        "--hybrid",
        help="Run the synapses on the chip and the CE-LIF neurons on the host.",
        rich_help_panel=_PANEL,
    ),
]
Profile = Annotated[
    Path | None,
    typer.Option(
        help="Attach the extension's profilers; write their figures to this JSON file.",
        rich_help_panel=_PANEL,
    ),
]
AdapterSteps = Annotated[
    str | None,
    typer.Option(
        help="Steps a message takes from host to chip and back; default 0,0, as in a published "
        "trace.",
        rich_help_panel=_PANEL,
    ),
]


def chip_options(asked: bool, **options: Any) -> dict[str, Any]:
    """Collect the arguments of :class:`lava_procs.Loihi`; refuse them for any other target."""
    given = {name: value for name, value in options.items() if value}
    if given and not asked:
        names = ", ".join(f"--{name.replace('_', '-')}" for name in given)
        raise ValueError(f"{names}: expected with --target loihi2 only; add it, or leave them out")
    if "profile" in given:
        given["profile"] = str(given["profile"].absolute())
    if "adapter_steps" in given:
        given["adapter_steps"] = _two_numbers(given["adapter_steps"])
    return given


def _two_numbers(text: str) -> tuple[int, int]:
    try:
        into, out_of = (int(part) for part in text.split(","))
    except ValueError:
        raise ValueError(
            f"--adapter-steps: expected two numbers such as 0,0, got {text!r}"
        ) from None
    return into, out_of
