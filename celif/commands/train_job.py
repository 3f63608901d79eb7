"""A training run as the command line asks for it, in this process or in several."""

from __future__ import annotations

import hashlib
import importlib.util
import logging
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import torch
import typer
from torch.multiprocessing import ProcessExitedException

from celif import console, exits, outputs
from celif.commands.options import answer
from celif.inputs import teachers
from celif.inputs.user_tasks import SUFFIXES, load_task
from training import checkpoint, trainer
from training.checkpoint import CheckpointError
from training.kernels import pool
from training.tasks import Task
from training.trainer import distributed, presets
from training.trainer.distributed import Group
from training.trainer.presets import Preset
from training.trainer.recipe import Recipe
from training.trainer.run_folder import refuse_old_checkpoint

OWN = Preset("", (64, 88, 88), Recipe(epochs=30, batch=64), {"dropout": 0.1})
"""Where training on a user's own data starts from."""


@dataclass(frozen=True)
class TrainJob:
    """What to train and where to write it, in plain values that other processes can receive."""

    preset: Preset
    data: Path | None
    out: Path
    resume: bool
    save_minutes: float
    save_steps: int | None
    tensorboard: bool
    as_json: bool
    origin: Path | None = None
    """Checkpoint whose weights to start from."""
    labels: Path | None = None
    found_by: str | None = None
    """How to find the task, where that is not its name: a run from Python may have any name."""
    teacher: Path | None = None
    """Checkpoint or outputs to learn from as well."""
    distillation: dict[str, float] = field(default_factory=dict)
    """How: ``temperature`` and ``share``, where they were given."""


def base(name: str | None, out: Path, resume: bool, origin: Path | None = None) -> Preset:
    """Find what the options modify: the run to continue or to start from, else a preset."""
    if resume and (out / trainer.LAST).exists():
        return _of_run(out / trainer.LAST)
    # A folder with a teacher's outputs is refused later, with its own message.
    if resume and name is None and origin is None and not (out / teachers.KEPT).is_file():
        refuse_old_checkpoint(out / trainer.LAST)
        raise ValueError(
            f"--resume: expected a run in {out}, with its {trainer.LAST}, found none; name the "
            "folder of the run with --out, or say what to train with --task, --preset, --start or "
            "--data FILE"
        )
    if origin is not None:
        return _of_run(origin)
    if name in ("seq-mnist", "ps-mnist"):
        return presets.get(f"{name}-88")
    if name is not None and (":" in name or Path(name).suffix in SUFFIXES):
        return replace(OWN, task=name)
    return presets.get(name or "digits")


def _of_run(path: Path) -> Preset:
    content = checkpoint.read(path)
    if content["kind"] != "Network" or not {"task", "recipe"} <= set(content):
        raise CheckpointError(
            f"{path}: expected the checkpoint of a Network that celif train wrote, found a "
            f"{content['kind']}, {'trained' if 'recipe' in content else 'saved by itself'}; "
            "celif finetune continues its own runs, and training.trainer those of any module"
        )
    network = dict(content["network"])
    hidden = tuple(network.pop("hidden", ()))
    for known_by_the_task in ("in_features", "classes", "steps", "permutation"):
        network.pop(known_by_the_task, None)
    try:
        recipe = Recipe(**content["recipe"])
    except TypeError as error:
        raise CheckpointError(
            f"{path}: expected a known recipe, found {error}; update celif-lava"
        ) from None
    return Preset(content["task"], hidden, recipe, network)


def require_preset(run: Preset, name: str, out: Path) -> None:
    """Refuse to resume a run under the name of another preset."""
    asked = presets.get(name)
    if (asked.task, asked.hidden) != (run.task, run.hidden):
        raise ValueError(
            f"{out}: expected a run of {name}, {asked.task} with hidden layers {asked.hidden}, "
            f"found one of {run.task} with {run.hidden}; leave --preset out or take another --out"
        )


def changed(preset: Preset, recipe: dict[str, Any], network: dict[str, Any]) -> Preset:
    """Return the preset with the options that were given, those that are not None."""
    given = {name: value for name, value in recipe.items() if value is not None}
    options = {name: value for name, value in network.items() if value is not None}
    return replace(
        preset, recipe=replace(preset.recipe, **given), network={**preset.network, **options}
    )


def widths(text: str) -> tuple[int, ...]:
    """Parse the widths of hidden layers."""
    try:
        return tuple(int(n) for n in text.split(","))
    except ValueError:
        raise ValueError(f"--hidden: expected numbers such as 64,88,88, got {text!r}") from None


def start(job: TrainJob, devices: int, kind: str) -> None:
    """Train in this process, as one of torchrun's, or in ``devices`` new ones."""
    if kind == "auto":
        kind = "cuda" if torch.cuda.is_available() else "cpu"
    if kind == "cuda" and not torch.cuda.is_available():
        raise ValueError(
            "--device cuda: expected a GPU that this PyTorch can use, found none; use --device cpu"
        )
    if not job.resume and (job.out / trainer.LAST).exists():
        raise FileExistsError(
            f"{job.out}: holds a run already; add --resume or choose another --out"
        )
    if not (job.out / trainer.LAST).exists():
        files = {"--start": job.origin, "--data": job.data, "--labels": job.labels}
        files["--teacher"] = job.teacher
        outputs.require_run_folder(job.out, files)
        if job.teacher is not None:
            teachers.require_place(job.out, files)
    if distributed.under_torchrun():
        if devices > 1:
            raise ValueError(f"--devices: expected 1 under torchrun, got {devices}")
        device = distributed.local_device(kind, int(os.environ.get("LOCAL_RANK", "0")))
        with distributed.joined(device) as group:
            work(group, device, job)
    elif devices > 1:
        _launch(job, devices, kind)
    else:
        work(Group(), distributed.local_device(kind, 0), job)


