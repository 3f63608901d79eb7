"""Options of the commands that choose formats, and how their words become numbers."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import typer

_EACH = "for all layers or, e.g. 8,4,4, for each"

WeightBits = Annotated[
    str, typer.Option(help=f"Bits of weights, 2..8, {_EACH} and then the readout.")
]
TeBits = Annotated[str, typer.Option(help=f"Bits of TE, 2..16, {_EACH}.")]
InputBits = Annotated[int, typer.Option(help="Most bits of a graded input spike, 1..16.")]
PerChannel = Annotated[
    bool, typer.Option("--per-channel", help="Exponents of weights and TE for each neuron.")
]
Rule = Annotated[
    Literal["best", "max", "percentile", "mse"],
    typer.Option(help="How exponents are chosen; best measures the others on training samples."),
]
TeEncoding = Annotated[
    Literal["table", "packed", "cosine"] | None,
    typer.Option(help="How TE is kept; packed needs 4 bits or fewer. Default: as it was trained."),
]
TeHold = Annotated[int, typer.Option(help="Steps for which one TE value is held, 1..64.")]
FractionBits = Annotated[
    str | None,
    typer.Option(help=f"Force the fractional bits of V and Θ, 0..16, {_EACH}; may overflow."),
]

DEFAULTS: dict[str, Any] = {
    "weight_bits": "8",
    "te_bits": "8",
    "per_channel": False,
    "rule": "best",
    "te_encoding": None,
    "te_hold": 1,
    "input_bits": 8,
    "fraction_bits": None,
}
"""Of the options above."""


def formats(**given: Any) -> dict[str, Any]:
    """Arguments of :class:`export.Formats`, from the options of a command."""
    names = ("weight_bits", "te_bits", "fraction_bits")
    return given | {name: _numbers(name, given[name]) for name in names}


def _numbers(name: str, text: str | None) -> int | tuple[int, ...] | None:
    if text is None:
        return None
    try:
        numbers = tuple(int(word) for word in text.split(","))
    except ValueError:
        option = "--" + name.replace("_", "-")
        raise ValueError(
            f"{option}: expected a number, or several as in 8,4,4, got {text!r}"
        ) from None
    return numbers[0] if len(numbers) == 1 else numbers
