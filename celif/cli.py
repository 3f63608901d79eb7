"""The ``celif`` command.

Each command has a module of its own in :mod:`celif.commands`, which is imported when the command
is called. Results go to standard output, progress and warnings to standard error; with ``--json``
standard output holds one JSON document and nothing else. :mod:`celif.exits` lists the exit codes.
"""

from __future__ import annotations

import sys
from importlib import import_module, metadata
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from celif import console as console
from celif import exits
from celif.config_file import read_config, require_options

COMMANDS = {
    "demo": "Train, export, run in Lava and verify a small network, in about a minute.",
    "train": "Train a network; write checkpoints and metrics to a folder.",
    "finetune": "Continue a float checkpoint with quantisation-aware training.",
    "evaluate": "Measure the test accuracy of checkpoints and netx files.",
    "export": "Export a checkpoint to a netx file.",
    "inspect": "Show what a netx file holds, after checking all of it.",
    "verify": "Compare a netx file with its checkpoint, rung by rung.",
    "report": "Verify a netx file and write an HTML page about it, with figures.",
    "compare": "Compare two checkpoints or netx files, on samples and value by value.",
    "sweep": "Export with different numbers of bits and measure the accuracy of each.",
    "simulate": "Run a netx file in the batched integer simulator.",
    "run": "Run a netx file in Lava, on this CPU or on a Loihi 2.",
    "fit": "Place a netx file on a chip's cores; estimate energy and time.",
    "golden": "Write the bring-up kit of a netx file, or check results against one.",
    "card": "Measure a model and print its model card in Markdown.",
    "convert": "Convert a checkpoint of an earlier version to safetensors.",
    "reproduce": "Run an experiment of the paper and compare the numbers.",
    "doctor": "Check this machine: what works, and how to fix the rest.",
}
"""Every command and its summary, in the order in which ``celif --help`` lists them."""

HELP = {"help_option_names": ["-h", "--help"]}


class LazyGroup(TyperGroup):
    """A group that lists its commands by their summaries and imports one when it is called."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the command as typer does, then load what stands behind it."""
        name, command, rest = super().resolve_command(ctx, args)
        return name, command if command is None else load(str(name)), rest


def load(name: str) -> Any:
    """Import a command's module and build the command."""
    module = import_module(f"celif.commands.{name}")
    alone = typer.Typer(add_completion=False, context_settings=HELP)
    # A blank line between two examples is what keeps them on lines of their own.
    examples = "\n\n".join(["Examples:", *(f"$ {line}" for line in module.EXAMPLES)])
    function = getattr(module, name)
    alone.command(name, help=_reflowed(function.__doc__), epilog=examples)(function)
    return typer.main.get_command(alone)


def _reflowed(text: str) -> str:
    """Join the lines of every paragraph, which typer would break where the source does."""
    return "\n\n".join(" ".join(part.split()) for part in text.split("\n\n"))


app = typer.Typer(
    cls=LazyGroup,
    context_settings=HELP,
    epilog=exits.EPILOG,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
for _name, _summary in COMMANDS.items():
    app.command(_name, help=_summary)(lambda: None)


def _show_version(wanted: bool) -> None:
    if wanted:
        sys.stdout.write(f"celif {version()}\n")
        raise typer.Exit


def version() -> str:
    """Return the installed version; unknown where celif is only a folder on the path."""
    try:
        return metadata.version("celif-lava")
    except metadata.PackageNotFoundError:
        return "unknown"


@app.callback()
def options(
    context: typer.Context,
    show_version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version."),
    ] = False,
    config: Annotated[
        Path | None,
        typer.Option(
            envvar="CELIF_CONFIG",
            help="TOML or JSON file with options, a section for each command.",
        ),
    ] = None,
) -> None:
    """Take a CE-LIF network from PyTorch to Intel's Loihi 2, through Lava."""
    if config is None:
        return
    context.default_map = read_config(config, COMMANDS)
    name = str(context.invoked_subcommand)
    known = {str(parameter.name) for parameter in load(name).params}
    require_options(name, context.default_map.get(name, {}), known)


def main() -> None:
    """Run a command and exit with its code; errors that a user can mend end in one line."""
    try:
        app()
    except Exception as error:
        sys.exit(exits.explain(error))


if __name__ == "__main__":
    main()
