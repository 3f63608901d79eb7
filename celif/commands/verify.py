"""``celif verify``: the file, the parity ladder and the gap to the float network."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from celif.commands.chip_options import (
    AdapterSteps,
    Board,
    Generation,
    Host,
    Hybrid,
    Partition,
    chip_options,
)
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
from celif.commands.verify_job import (
    Against,
    Given,
    LavaSamples,
    Strict,
    Target,
    climb,
    climb_recorded,
    end,
)

EXAMPLES = (
    "celif verify digits.net --against runs/digits/best.safetensors",
    "celif verify digits.net --against best.safetensors --target torch,twin --strict",
    "celif verify --recorded",
)


def verify(
    net: Annotated[
        Path | None, typer.Argument(metavar="NET", help="netx file that celif export wrote.")
    ] = None,
    against: Against = None,
    task: TaskOption = None,
    data: Data = None,
    input: Input = None,
    labels: Labels = None,
    network: Network = None,
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
    recorded: Annotated[
        bool,
        typer.Option("--recorded", help="Compare with a published trace of a Loihi 2 instead."),
    ] = False,
    no_refractory: Annotated[
        bool,
        typer.Option(
            "--no-refractory",
            help="Do not expect the refractory count that a chip shows in V after a spike.",
        ),
    ] = False,
    as_json: Json = False,
) -> None:
    """Compare a netx file with its checkpoint, rung by rung.

    The file must hold the integers of the checkpoint, every back end must compute the same values,
    and the gap between the float network and its integers is measured.
    """
    if recorded:
        result = climb_recorded(not no_refractory)
        answer(result.to_dict(), as_json)
        end(result, "loihi2", strict)
        return
    if net is None:
        raise ValueError("net: expected an exported netx file (or --recorded), got none")
    options = chip_options(
        "loihi2" in (target or ""),
        host=host,
        partition=partition,
        board=board,
        generation=generation,
        hybrid=hybrid,
        adapter_steps=adapter_steps,
    )
    chip = None
    if options:
        from lava_procs import Loihi

        chip = Loihi(**options)
    given = Given(task, data, input, labels, samples)
    climbed = climb(net, against, given, lava_samples, target, chip, network)
    answer(climbed.result.to_dict(), as_json)
    end(climbed.result, target, strict)
