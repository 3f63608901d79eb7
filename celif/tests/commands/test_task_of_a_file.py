"""A file knows its task: commands take its samples by default, and refuse those of another."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from celif.inputs.samples import Model, require_same_task
from celif.tests.run_command import answer
from export import read_netx, write_netx
from export.model.task_label import TaskLabel
from training import tasks

COMMANDS = ("evaluate", "verify", "simulate", "run")


def renamed(run_folder: Path, path: Path, label: TaskLabel | None) -> Path:
    """The export of a run, made for another task."""
    write_netx(replace(read_netx(run_folder / "net.net"), task=label), path)
    return path


def test_export_keeps_the_task_of_its_checkpoint(run_folder: Path) -> None:
    found = answer("inspect", run_folder / "net.net")["task"]
    assert found == {"name": "digits", "encoding": "8 × 8, a pixel a step"}


def test_commands_take_the_samples_of_the_files_own_task(run_folder: Path) -> None:
    assert answer("evaluate", run_folder / "net.net")["samples"] == 360
    assert answer("simulate", run_folder / "net.net")["samples"] == 360
    assert answer("run", run_folder / "net.net", "--samples", 1)["samples"] == 1
    quick = ("--target", "torch,twin", "--lava-samples", 1)
    assert answer("verify", run_folder / "net.net", *quick)["equal"]


@pytest.mark.parametrize("command", COMMANDS)
def test_another_task_is_an_error_that_names_both(
    command: str, run_folder: Path, tmp_path: Path, end_of: Any
) -> None:
    """The two have the same shape, so that the name alone tells them apart."""
    path = renamed(run_folder, tmp_path / "net.net", TaskLabel("seq-mnist"))
    ending = end_of(command, path, "--task", "digits")
    assert ending.code == 2
    assert f"{path}: expected task seq-mnist, got task digits" in ending.error


@pytest.mark.parametrize("command", COMMANDS)
def test_file_without_a_task_is_held_to_its_shape(
    command: str, run_folder: Path, tmp_path: Path, end_of: Any
) -> None:
    path = renamed(run_folder, tmp_path / "net.net", None)
    ending = end_of(command, path, "--task", "adding-64")
    assert ending.code == 2
    assert "expected samples of 1 channel(s) × 64 steps" in ending.error
    assert "got task adding-64 with 2 × 64" in ending.error
    nothing = end_of(command, path)
    assert nothing.code == 2
    assert "expected --task" in nothing.error


def test_another_number_of_classes_is_refused(run_folder: Path) -> None:
    fixed = replace(read_netx(run_folder / "net.net"), task=None)
    digits, model = tasks.load("digits"), Model("net", None, fixed=fixed)
    with pytest.raises(ValueError, match=r"64 steps and 10 classes, got task digits .* and 11"):
        require_same_task(model, replace(digits, classes=11))
    # A part of a user's own data may lack the last classes.
    part = tasks.Split(digits.test.x, digits.test.y.clamp(max=8))
    fewer = tasks.Task("mine.npz", part, part, part, classes=9)
    require_same_task(model, fewer)


def test_samples_that_were_made_otherwise_are_refused(run_folder: Path) -> None:
    fixed = replace(read_netx(run_folder / "net.net"), task=TaskLabel("mine", "64 bins of 1 ms"))
    task = replace(tasks.load("digits"), name="mine", encoding="64 bins of 2 ms")
    expected = r"task mine \(64 bins of 1 ms\), got mine \(64 bins of 2 ms\)"
    with pytest.raises(ValueError, match=expected):
        require_same_task(Model("net", fixed.task, fixed=fixed), task)


def test_names_of_a_users_own_are_mentioned_but_do_not_decide(
    run_folder: Path, tmp_path: Path, end_of: Any
) -> None:
    path = renamed(run_folder, tmp_path / "net.net", TaskLabel("mine.npz"))
    digits, new = tasks.load("digits").test, tmp_path / "new.npz"
    np.savez(new, x=digits.x.numpy(), y=digits.y.numpy())
    assert answer("evaluate", path, "--data", new)["task"] == str(new)
    for command in ("evaluate", "simulate", "verify"):
        for option in ("--data", "--task"):
            targets = ("--target", "twin") if command == "verify" else ()
            other = end_of(command, path, option, new, *targets)
            assert other.code == 0
            said = " ".join(other.error.split())
            assert f"was made for task mine.npz, this is {new}" in said


@pytest.mark.parametrize("command", ["evaluate", "simulate"])
def test_an_error_names_the_file_that_was_given(
    command: str, run_folder: Path, tmp_path: Path, end_of: Any
) -> None:
    path, turned = renamed(run_folder, tmp_path / "net.net", TaskLabel("mine.npz")), "turned.npz"
    digits = tasks.load("digits").test
    np.savez(tmp_path / turned, x=digits.x.mT.numpy(), y=digits.y.numpy())
    ending = end_of(command, path, "--data", tmp_path / turned)
    assert ending.code == 2
    said = " ".join(ending.error.split())
    assert "expected task mine.npz, samples of 1 channel(s) × 64 steps and at most 10" in said
    assert f"got task {tmp_path / turned} with 64 × 1" in said


def test_a_known_networks_samples_may_come_from_any_file(
    run_folder: Path, tmp_path: Path, end_of: Any
) -> None:
    digits, new = tasks.load("digits"), tmp_path / "new.npz"
    arrays = {"x": digits.train.x, "y": digits.train.y, "x_test": digits.test.x}
    np.savez(new, **arrays, y_test=digits.test.y)
    ours = answer("simulate", run_folder / "net.net", "--data", new)
    assert ours == answer("simulate", run_folder / "net.net")


@pytest.mark.parametrize(
    ("factor", "words"),
    [(1 / 255, "of the input range: they reach from 0 to 0.003922"), (0, "every sample is zero")],
    ids=["small", "zero"],
)
@pytest.mark.parametrize("command", ["simulate", "run"])
def test_samples_unlike_the_calibration_are_warned_of(
    command: str, factor: float, words: str, run_folder: Path, tmp_path: Path, end_of: Any
) -> None:
    np.save(tmp_path / "x.npy", tasks.load("digits").test.x[:2].numpy() * np.float32(factor))
    ending = end_of(command, run_folder / "net.net", "--input", tmp_path / "x.npy")
    assert words in " ".join(ending.error.split())


@pytest.mark.parametrize(
    ("factor", "words"),
    [(1.0, None), (255.0, "of the input range"), (1 / 255, "of the input values are clipped")],
    ids=["right", "too-large", "too-small"],
)
def test_calibration_unlike_the_task_is_warned_of_at_export(
    factor: float, words: str | None, run_folder: Path, tmp_path: Path, end_of: Any
) -> None:
    np.save(tmp_path / "x.npy", tasks.load("digits").train.x[:64].numpy() * np.float32(factor))
    source, path = run_folder / "run" / "last.safetensors", tmp_path / "net.net"
    ending = end_of("export", source, "-o", path, "--calibration", tmp_path / "x.npy")
    assert ending.code == 0
    said = " ".join(ending.error.split())
    assert ("--calibration is not like the training samples of digits" in said) == bool(words)
    assert words is None or words in said
    task = read_netx(path).task
    assert task is not None
    assert task.name == "digits"
