"""``celif evaluate``: test accuracy of checkpoints and netx files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from celif import console
from celif.commands.names import TASKS
from celif.commands.options import Data, Json, Samples, answer

if TYPE_CHECKING:
    from training import tasks

EXAMPLES = ("celif evaluate runs/digits/best.pt", "celif evaluate best.pt digits.net")


def evaluate(
    models: Annotated[
        list[Path], typer.Argument(metavar="MODEL...", help="Checkpoints and netx files.")
    ],
    task: Annotated[
        str | None,
        typer.Option(help=f"Task: {', '.join(TASKS)}; default the checkpoint's, or digits."),
    ] = None,
    data: Data = None,
    samples: Samples = None,
    as_json: Json = False,
) -> None:
    """Measure the test accuracy of checkpoints and netx files.

    A checkpoint is evaluated as it was trained, a netx file in the integer simulator.
    """
    from training import checkpoint, tasks

    if task is None:
        floats = [model for model in models if model.suffix == ".pt"]
        task = checkpoint.read(floats[0]).get("task", "digits") if floats else "digits"
    loaded = tasks.load(task, data)
    test = tasks.Split(loaded.test.x[:samples], loaded.test.y[:samples])
    measure, results = loaded.objective.name, []
    for model in models:
        result: dict[str, Any] = {"model": str(model), "task": task, "samples": len(test)}
        result |= _measure(model, test, loaded.objective)
        counted = f", {sum(result['saturations']):,} saturations" if "saturations" in result else ""
        score = loaded.objective.text(result[measure])
        console.say(
            f"{model}: {result['kind']}, {len(test)} test samples, {measure} {score}{counted}"
        )
        results.append(result)
    answer(results[0] if len(results) == 1 else {"models": results}, as_json)


def _measure(model: Path, test: tasks.Split, objective: tasks.Objective) -> dict[str, Any]:
    """Measure a file of either kind."""
    from celif.samples import run_twin
    from export import QuantizedNetwork, read_netx
    from training import checkpoint, tasks, trainer

    if model.suffix == ".pt":
        net = checkpoint.load_module(model)
        score = trainer.evaluate(net, test, objective=objective)
        kind = "quantised" if isinstance(net, QuantizedNetwork) else "float"
        return {"kind": kind, objective.name: score}
    tasks.require_classes(objective, str(model))
    trace = run_twin(read_netx(model), test.x.numpy())
    hits = trace.predictions == test.y.numpy()
    return {"kind": "fixed", "accuracy": float(hits.mean()), "saturations": trace.saturations or []}
