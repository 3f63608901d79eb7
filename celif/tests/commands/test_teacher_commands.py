"""celif train with a teacher."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from celif.inputs import teachers
from celif.tests.run_command import answer
from training import checkpoint, tasks
from training.trainer.distributed import Group

SMALL = ("--epochs", 1, "--hidden", "6")


def test_a_network_learns_from_a_checkpoint_or_from_outputs_in_a_file(
    tmp_path: Path, end_of: Any
) -> None:
    answer("train", "--out", tmp_path / "teacher", *SMALL, "--epochs", 8)
    first = tmp_path / "teacher" / "best.safetensors"
    how = ("--temperature", 2, "--teacher-share", 0.5)
    answer("train", "--out", tmp_path / "student", *SMALL, "--teacher", first, *how)
    last = checkpoint.read(tmp_path / "student" / "last.safetensors")
    task, net = tasks.load("digits"), checkpoint.load(first)
    with torch.no_grad():
        outputs = net(task.train.x)
    assert outputs.std(0).max() > 0  # it fires
    digest = hashlib.sha256(outputs.numpy().tobytes()).hexdigest()[:16]
    assert last["teacher"] == {"outputs": digest, "temperature": 2.0, "share": 0.5}

    # The same outputs from a file give the same weights.
    np.save(tmp_path / "outputs.npy", outputs.numpy())
    file = ("--teacher", tmp_path / "outputs.npy")
    answer("train", "--out", tmp_path / "file", *SMALL, *file, *how)
    again = checkpoint.read(tmp_path / "file" / "last.safetensors")
    assert all(torch.equal(again["weights"][n], w) for n, w in last["weights"].items())
    alone = answer("train", "--out", tmp_path / "alone", *SMALL)
    weights = checkpoint.read(alone["checkpoint"])["weights"]
    assert any(not torch.equal(weights[n], w) for n, w in last["weights"].items())

    # A longer run keeps its teacher, temperature and share; others are refused.
    resume = ("train", "--out", tmp_path / "file", "--resume", "--epochs")
    np.save(tmp_path / "outputs.npy", 1.0001 * outputs.numpy())  # as another processor adds up
    assert answer(*resume, 2, *file)["epochs"] == 2
    assert answer(*resume, 3)["epochs"] == 3
    kept = checkpoint.read(tmp_path / "file" / "last.safetensors")["teacher"]
    assert kept == last["teacher"]
    assert "expected the same teacher" in end_of(*resume, 4, "--temperature", 3).error
    np.save(tmp_path / "outputs.npy", 2 * outputs.numpy())
    assert "expected the teacher that the run began with" in end_of(*resume, 4, *file).error
    (tmp_path / "file" / "teacher.npy").unlink()
    assert "expected teacher.npy, the outputs that this run learns" in end_of(*resume, 4).error

    # A run that starts from its weights has none, unless it is given one.
    start = ("train", "--start", tmp_path / "student" / "best.safetensors", "--epochs", 1)
    told = end_of(*start, "--out", tmp_path / "started")
    assert told.code == 0
    assert "was trained with a teacher, and this run has none; pass --teacher" in told.error


def test_what_is_asked_of_a_teacher_is_never_ignored(
    tmp_path: Path, end_of: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = 4 * np.eye(10, dtype=np.float32)[tasks.load("digits").train.y.numpy()]
    np.save(tmp_path / "right.npy", right)
    np.save(tmp_path / "other.npy", np.roll(right, 1, axis=1))
    taught, plain = tmp_path / "taught", tmp_path / "plain"
    file, other = ("--teacher", tmp_path / "right.npy"), ("--teacher", tmp_path / "other.npy")
    answer("train", "--out", taught, *SMALL, *file)
    answer("train", "--out", plain, *SMALL)
    longer = ("--resume", "--epochs", 2)

    # A run without a teacher takes none, and is left as it was.
    for given in (file, ("--temperature", 2)):
        ending = end_of("train", "--out", plain, *longer, *given)
        assert "expected a run with a teacher, found one that began without" in ending.error
    assert not (plain / "teacher.npy").exists()

    # Another teacher is refused before it takes the place of the first.
    (taught / "teacher.npy").unlink()
    ending = end_of("train", "--out", taught, *longer, *other)
    assert "expected the teacher that the run in" in ending.error
    assert not (taught / "teacher.npy").exists()
    assert answer("train", "--out", taught, *longer, *file)["epochs"] == 2

    # Without its last checkpoint a run does not start again without its teacher.
    (taught / "last.safetensors").unlink()
    for given in ((), ("--temperature", 2)):
        ending = end_of("train", "--out", taught, *longer, *given)
        assert "expected last.safetensors of a run with a teacher, found none" in ending.error

    # A run without a teacher takes no notice of outputs in its folder, and leaves them there.
    kept = (taught / "teacher.npy").read_bytes()
    answer("train", "--out", taught, *SMALL)
    assert answer("train", "--out", taught, *longer)["epochs"] == 2
    assert checkpoint.read(taught / "last.safetensors")["teacher"] is None
    assert (taught / "teacher.npy").read_bytes() == kept

    # A task that has a teacher of its own does not get another.
    (tmp_path / "my_taught_task.py").write_text(
        "import numpy\n"
        "from training import tasks\n"
        "def taught():\n"
        "    task = tasks.load('digits')\n"
        f"    return tasks.distilled(task, numpy.load({str(tmp_path / 'right.npy')!r}))\n"
    )
    monkeypatch.chdir(tmp_path)
    own = ("--task", "my_taught_task:taught", *SMALL)
    ending = end_of("train", "--out", tmp_path / "own", *own, *file)
    assert "expected a task without a teacher of its own" in ending.error


def test_processes_wait_for_the_teacher_on_their_own_devices(tmp_path: Path) -> None:
    task = tasks.load("digits")
    right = 4 * np.eye(10, dtype=np.float32)[task.train.y.numpy()]
    np.save(tmp_path / "right.npy", right)
    waited: list[tuple[int, torch.device]] = []

    class Process(Group):
        """One of two processes, of which the other has come as far."""

        def __init__(self, rank: int) -> None:
            self.rank, self.size = rank, 2

        def totals(self, values: Sequence[float], device: torch.device) -> list[float]:
            assert (tmp_path / "run" / teachers.KEPT).is_file()
            waited.append((self.rank, device))
            return list(values)

    path, device = tmp_path / "right.npy", torch.device("cuda", 1)
    both = [
        teachers.teach(task, path, tmp_path / "run", None, Process(rank), device) for rank in (0, 1)
    ]
    assert both[0].teacher == both[1].teacher is not None
    assert waited == [(0, device), (1, device)]


def test_a_teacher_is_said_to_be_right_or_warned_of(tmp_path: Path, end_of: Any) -> None:
    labels = tasks.load("digits").train.y.numpy()
    right = np.eye(10, dtype=np.float32)[labels]

    def said(name: str, outputs: np.ndarray) -> str:
        np.save(tmp_path / f"{name}.npy", outputs)
        teacher = ("--teacher", tmp_path / f"{name}.npy")
        found = end_of("train", "--out", tmp_path / name, *SMALL, *teacher)
        assert found.code == 0
        return str(found.error)

    good = said("good", 4 * right)
    assert "the teacher is right for 100.00% of the training samples" in good
    assert "warning" not in good.lower()
    assert "look like probabilities" in said("probabilities", 0.91 * right + 0.009)
    assert "hardly better than chance" in said("shifted", 4 * np.roll(right, 1, axis=1))


@pytest.mark.parametrize(("hits", "warned"), [(95, False), (60, False), (52, True)])
def test_a_teacher_of_two_classes_is_compared_with_chance(
    hits: int, warned: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    y = torch.arange(100) % 2
    split = tasks.Split(torch.zeros(100, 1, 2), y)
    task = tasks.Task("two", split, split, split, classes=2)
    seen = torch.where(torch.arange(100) < hits, y, 1 - y)
    outputs = 4 * torch.nn.functional.one_hot(seen, 2).float()
    # Whatever a task's own measure counts.
    wrong = replace(tasks.CLASS, scores=lambda outputs, y: (outputs.argmax(1) != y).double())
    for each in (task, replace(task, objective=wrong)):
        teachers.look(tasks.distilled(each, outputs), outputs.numpy())
        told = capsys.readouterr().err
        assert f"right for {hits}.00%" in told
        assert ("hardly better than chance" in told) == warned


def test_teachers_that_do_not_fit_are_refused(tmp_path: Path, end_of: Any) -> None:
    def refusal(*options: object) -> str:
        found = end_of("train", "--out", tmp_path / "run", *SMALL, *options)
        assert found.code == 2
        assert not (tmp_path / "run").exists()
        return str(found.error)

    assert "together with --teacher" in refusal("--teacher-share", 0.5)
    file = tmp_path / "outputs.npy"
    assert "found no such file" in refusal("--teacher", file)
    np.save(file, np.zeros((3, 10)))
    assert "outputs (sample, class) of shape (1293, 10)" in refusal("--teacher", file)
    np.save(file, np.zeros(3))
    assert "expected a .npy file of numbers, (sample, class)" in refusal("--teacher", file)
    np.save(file, np.array([{}, {}]))
    assert "found Python objects" in refusal("--teacher", file)
    models = Path(__file__).parents[3] / "models"
    of_another = models / "seq-mnist-88.safetensors"
    assert "--teacher: expected a network for task digits" in refusal("--teacher", of_another)
    netx = models / "seq-mnist-88.net"
    assert "pass the checkpoint that it was exported from" in refusal("--teacher", netx)
    missing = tmp_path / "none.safetensors"
    assert f"--teacher {missing}: expected a network's checkpoint" in refusal("--teacher", missing)
    np.save(file, np.full((1293, 10), 1e300))
    assert "finite in float32" in refusal("--teacher", file)
    assert "teacher temperature: expected" in refusal("--teacher", file, "--temperature", 1e9)
