"""What ``celif verify`` and ``celif report`` share: their options, the climb and the exit code."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import numpy as np
import typer

from celif import console, exits

if TYPE_CHECKING:
    from torch import nn

    from celif.verification.verify import Verification
    from lava_procs import Loihi

DEFAULT_TARGETS = "torch,twin,lava"

Against = Annotated[
    Path | None,
    typer.Option(
        help="Checkpoint the file was exported from; its task gives the samples by default."
    ),
]
LavaSamples = Annotated[
    int, typer.Option(metavar="N", min=1, help="Samples for the ladder; the gap uses all of them.")
]
Target = Annotated[
    str | None,
    typer.Option(help="Compare only these of torch,twin,lava,loihi2; default all but loihi2."),
]
Strict = Annotated[bool, typer.Option("--strict", help="End with exit code 1 on an alarm, too.")]


class Given(NamedTuple):
    """The options that choose samples."""

    task: str | None
    data: Path | None
    file: Path | None
    labels: Path | None
    samples: int | None


class Climbed(NamedTuple):
    """A verification and what it was made on."""

    result: Verification
    x: np.ndarray
    y: np.ndarray | None
    source: nn.Module | None
    about: dict[str, Any]
    """The checkpoint's own record: its task and its history."""


def climb(
    net: Path,
    against: Path | None,
    given: Given,
    lava_samples: int,
    target: str | None,
    chip: Loihi | None = None,
    network: str | None = None,
) -> Climbed:
    """Verify a file and show the result."""
    from celif.inputs import samples as inputs
    from celif.verification.verify import verify
    from celif.views.ladder_table import show_verification
    from export import read_netx

    fixed = read_netx(net)
    source, about = (None, {}) if against is None else inputs.read_checkpoint(against, network)
    task = given.task
    if given.file is None and fixed.task is None:
        task = inputs.name_of_task(task, given.data, inputs.task_of(about))
    x, y = inputs.load(task, given.data, given.file, given.samples, given.labels, fixed)
    targets = target or DEFAULT_TARGETS
    console.notice(f"Comparing {min(lava_samples, len(x))} samples; in Lava this takes a while.")
    result = verify(fixed, source, x, y, targets=targets, lava_samples=lava_samples, chip=chip)
    show_verification(result)
    if against is None:
        console.note(
            "without --against, the file was not compared with its checkpoint, nor the integers "
            "with the float network"
        )
    return Climbed(result, x, y, source, about)


def climb_recorded(refractory: bool) -> Verification:
    """Verify the network of a published trace of a Loihi 2 against that trace."""
    from celif.verification.verify import verify
    from celif.views.ladder_table import show_verification
    from hw_tests.recorded import lif_input, lif_network, recorded_loihi2

    console.say("A LIF neuron on a Loihi 2, 1,000 steps (NIR, paper/01_lif, 2023):")
    targets = ("twin", "lava", "loihi2")
    result = verify(
        lif_network(),
        None,
        lif_input(),
        targets=targets,
        chip=recorded_loihi2(),
        refractory=refractory,
    )
    show_verification(result)
    return result


def end(result: Verification, target: str | None, strict: bool) -> None:
    """Exit with the code that the verification deserves."""
    if result.failed or (strict and result.alarms):
        raise typer.Exit(exits.DIFFERENCE)
    # A user who names targets leaves the others out on purpose; those named must have run.
    if not result.equal or not (target or result.complete):
        console.warn("incomplete: no difference was found, but a rung that applies did not run")
        raise typer.Exit(exits.INCOMPLETE)
