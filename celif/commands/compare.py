"""``celif compare``: what distinguishes two models."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from celif import exits
from celif.commands.options import (
    Data,
    Input,
    Json,
    Labels,
    Network,
    Samples,
    TaskOption,
    answer,
)

EXAMPLES = (
    "celif compare runs/digits/best.safetensors digits.net",
    "celif compare eight-bit.net four-bit.net --task digits",
)


def compare(
    first: Annotated[Path, typer.Argument(metavar="A", help="Checkpoint or netx file.")],
    second: Annotated[
        Path, typer.Argument(metavar="B", help="Checkpoint or netx file to compare with it.")
    ],
    task: TaskOption = None,
    data: Data = None,
    input: Input = None,
    labels: Labels = None,
    network: Network = None,
    samples: Samples = None,
    as_json: Json = False,
) -> None:
    """Compare two checkpoints or netx files, on samples and value by value.

    Both run the same samples: accuracy, how many predictions agree, and which samples changed. Of
    two netx files the datasets that differ are listed, too, and the first register that does.
    The exit code is 1 if the two differ.
    """
    from celif.comparison import compare_models
    from celif.inputs import samples as inputs
    from celif.views.compare_table import show_comparison

    one, other = (inputs.open_model(path, network) for path in (first, second))
    if task is None and data is None and input is None:
        task = next((model.task.name for model in (one, other) if model.task is not None), None)
    classes = min((model.sizes[2] for model in (one, other) if model.sizes), default=None)
    x, y = inputs.load(task, data, input, samples, labels, classes=classes)
    files = [model.fixed for model in (one, other) if model.fixed is not None]
    for net in {(net.path, net.encoding.scale): net for net in files}.values():
        if input is not None:
            inputs.note_of_integers(net, x)
    result = compare_models(one, other, x, y)
    show_comparison(result)
    answer(result.to_dict(), as_json)
    if not result.equal:
        raise typer.Exit(exits.DIFFERENCE)
