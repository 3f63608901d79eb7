"""``celif reproduce``: the experiments of the paper."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from celif import console, exits
from celif.commands.options import Data, Json, answer

EXAMPLES = (
    "celif reproduce",
    "celif reproduce ablation --quick",
    "celif reproduce copy --minutes 30",
)


def reproduce(
    name: Annotated[
        str | None,
        typer.Argument(metavar="NAME", help="Name of an experiment; without a name, list them."),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Run a small version, in a minute or two.")
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Folder to write to; default runs/reproduce/NAME."),
    ] = None,
    data: Data = None,
    minutes: Annotated[
        float | None,
        typer.Option(
            metavar="MINUTES",
            min=0,
            help="Stop training after this time and report what there is; some experiments only.",
        ),
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(help="Train only runs whose names contain this, e.g. copy-100-CE-LIF."),
    ] = None,
    page: Annotated[
        Path | None, typer.Option(help="Write a page of all results, such as docs/results.md.")
    ] = None,
    again: Annotated[
        bool, typer.Option("--again", help="Train the runs that the repository's record has, too.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Run an experiment of the paper and compare the numbers.

    The result is a table, a figure, and whether each claim of the paper holds. At full size the
    repository's record is printed first, and only training runs that it lacks are trained. If it is
    complete, nothing is trained, except by --minutes, --only or --again.
    """
    from celif import outputs
    from celif.experiments import catalogue
    from celif.experiments.machinery import record
    from celif.experiments.machinery import results_page as results
    from celif.experiments.machinery.experiment import Settings

    root = Path("runs", "reproduce")
    if out is not None:
        outputs.require_folder(out)
    if page is not None:
        outputs.require_output(page, results.KIND, {"--data": data}, "--page")
    if name is None and page is None:
        for experiment in catalogue.EXPERIMENTS.values():
            console.say(f"{experiment.name:<14} {experiment.title}")
        answer({"experiments": list(catalogue.EXPERIMENTS)}, as_json)
        return
    if name is not None:
        experiment = catalogue.get(name)
        chosen = minutes is not None or bool(only)
        if chosen and not experiment.parts:
            raise ValueError(
                f"reproduce {name}: expected neither --minutes nor --only, because it runs as a "
                "whole; stop it and give the command again to continue"
            )
        out = root / (f"{name}-quick" if quick else name) if out is None else out
        settings = Settings(out, quick, data, minutes, tuple(only or ()), again)
        known = None if quick or again else record.stored(experiment)
        # --minutes and --only ask for training even where the record is complete.
        training = known is None or chosen or not record.complete(known)
        if known is not None:
            found = known
            if not (training and (out / record.RESULT).is_file()):
                record.show(known, record.STORED, f"{name}.json", f"{name}.png")
        if training:
            found = record.perform(experiment, settings)
            record.show(found, out)
        elif any(out.glob("*")):
            console.note(f"{out} is left as it is; --again with another --out trains again")
        answer(found, as_json)
    if page is not None:
        results.write(page, [out.parent if out is not None else root])
        console.say(f"{page} written")
    if name is not None and not all(claim["holds"] for claim in found["claims"]):
        raise typer.Exit(exits.DIFFERENCE)