def _launch(job: TrainJob, devices: int, kind: str) -> None:
    # It would report every process that it ends after another has failed.
    logging.getLogger("torch.multiprocessing.spawn").setLevel(logging.ERROR)
    try:
        distributed.launch(_work_or_explain, devices, kind, job)
    except ProcessExitedException as ended:
        if ended.exit_code > 0:
            raise typer.Exit(ended.exit_code) from None
        # Ended by a signal, it could not explain itself.
        console.fail(f"the run failed: process {ended.error_index} was killed")
        raise typer.Exit(exits.FAILED_RUN) from None


def _work_or_explain(group: Group, device: torch.device, job: TrainJob) -> None:
    try:
        work(group, device, job)
    except Exception as error:
        if group.rank > 0:
            # The first process explains what stopped them all, and ends the others.
            time.sleep(10)
        sys.exit(exits.explain(error))


def work(group: Group, device: torch.device, job: TrainJob) -> None:
    """Train as one process of a group; the first shows the progress and the result."""
    pool.keep_freed_memory()
    console.results.quiet = job.as_json  # a process of its own does not know the option
    first, preset = group.rank == 0, job.preset
    task = load_task(job.found_by or preset.task, job.data, job.labels)
    task = replace(task, name=preset.task)
    task = _with_teacher(task, job, group, device)
    net = trainer.start(task, preset.hidden, preset.recipe, **preset.network).to(device)
    origin = None
    if job.origin is not None:
        checkpoint.load_weights(job.origin, net)
        digest = hashlib.sha256(job.origin.read_bytes()).hexdigest()
        origin = f"{job.origin} (SHA-256 {digest[:16]})"
    tensorboard = job.tensorboard
    if tensorboard and importlib.util.find_spec("tensorboard") is None:
        tensorboard = False
        if first:
            console.warn(
                "tensorboard is not installed: pip install 'celif-lava[tensorboard]'; the same "
                f"numbers are in {job.out / 'metrics.csv'}"
            )
    with console.training_bar(quiet=not first) as bar:
        training = trainer.Trainer(
            net,
            task,
            preset.recipe,
            job.out,
            bar,
            save_minutes=job.save_minutes,
            save_steps=job.save_steps,
            tensorboard=tensorboard,
            origin=origin,
        )
        resumed = job.resume and training.resume()
        if resumed and first:
            step = f" and step {training.tally.step}" if training.tally.step else ""
            console.note(f"resumed after epoch {len(training.history)}{step}")
        elif job.resume and first:
            console.note(f"{job.out}: no checkpoint to continue from, so this is a new run")
        with told_how_to_continue(f"celif train --out {job.out} --resume"):
            net = training.run()
    if first:
        _tell(job, net.num_parameters, training)


def _with_teacher(task: Task, job: TrainJob, group: Group, device: torch.device) -> Task:
    """Distil the task if the job has a teacher, or the run that it continues had one."""
    last = job.out / trainer.LAST
    resumed = job.resume and last.exists()
    known = teachers.of_run(checkpoint.read(last)) if resumed else None
    asked = job.teacher is not None or bool(job.distillation)
    if task.teacher is not None:
        if asked:
            raise ValueError(
                f"--teacher: expected a task without a teacher of its own, got {task.name}; leave "
                "out --teacher, --temperature and --teacher-share, or pass the task that it was "
                "made of"
            )
        return task
    if asked and resumed and known is None:
        raise ValueError(
            f"{last}: expected a run with a teacher, found one that began without; use another "
            "folder for another run"
        )
    if job.resume and not resumed and job.teacher is None:
        kept = job.out / teachers.KEPT
        if job.distillation or kept.is_file():
            raise ValueError(
                f"{job.out}: expected {trainer.LAST} of a run with a teacher, found none; give the "
                "command that began the run again, without --resume and, if it had a teacher, with "
                f"--teacher once {kept} is removed"
            )
    if job.teacher is not None or known is not None:
        return teachers.teach(task, job.teacher, job.out, known, group, device, **job.distillation)
    begun = None if job.origin is None else teachers.of_run(checkpoint.read(job.origin))
    if begun is not None and group.rank == 0:
        console.note(
            f"{job.origin} was trained with a teacher, and this run has none; pass --teacher to "
            "give it one"
        )
    return task


@contextmanager
def told_how_to_continue(command: str) -> Iterator[None]:
    """Say on Ctrl-C how to continue the run; typer makes the exit code 130."""
    try:
        yield
    except KeyboardInterrupt:
        console.fail(f"interrupted; continue from the last checkpoint with: {command}")
        raise


def _tell(job: TrainJob, parameters: int, training: trainer.Trainer[Any]) -> None:
    last, best = training.history[-1], training.best_epoch
    text = training.task.objective.text
    assert best is not None  # a run has at least an epoch
    result = {
        "parameters": parameters,
        "checkpoint": str(job.out / trainer.LAST),
        "best": str(job.out / trainer.BEST),
        "best_epoch": best + 1,
        "epochs": len(training.history),
        "recipe": asdict(training.recipe),
        **last,
    }
    console.say(
        f"{parameters:,} parameters, validation {text(last['validation'])}: {result['checkpoint']}"
    )
    if best + 1 != len(training.history):
        score = text(training.history[best]["validation"])
        console.say(f"best: {score} after epoch {best + 1}: {result['best']}")
    answer(result, job.as_json)
