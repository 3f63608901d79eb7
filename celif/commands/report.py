"""``celif report``: a verification as an HTML page with figures."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from celif import console
from celif.commands.options import (
    Data,
    Input,
    Json,
    Labels,
    Net,
    Network,
    Samples,
    TaskOption,
    answer,
)
from celif.commands.verify_job import Against, Given, LavaSamples, Strict, Target, climb, end

EXAMPLES = ("celif report digits.net --against runs/digits/best.safetensors -o digits.html",)


def report(
    net: Net,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Page to write; default the file's name with .html."),
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
    as_json: Json = False,
) -> None:
    """Verify a netx file and write an HTML page about it, with figures."""
    from celif import outputs
    from celif.views import page as pages
    from export import read_netx

    output = output or net.with_suffix(".html")
    files = {"NET": net, "--against": against, "--input": input, "--data": data, "--labels": labels}
    outputs.require_output(output, outputs.PAGE, files)
    files["--output"] = output
    outputs.require_output(output.with_suffix(".png"), outputs.PNG, files, "picture of the page")
    given = Given(task, data, input, labels, samples)
    climbed = climb(net, against, given, lava_samples, target, network=network)
    page = pages.write(
        output,
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
    end(climbed.result, target, strict)
