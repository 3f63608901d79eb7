"""``celif export`` and ``celif inspect``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from celif import console
from celif.commands.format_options import (
    DEFAULTS,
    FractionBits,
    InputBits,
    PerChannel,
    Rule,
    TeBits,
    TeEncoding,
    TeHold,
    WeightBits,
    formats,
)
from celif.commands.options import Data, Json, Net, answer
from training import tasks


def export(
    source: Annotated[Path, typer.Argument(metavar="CHECKPOINT", help="From celif train.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="netx file to write.")],
    weight_bits: WeightBits = "8",
    te_bits: TeBits = "8",
    per_channel: PerChannel = False,
    rule: Rule = "best",
    te_encoding: TeEncoding = None,
    te_hold: TeHold = 1,
    input_bits: InputBits = 8,
    fraction_bits: FractionBits = None,
    data: Data = None,
    as_json: Json = False,
) -> None:
    """Export a checkpoint to netx; the training samples of its task calibrate the formats.

    One that celif finetune made has its formats already, and is exported in them.
    """
    from export import QuantizedNetwork, to_netx
    from training import checkpoint

    chosen = formats(
        weight_bits=weight_bits,
        te_bits=te_bits,
        per_channel=per_channel,
        rule=rule,
        te_encoding=te_encoding,
        te_hold=te_hold,
        input_bits=input_bits,
        fraction_bits=fraction_bits,
    )
    net = checkpoint.load_module(source)
    if isinstance(net, QuantizedNetwork):
        if chosen != formats(**DEFAULTS):
            raise ValueError(
                f"{source}: expected no options of formats, which celif finetune has fixed, got "
                "some; leave them out"
            )
        report = to_netx(net, output)
    else:
        task = tasks.load(checkpoint.read(source).get("task", "digits"), data)
        report = to_netx(net, output, calibration=task.train.x, **chosen)
    console.show_export(report)
    answer(report.to_dict(), as_json)


def inspect(
    net: Net,
    certify: Annotated[
        bool, typer.Option("--certify", help="Prove how large each register can become.")
    ] = False,
    attack: Annotated[
        bool, typer.Option("--attack", help="Also search for inputs that come near; seconds.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Show what a netx file holds, after checking all of it.

    With --certify or --attack, ends with 1 if a register overflowed or passed its bound, and with
    4 if neither happened, but it is not proven that none can.
    """
    from celif.views.certificate_table import certification, exit_code, show_certification
    from celif.views.inspect_table import describe, show
    from export import read_netx

    fixed = read_netx(net)
    description = describe(fixed)
    show(description)
    result = certification(fixed, attack) if certify or attack else None
    if result is not None:
        show_certification(result)
        description |= result
    answer(description, as_json)
    if result is not None and (code := exit_code(result)):
        raise typer.Exit(code)
