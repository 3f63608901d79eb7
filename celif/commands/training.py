"""``celif train`` and ``celif evaluate``."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from celif import console
from celif.commands.options import Data, Json, Samples, answer
from training import tasks
from training.network import temporal_encoding
from training.trainer import augment as augmentation
from training.trainer import presets, recipe

_FROM_PRESET = "Default: the preset's."


def train(
    task: Annotated[
        str | None, typer.Option(help=f"What to learn: {', '.join(tasks.NAMES)}; default digits.")
    ] = None,
    preset: Annotated[
        str | None,
        typer.Option(help=f"Task, network and recipe by name: {', '.join(presets.NAMES)}."),
    ] = None,
    start: Annotated[
        Path | None,
        typer.Option(help="Checkpoint whose task, network, recipe and weights to start from."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Folder of the run; default runs/NAME.")
    ] = None,
    hidden: Annotated[
        str | None, typer.Option(help=f"Widths of the hidden layers. {_FROM_PRESET}")
    ] = None,
    recurrent: Annotated[
        bool | None, typer.Option(help="All hidden layers but the last feed back to themselves.")
    ] = None,
    beta: Annotated[float | None, typer.Option(help="Decay of the threshold.")] = None,
    te: Annotated[
        str | None,
        typer.Option(
            help=f"Temporal encoding: {', '.join(temporal_encoding.NAMES)}; default table."
        ),
    ] = None,
    epochs: Annotated[int | None, typer.Option(min=1, help=_FROM_PRESET)] = None,
    batch: Annotated[int | None, typer.Option(min=1, help="Samples a step, in all.")] = None,
    lr: Annotated[float | None, typer.Option(help="(Peak) learning rate.")] = None,
    te_lr: Annotated[
        float | None, typer.Option(help="Rate of the temporal encoding, in multiples of --lr.")
    ] = None,
    schedule: Annotated[
        str | None, typer.Option(help=f"Of the rate: {', '.join(recipe.SCHEDULES)}.")
    ] = None,
    warmup: Annotated[
        float | None, typer.Option(help="Share of all steps over which a cosine's rate rises.")
    ] = None,
    decay: Annotated[float | None, typer.Option(help="Factor of the schedule step.")] = None,
    decay_every: Annotated[int | None, typer.Option(help="Epochs between two steps.")] = None,
    weight_decay: Annotated[float | None, typer.Option(help="Of AdamW.")] = None,
    clip: Annotated[float | None, typer.Option(help="Largest norm of a gradient.")] = None,
    dropout: Annotated[float | None, typer.Option(help="On inputs and first spikes.")] = None,
    tied_dropout: Annotated[
        bool | None, typer.Option(help="One mask for all steps, not a fresh one at each.")
    ] = None,
    augment: Annotated[
        str | None, typer.Option(help=f"Of images: {', '.join(augmentation.NAMES)}.")
    ] = None,
    augment_epochs: Annotated[
        int | None, typer.Option(help="Only for the first so many epochs.")
    ] = None,
    average: Annotated[
        float | None, typer.Option(help="Decay of a moving average of the weights, e.g. 0.999.")
    ] = None,
    patience: Annotated[
        int | None, typer.Option(help="Stop after so many epochs that were worse than the best.")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Default 0.")] = None,
    data: Data = None,
    download: Annotated[bool, typer.Option(help="Fetch MNIST into --data if need be.")] = False,
    resume: Annotated[
        bool, typer.Option(help="Go on from the run's last checkpoint, with its own options.")
    ] = False,
    devices: Annotated[int, typer.Option(min=1, help="Processes that share each batch.")] = 1,
    device: Annotated[
        Literal["auto", "cpu", "cuda"], typer.Option(help="Where to train.")
    ] = "auto",
    save_minutes: Annotated[float, typer.Option(help="Between checkpoints in an epoch.")] = 5,
    save_steps: Annotated[int | None, typer.Option(min=1, help="The same, in steps.")] = None,
    tensorboard: Annotated[bool, typer.Option(help="Log for TensorBoard, too.")] = False,
    as_json: Json = False,
) -> None:
    """Train a network; checkpoints and metrics go to the run's folder."""
    from celif.commands import train_job

    if sum(given is not None for given in (task, preset, start)) > 1:
        raise ValueError("train: expected one of --task, --preset and --start, got several")
    name = preset or task or ("digits" if start is None else f"from-{start.stem}")
    out = Path("runs", name) if out is None else out
    chosen = train_job.base(task or preset, out, resume, start)
    if task is not None:
        chosen = replace(chosen, task=task)
    if hidden is not None:
        chosen = replace(chosen, hidden=train_job.widths(hidden))
    elif preset is not None:
        train_job.require_preset(chosen, preset, out)
    chosen = train_job.changed(
        chosen,
        {
            **{"epochs": epochs, "batch": batch, "lr": lr, "schedule": schedule, "decay": decay},
            **{"decay_every": decay_every, "weight_decay": weight_decay, "clip": clip},
            **{"augment": augment, "augment_epochs": augment_epochs, "average": average},
            **{"patience": patience, "seed": seed, "te_lr": te_lr, "warmup": warmup},
        },
        {
            **{"recurrent": recurrent, "beta": beta, "te": te},
            **{"dropout": dropout, "tied_dropout": tied_dropout},
        },
    )
    if download and data is not None:
        tasks.download(data)
    job = train_job.Job(
        chosen, data, out, resume, save_minutes, save_steps, tensorboard, as_json, start
    )
    train_job.start(job, devices, device)


def evaluate(
    models: Annotated[
        list[Path], typer.Argument(metavar="MODEL...", help="Checkpoints, exported netx files.")
    ],
    task: Annotated[
        str | None,
        typer.Option(help=f"One of {', '.join(tasks.NAMES)}; default the checkpoint's, or digits."),
    ] = None,
    data: Data = None,
    samples: Samples = None,
    as_json: Json = False,
) -> None:
    """Test accuracy: of a checkpoint as it was trained, of a netx file in the integer twin."""
    from training import checkpoint

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
    """What a file of either kind gets right."""
    from celif.samples import run_twin
    from export import QuantizedNetwork, read_netx
    from training import checkpoint, trainer

    if model.suffix == ".pt":
        net = checkpoint.load_module(model)
        score = trainer.evaluate(net, test, objective=objective)
        kind = "quantised" if isinstance(net, QuantizedNetwork) else "float"
        return {"kind": kind, objective.name: score}
    tasks.require_classes(objective, str(model))
    trace = run_twin(read_netx(model), test.x.numpy())
    hits = trace.predictions == test.y.numpy()
    return {"kind": "fixed", "accuracy": float(hits.mean()), "saturations": trace.saturations or []}
