"""``celif inspect``: what a netx file holds, and a proof of how large its registers can become."""

from __future__ import annotations

from typing import Annotated

import typer

from celif.commands.options import Json, Net, answer

EXAMPLES = ("celif inspect digits.net", "celif inspect digits.net --certify --attack")


def inspect(
    net: Net,
    certify: Annotated[
        bool,
        typer.Option("--certify", help="Prove how large each register can become for any input."),
    ] = False,
    attack: Annotated[
        bool,
        typer.Option(
            "--attack", help="Also search for inputs that come near the bounds; takes seconds."
        ),
    ] = False,
    as_json: Json = False,
) -> None:
    """Show what a netx file holds, after checking all of it.

    With --certify or --attack the exit code is 1 if a register overflowed or passed its bound, and
    4 if neither happened but it is not proven that no register can overflow.
    """
    from celif.views.inspect_table import describe, show
    from export import read_netx

    fixed = read_netx(net)
    description = describe(fixed)
    show(description)
    if not (certify or attack):
        answer(description, as_json)
        return
    from celif.views.certificate_table import certification, exit_code, show_certification

    result = certification(fixed, attack)
    show_certification(result)
    answer(description | result, as_json)
    if code := exit_code(result):
        raise typer.Exit(code)
