"""``celif golden``: test vectors and documents for whoever brings the neuron up on a chip."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from celif import console, exits
from celif.commands.options import Data, Input, Json, Samples, TaskOption, answer

EXAMPLES = (
    "celif golden digits.net -o kit",
    "celif golden mine.npz --check kit --case saturation",
)


def golden(
    file: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="netx file; with --check, the .npz file to compare."),
    ],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Folder to write the kit to.")
    ] = None,
    check: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Folder of the kit to compare with.")
    ] = None,
    case: Annotated[
        str | None, typer.Option(help="With --check: the case that the .npz file belongs to.")
    ] = None,
    task: TaskOption = None,
    data: Data = None,
    input: Input = None,
    samples: Samples = 2,
    as_json: Json = False,
) -> None:
    """Write the bring-up kit of a netx file, or check results against one.

    The kit holds the integer specification, worked cases and their expected values.
    """
    if (output is None) == (check is None):
        raise ValueError("golden: expected either --output or --check, got both or neither")
    if check is not None:
        _compare(check, file, case, as_json)
        return
    from celif import outputs
    from celif.inputs import samples as inputs
    from export import read_netx
    from hw_tests.golden import write_kit
    from hw_tests.golden.kit import random_input

    assert output is not None  # without --check
    outputs.require_folder(output, {"FILE": file, "--data": data, "--input": input}, "--output")
    fixed = read_netx(file)
    if task is None and data is None and input is None:
        x = random_input(fixed, samples or 1)
        console.note("samples: random, from a fixed seed; --task or --input chooses others")
    else:
        x, _ = inputs.load(task, data, input, samples, fixed=fixed, judged=False)
    manifest = write_kit(fixed, x, str(output))
    count, files = len(manifest["cases"]), len(manifest["sha256"])
    console.say(f"{output}: {count} cases, {files} files; begin with its README.md")
    answer({"folder": str(output), **manifest}, as_json)


def _compare(kit: Path, file: Path, case: str | None, as_json: bool) -> None:
    from hw_tests.golden import check

    outcome = check(kit, file, case)
    answer(outcome.to_dict(), as_json)
    if outcome.first is not None:
        console.fail(f"{outcome.mismatches:,} of {outcome.values:,} values differ; the first:")
        console.say(f"{outcome.file}: {outcome.first}")
        raise typer.Exit(exits.DIFFERENCE)
    console.say(f"equal: {outcome.values:,} values")
    if outcome.missing:
        shown, more = outcome.missing[:6], len(outcome.missing) - 6
        rest = f" and {more} more" if more > 0 else ""
        console.warn(f"not compared, as {file} has none: {', '.join(shown)}{rest}")
        raise typer.Exit(exits.INCOMPLETE)
