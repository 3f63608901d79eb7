"""``celif train``: train a network on a task."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal

import typer

from celif.commands import teacher_options
from celif.commands.help_names import (
    AUGMENTATIONS,
    PRESETS,
    SCHEDULES,
    TE_UPDATES,
    TEMPORAL_ENCODINGS,
)
from celif.commands.options import Data, Json, Labels, TaskOption
from celif.commands.teacher_options import TeacherFile, TeacherShare, Temperature

EXAMPLES = (
    "celif train --task digits --epochs 30",
    "celif train --preset seq-mnist-88 --data DIR --download",
    "celif train --data mine.npz --hidden 64,64 --epochs 20",
    "celif train --out runs/digits --resume",
)

_NETWORK, _RECIPE, _RUN = "Network", "Recipe", "Run"
_FROM_PRESET = "Default: the preset's."


def train(
    task: TaskOption = None,
    preset: Annotated[
        str | None,
        typer.Option(help=f"Task, network and recipe by name: {', '.join(PRESETS)}."),
    ] = None,
    start: Annotated[
        Path | None,
        typer.Option(help="Checkpoint whose task, network, recipe and weights to start from."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Folder to write the run to; default runs/NAME."),
    ] = None,
    hidden: Annotated[
        str | None,
        typer.Option(
            help=f"Widths of the hidden layers, such as 64,88,88. {_FROM_PRESET}",
            rich_help_panel=_NETWORK,
        ),
    ] = None,
    recurrent: Annotated[
        bool | None,
        typer.Option(
            help="Connect every hidden layer but the last to itself.", rich_help_panel=_NETWORK
        ),
    ] = None,
    beta: Annotated[
        float | None, typer.Option(help="Decay of the threshold.", rich_help_panel=_NETWORK)
    ] = None,
    learn_alpha: Annotated[
        bool | None,
        typer.Option(help="Let every neuron learn its membrane decay.", rich_help_panel=_NETWORK),
    ] = None,
    learn_beta: Annotated[
        bool | None,
        typer.Option(help="Let every neuron learn its threshold decay.", rich_help_panel=_NETWORK),
    ] = None,
    te: Annotated[
        str | None,
        typer.Option(
            help=f"Temporal encoding: {', '.join(TEMPORAL_ENCODINGS)}; default table.",
            rich_help_panel=_NETWORK,
        ),
    ] = None,
    dropout: Annotated[
        float | None,
        typer.Option(
            help="Dropout of the inputs and of the first layer's spikes.", rich_help_panel=_NETWORK
        ),
    ] = None,
    tied_dropout: Annotated[
        bool | None,
        typer.Option(
            help="Use one dropout mask for all steps of a sample.", rich_help_panel=_NETWORK
        ),
    ] = None,
    epochs: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            help=f"Passes over the training samples. {_FROM_PRESET}",
            rich_help_panel=_RECIPE,
        ),
    ] = None,
    batch: Annotated[
        int | None,
        typer.Option(
            metavar="N", min=1, help="Samples per step, over all devices.", rich_help_panel=_RECIPE
        ),
    ] = None,
    lr: Annotated[
        float | None, typer.Option(help="Peak learning rate.", rich_help_panel=_RECIPE)
    ] = None,
    te_lr: Annotated[
        float | None,
        typer.Option(
            help="Learning rate of the temporal encoding, as a multiple of --lr.",
            rich_help_panel=_RECIPE,
        ),
    ] = None,
    te_update: Annotated[
        str | None,
        typer.Option(
            help=f"What of the temporal encoding is updated together: {', '.join(TE_UPDATES)}.",
            rich_help_panel=_RECIPE,
        ),
    ] = None,
    schedule: Annotated[
        str | None,
        typer.Option(
            help=f"Schedule of the learning rate: {', '.join(SCHEDULES)}.",
            rich_help_panel=_RECIPE,
        ),
    ] = None,
    warmup: Annotated[
        float | None,
        typer.Option(
            help="Share of all steps in which the rate of schedule cosine rises.",
            rich_help_panel=_RECIPE,
        ),
    ] = None,
    decay: Annotated[
        float | None,
        typer.Option(help="Factor by which schedule step reduces.", rich_help_panel=_RECIPE),
    ] = None,
    decay_every: Annotated[
        int | None,
        typer.Option(
            help="Epochs between two reductions of schedule step.", rich_help_panel=_RECIPE
        ),
    ] = None,
    weight_decay: Annotated[
        float | None, typer.Option(help="Weight decay of AdamW.", rich_help_panel=_RECIPE)
    ] = None,
    clip: Annotated[
        float | None,
        typer.Option(help="Largest norm of the gradient.", rich_help_panel=_RECIPE),
    ] = None,
    augment: Annotated[
        str | None,
        typer.Option(
            help=f"Augmentation of images: {', '.join(AUGMENTATIONS)}.", rich_help_panel=_RECIPE
        ),
    ] = None,
    augment_epochs: Annotated[
        int | None,
        typer.Option(help="Augment only the first N epochs.", rich_help_panel=_RECIPE),
    ] = None,
    adversarial: Annotated[
        float | None,
        typer.Option(
            help="Also train with inputs moved by this much where the loss grows.",
            rich_help_panel=_RECIPE,
        ),
    ] = None,
    teacher: TeacherFile = None,
    temperature: Temperature = None,
    teacher_share: TeacherShare = None,
    average: Annotated[
        float | None,
        typer.Option(
            help="Decay of a moving average of the weights, such as 0.999.",
            rich_help_panel=_RECIPE,
        ),
    ] = None,
    patience: Annotated[
        int | None,
        typer.Option(help="Stop after N epochs without a new best.", rich_help_panel=_RECIPE),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(
            help="Seed of the initial weights and of the order; default 0.",
            rich_help_panel=_RECIPE,
        ),
    ] = None,
    data: Data = None,
    labels: Labels = None,
    download: Annotated[
        bool, typer.Option("--download", help="Download MNIST into --data if it is not there.")
    ] = False,
    resume: Annotated[
        bool,
        typer.Option(
            "--resume",
            help="Continue from the last checkpoint in --out, with the run's own options; a larger "
            "--epochs makes the run longer.",
            rich_help_panel=_RUN,
        ),
    ] = False,
    devices: Annotated[
        int,
        typer.Option(
            metavar="N", min=1, help="Processes that share each batch.", rich_help_panel=_RUN
        ),
    ] = 1,
    device: Annotated[
        Literal["auto", "cpu", "cuda"],
        typer.Option(help="Where to train.", rich_help_panel=_RUN),
    ] = "auto",
    save_minutes: Annotated[
        float,
        typer.Option(help="Minutes between checkpoints within an epoch.", rich_help_panel=_RUN),
    ] = 5,
    save_steps: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            help="Steps between checkpoints within an epoch.",
            rich_help_panel=_RUN,
        ),
    ] = None,
    tensorboard: Annotated[
        bool,
        typer.Option(
            "--tensorboard", help="Also write logs for TensorBoard.", rich_help_panel=_RUN
        ),
    ] = False,
    as_json: Json = False,
) -> None:
    """Train a network; write checkpoints and metrics to a folder."""
    from celif.commands import train_job
    from celif.inputs.user_tasks import is_file_of_samples
    from training import tasks

    if sum(given is not None for given in (task, preset, start)) > 1:
        raise ValueError("train: expected one of --task, --preset and --start, got several")
    own = str(data) if is_file_of_samples(data) else None
    out = Path("runs", _run_name(preset, task, own, start)) if out is None else out
    chosen = train_job.base(task or preset or own, out, resume, start)
    # A run that continues keeps the name that it began with; --task and --data find its samples.
    if not resume and start is None and (task or own) is not None:
        chosen = replace(chosen, task=task or own or "")
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
            **{"te_update": te_update, "adversarial": adversarial},
        },
        {
            **{"recurrent": recurrent, "beta": beta, "te": te},
            **{"learn_alpha": learn_alpha, "learn_beta": learn_beta},
            **{"dropout": dropout, "tied_dropout": tied_dropout},
        },
    )
    if download and data is not None:
        tasks.download(data)
    job = train_job.TrainJob(
        chosen,
        data,
        out,
        resume,
        save_minutes,
        save_steps,
        tensorboard,
        as_json,
        start,
        labels,
        task,
        teacher,
        teacher_options.chosen(teacher, resume, temperature, teacher_share),
    )
    train_job.start(job, devices, device)


def _run_name(preset: str | None, task: str | None, own: str | None, start: Path | None) -> str:
    """Name the folder of a run after what is trained."""
    if start is not None:
        return f"from-{start.stem}"
    if preset is None and task is not None and ":" in task:
        return task.partition(":")[2]
    return preset or task or (Path(own).stem if own else "digits")
