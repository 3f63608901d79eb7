"""The ``celif`` command.

Exit codes: 0 all is well, 1 a difference or a missed promise, 2 bad input or setup, 3 the run
failed, 4 incomplete; :mod:`celif.exits` has the whole table. Tables and progress go to
standard error; ``--json`` prints one JSON document to standard output.
"""

from __future__ import annotations

import os
import sys
from importlib import metadata
from typing import Annotated

# Two pools of threads, torch's and numba's, take turns; a waiting one must not spin.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

import typer

from celif import console as console
from celif import exits
from celif.commands.card import card
from celif.commands.chip import fit, golden
from celif.commands.demo import demo
from celif.commands.doctor import doctor
from celif.commands.exporting import export, inspect
from celif.commands.finetune import finetune
from celif.commands.reproduce import reproduce
from celif.commands.running import run, simulate
from celif.commands.training import evaluate, train
from celif.commands.verifying import report, verify

COMMANDS = (
    demo,
    train,
    finetune,
    evaluate,
    export,
    inspect,
    verify,
    report,
    simulate,
    run,
    fit,
    golden,
    card,
    reproduce,
    doctor,
)
"""In the order in which ``celif --help`` lists them."""

app = typer.Typer(
    epilog=exits.EPILOG,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
for command in COMMANDS:
    app.command()(command)


def _show_version(wanted: bool) -> None:
    if wanted:
        sys.stdout.write(f"celif {version()}\n")
        raise typer.Exit


def version() -> str:
    """Version of what is installed; unknown where celif is only a folder on the path."""
    try:
        return metadata.version("celif-lava")
    except metadata.PackageNotFoundError:
        return "unknown"


@app.callback()
def options(
    show_version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    """From a CE-LIF network in PyTorch to Intel's Loihi, through Lava."""


def main() -> None:
    """Run a command and exit with its code; what the user can mend ends in one line."""
    try:
        app()
    except Exception as error:
        sys.exit(exits.explain(error))


if __name__ == "__main__":
    main()
