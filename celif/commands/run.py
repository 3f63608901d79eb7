"""``celif run``: a netx file in Lava, on this CPU or on a Loihi 2."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Literal

import typer

from celif import console
from celif.commands.chip_options import (
    AdapterSteps,
    Board,
    Generation,
    Host,
    Hybrid,
    Partition,
    Profile,
    chip_options,
)
from celif.commands.options import (
    Data,
    Input,
    Json,
    Labels,
    Net,
    Output,
    Samples,
    TaskOption,
    answer,
)

EXAMPLES = (
    "celif run digits.net --task digits --samples 4",
    "celif run digits.net --input x.npy --output trace.npz --probe v,s",
)


def run(
    net: Net,
    task: TaskOption = None,
    data: Data = None,
    input: Input = None,
    labels: Labels = None,
    samples: Samples = 4,
    precision: Annotated[
        Literal["fixed", "float"], typer.Option(help="Arithmetic of the Lava models.")
    ] = "fixed",
    target: Annotated[
        Literal["lava", "loihi2"],
        typer.Option(help="Where to run: Lava on this CPU, or a Loihi 2."),
    ] = "lava",
    workers: Annotated[
        int,
        typer.Option(
            metavar="N", min=0, help="Lava networks to run in parallel; 0 takes one per core."
        ),
    ] = 1,
    timeout: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS", min=0, help="Seconds after which to give up; default by size."
        ),
    ] = None,
    heartbeat: Annotated[
        float,
        typer.Option(
            metavar="SECONDS", min=0, help="Seconds that one step may take; 0 for any number."
        ),
    ] = 60,
    output: Output = None,
    probe: Annotated[
        str | None, typer.Option(help="Write only some of v,theta,s to --output.")
    ] = None,
    layers: Annotated[
        str | None, typer.Option(help="Write only these layers, such as 0,2, to --output.")
    ] = None,
    host: Host = None,
    partition: Partition = None,
    board: Board = None,
    generation: Generation = None,
    hybrid: Hybrid = False,
    adapter_steps: AdapterSteps = None,
    profile: Profile = None,
    as_json: Json = False,
) -> None:
    """Run a netx file in Lava, on this CPU or on a Loihi 2."""
    from celif import outputs
    from celif.inputs import samples as inputs
    from export import read_netx
    from lava_procs import Loihi
    from lava_procs import run as run_lava

    if output is None and (probe is not None or layers is not None):
        raise ValueError(
            "--probe, --layers: expected together with --output, the file they are written to"
        )
    files = {"NET": net, "--input": input, "--data": data, "--labels": labels}
    outputs.require_output(output, outputs.TRACE, files)
    files["--output"] = output
    outputs.require_output(profile, outputs.PROFILE, files, "--profile")
    chip = chip_options(
        target == "loihi2",
        host=host,
        partition=partition,
        board=board,
        generation=generation,
        hybrid=hybrid,
        adapter_steps=adapter_steps,
        profile=profile,
    )
    fixed = read_netx(net)
    x, y = inputs.load(task, data, input, samples, labels, fixed)
    inputs.warn_of_inputs(fixed, x)
    with console.progress_bar("steps") as report, _interruptible():
        trace = run_lava(
            net,
            x,
            precision=precision,
            timeout=timeout,
            heartbeat=heartbeat or None,
            workers=workers or None,
            trace=output is not None,
            probe=None if probe is None else _names(probe),
            layers=None if layers is None else _numbers(layers),
            progress=report,
            target=Loihi(**chip) if target == "loihi2" else "lava",
        )
    inputs.save_trace(trace, output)
    said = inputs.summary(trace, y)
    if profile is not None:
        from celif.views.chip.profile_table import show_profile

        said["profile"] = show_profile(profile, fixed, x)
    answer(said, as_json)


@contextmanager
def _interruptible() -> Iterator[None]:
    """Say on Ctrl-C that every process has ended; typer makes the exit code 130."""
    try:
        yield
    except KeyboardInterrupt:
        console.fail("interrupted; every process of the run has ended")
        raise


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _numbers(text: str) -> list[int]:
    try:
        return [int(name) for name in _names(text)]
    except ValueError:
        raise ValueError(f"--layers: expected numbers such as 0,2, got {text!r}") from None
