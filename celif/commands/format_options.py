"""Options that choose the integer formats, for ``export`` and ``finetune``."""

from __future__ import annotations

from dataclasses import fields
from typing import Annotated, Any, Literal

import typer

_EACH = "one number for all layers or, as in 8,4,4, one for each"

WeightBits = Annotated[str, typer.Option(help=f"Bits of a weight, 2..8, {_EACH} and the readout.")]
TeBits = Annotated[str, typer.Option(help=f"Bits of a TE value, 2..16, {_EACH}.")]
InputBits = Annotated[int, typer.Option(help="Bits of a graded input spike, 1..16.")]
PerChannel = Annotated[
    bool,
    typer.Option("--per-channel", help="Give each neuron its own exponents of weights and TE."),
]
Rule = Annotated[
    Literal["best", "max", "percentile", "mse"],
    typer.Option(
        metavar="RULE",
        help="How exponents are chosen: max, percentile, mse, or best, which tries the others on "
        "the calibration samples.",
    ),
]
TeEncoding = Annotated[
    Literal["table", "packed", "cosine"] | None,
    typer.Option(
        metavar="FORM",
        help="How the file keeps TE: table, packed (4 bits or fewer) or cosine. Default: as "
        "trained.",
    ),
]
TeHold = Annotated[int, typer.Option(help="Steps for which one TE value is held, 1..64.")]
FractionBits = Annotated[
    str | None,
    typer.Option(help=f"Force the fractional bits of V and Θ, 0..16, {_EACH}; may overflow."),
]


def options_given(context: typer.Context) -> list[str]:
    """Return those of the options above that the user gave, even if they equal the defaults."""
    from export import Formats

    names = [field.name for field in fields(Formats)]
    sources = {name: context.get_parameter_source(name) for name in names}
    return [
        "--" + name.replace("_", "-")
        for name, source in sources.items()
        if source is not None and source.name != "DEFAULT"
    ]


def formats(**given: Any) -> dict[str, Any]:
    """Turn the options of a command into the arguments of :class:`export.Formats`."""
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
