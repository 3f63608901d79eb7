"""Options that name a Loihi 2 and what runs on it, for ``run`` and ``verify``."""

from __future__ import annotations

from typing import Annotated, Any

import typer

_PANEL = "Target loihi2"

Host = Annotated[
    str | None,
    typer.Option(
        help="Address of a host that is reached directly, or slurm; default from the environment.",
        rich_help_panel=_PANEL,
    ),
]
Partition = Annotated[str | None, typer.Option(help="SLURM's.", rich_help_panel=_PANEL)]
Board = Annotated[str | None, typer.Option(help="SLURM's.", rich_help_panel=_PANEL)]
Generation = Annotated[
    str | None, typer.Option(help="Of the chip, such as N3B3.", rich_help_panel=_PANEL)
]
Hybrid = Annotated[
    bool,
    typer.Option("--hybrid", help="Synapses on the chip, CELIF here.", rich_help_panel=_PANEL),
]
AdapterSteps = Annotated[
    str | None,
    typer.Option(
        help="Steps from host to chip and back; default 1,0, never measured.",
        rich_help_panel=_PANEL,
    ),
]


def chip_options(asked: bool, **options: Any) -> dict[str, Any]:
    """Arguments of :class:`lava_procs.Loihi`; given ones are refused for any other target."""
    given = {name: value for name, value in options.items() if value}
    if given and not asked:
        names = ", ".join(f"--{name.replace('_', '-')}" for name in given)
        raise ValueError(f"{names}: expected with --target loihi2 only; add it, or leave them out")
    if "adapter_steps" in given:
        given["adapter_steps"] = _two_numbers(given["adapter_steps"])
    return given


def _two_numbers(text: str) -> tuple[int, int]:
    try:
        into, out_of = (int(part) for part in text.split(","))
    except ValueError:
        raise ValueError(
            f"--adapter-steps: expected two numbers such as 1,0, got {text!r}"
        ) from None
    return into, out_of
