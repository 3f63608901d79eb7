"""``celif evaluate``: test accuracy of checkpoints and netx files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from celif import console
from celif.commands.options import Data, Json, Labels, Network, Samples, TaskOption, answer

if TYPE_CHECKING:
    from training import tasks

EXAMPLES = (
    "celif evaluate runs/digits/best.safetensors",
    "celif evaluate best.safetensors digits.net",
    "celif evaluate mine.net --data mine.npz",
)


def evaluate(
    models: Annotated[
        list[Path], typer.Argument(metavar="MODEL...", help="Checkpoints and netx files.")
    ],
    task: TaskOption = None,
    data: Data = None,
    labels: Labels = None,
    network: Network = None,
    samples: Samples = None,
    as_json: Json = False,
) -> None:
    """Measure the test accuracy of checkpoints and netx files.

    A checkpoint is evaluated as it was trained, a netx file in the integer simulator. Without
    --task or --data, the samples are those of the task that the first model knows to be its own.
    """
    from celif.inputs import samples as inputs
    from celif.inputs.user_tasks import load_task
    from training import tasks

    opened = [inputs.open_model(model, network) for model in models]
    known = next((model.task for model in opened if model.task is not None), None)
    task = inputs.name_of_task(task, data, known)
    if task is None and data is None:
        raise ValueError(f"{models[0]}: expected --task or --data, as it does not name its task")
    loaded = load_task(task, data, labels)
    test = tasks.Split(loaded.test.x[:samples], loaded.test.y[:samples])
    measure, results = loaded.objective.name, []
    for path, model in zip(models, opened, strict=True):
        inputs.require_same_task(model, loaded)
        result: dict[str, Any] = {"model": str(path), "task": loaded.name, "samples": len(test)}
        result |= _measure(model, test, loaded.objective)
        counted = f", {sum(result['saturations']):,} saturations" if "saturations" in result else ""
        score = loaded.objective.text(result[measure])
        console.say(
            f"{path}: {result['kind']}, {len(test)} test samples, {measure} {score}{counted}"
        )
        results.append(result)
    answer(results[0] if len(results) == 1 else {"models": results}, as_json)


def _measure(model: Any, test: tasks.Split, objective: tasks.Objective) -> dict[str, Any]:
    """Measure a model of either kind."""
    from celif.inputs.samples import run_twin
    from export import QuantizedNetwork
    from training import tasks, trainer

    if model.net is not None:
        score = trainer.evaluate(model.net, test, objective=objective)
        kind = "quantised" if isinstance(model.net, QuantizedNetwork) else "float"
        return {"kind": kind, objective.name: score}
    tasks.require_classes(objective, str(model.path))
    trace = run_twin(model.fixed, test.x.numpy())
    hits = trace.predictions == test.y.numpy()
    return {"kind": "fixed", "accuracy": float(hits.mean()), "saturations": trace.saturations or []}
