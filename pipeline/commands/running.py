"""``celif simulate`` and ``celif run``: a netx file in the twin and in Lava."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from pipeline import console
from pipeline.commands.options import Data, Input, Json, Net, Output, Samples, TaskOption, answer


def simulate(
    net: Net,
    task: TaskOption = None,
    data: Data = None,
    input: Input = None,
    samples: Samples = None,
    output: Output = None,
    as_json: Json = False,
) -> None:
    """Run a netx file in the batched integer twin."""
    from export import read_netx
    from pipeline import samples as inputs

    x, y = inputs.load(task, data, input, samples)
    trace = inputs.run_twin(read_netx(net), x, trace=output is not None)
    inputs.save_trace(trace, output)
    answer(inputs.summary(trace, y), as_json)


def run(
    net: Net,
    task: TaskOption = None,
    data: Data = None,
    input: Input = None,
    samples: Samples = 4,
    precision: Literal["fixed", "float"] = "fixed",
    timeout: Annotated[float | None, typer.Option(min=0, help="Seconds; default by size.")] = None,
    output: Output = None,
    as_json: Json = False,
) -> None:
    """Run a netx file in Lava on this CPU."""
    from lava_procs import run as run_lava
    from pipeline import samples as inputs

    x, y = inputs.load(task, data, input, samples)
    with console.progress_bar("steps") as report:
        trace = run_lava(net, x, precision=precision, timeout=timeout, progress=report)
    inputs.save_trace(trace, output)
    answer(inputs.summary(trace, y), as_json)
