"""``celif verify`` and ``celif report``: the file, the parity ladder and the gap."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import numpy as np
import typer

from celif import console, exits
from celif.commands.chip_options import (
    AdapterSteps,
    Board,
    Generation,
    Host,
    Hybrid,
    Partition,
    chip_options,
)
from celif.commands.options import Data, Input, Json, Net, Samples, TaskOption, answer

if TYPE_CHECKING:
    from torch import nn

    from celif.verification.verify import Verification

DEFAULT_TARGETS = "torch,twin,lava"

Against = Annotated[
    Path | None,
    typer.Option(help="Checkpoint it was exported from; its task gives the samples by default."),
]
LavaSamples = Annotated[int, typer.Option(min=1, help="Samples that climb the ladder.")]
Target = Annotated[
    str | None,
    typer.Option(help="Compare only these, of torch,twin,lava,loihi2; default all but loihi2."),
]
Strict = Annotated[bool, typer.Option(help="End with 1 on an alarm, too.")]


class _Climbed(NamedTuple):
    """What was found, and on what."""

    result: Verification
    x: np.ndarray
    y: np.ndarray | None
    source: nn.Module | None
    about: dict[str, Any]
    """Of the checkpoint: its task, its history."""


def _climb(
    net: Path,
    against: Path | None,
    task: str | None,
    data: Path | None,
    file: Path | None,
    samples: int | None,
    lava_samples: int,
    target: str | None,
) -> _Climbed:
    from celif import samples as inputs
    from celif.verification.verify import verify as climb
    from celif.views.ladder_table import show_verification
    from training import checkpoint

    about = {} if against is None else checkpoint.read(against)
    if task is None and file is None:
        task = about.get("task")
    x, y = inputs.load(task, data, file, samples)
    source = None if against is None else checkpoint.load_module(against)
    targets = [n.strip() for n in (target or DEFAULT_TARGETS).split(",") if n.strip()]
    console.notice(f"Comparing {min(lava_samples, len(x))} samples; in Lava this takes a while.")
    result = climb(net, source, x, y, targets=targets, lava_samples=lava_samples)
    show_verification(result)
    return _Climbed(result, x, y, source, about)


def _end(result: Verification, target: str | None, strict: bool) -> None:
    """End with the code that the verification deserves."""
    if result.differs or (strict and result.alarms):
        raise typer.Exit(exits.DIFFERENCE)
    # Who names targets leaves the others out on purpose; what was asked for must have run.
    if not result.equal or not (target or result.complete):
        console.warn("incomplete: no difference was found, but a rung that applies did not run")
        raise typer.Exit(exits.INCOMPLETE)


def verify(
    net: Net,
    against: Against = None,
    task: TaskOption = None,
    data: Data = None,
    input: Input = None,
    samples: Samples = None,
    lava_samples: LavaSamples = 4,
    target: Target = None,
    strict: Strict = False,
    host: Host = None,
    partition: Partition = None,
    board: Board = None,
    generation: Generation = None,
    hybrid: Hybrid = False,
    adapter_steps: AdapterSteps = None,
    as_json: Json = False,
) -> None:
    """Compare a file with its checkpoint, climb the parity ladder, measure the gap to float."""
    from hw_tests.chip import using_loihi

    chip = chip_options(
        "loihi2" in (target or ""),
        host=host,
        partition=partition,
        board=board,
        generation=generation,
        hybrid=hybrid,
        adapter_steps=adapter_steps,
    )
    with using_loihi(**chip):
        climbed = _climb(net, against, task, data, input, samples, lava_samples, target)
    answer(climbed.result.to_dict(), as_json)
    _end(climbed.result, target, strict)


def report(
    net: Net,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Page; default beside the file, .html.")
    ] = None,
    against: Against = None,
    task: TaskOption = None,
    data: Data = None,
    input: Input = None,
    samples: Samples = None,
    lava_samples: LavaSamples = 4,
    target: Target = None,
    strict: Strict = False,
    as_json: Json = False,
) -> None:
    """Verify a file and write a page about it, with pictures."""
    from celif.views import page as pages
    from export import read_netx

    climbed = _climb(net, against, task, data, input, samples, lava_samples, target)
    page = pages.write(
        output or net.with_suffix(".html"),
        climbed.result,
        read_netx(net),
        climbed.x,
        climbed.y,
        source=climbed.source,
        title=task or climbed.about.get("task", net.stem),
        history=climbed.about.get("history", ()),
    )
    console.say(f"Page: {page}")
    answer({"page": str(page), **climbed.result.to_dict()}, as_json)
    _end(climbed.result, target, strict)
