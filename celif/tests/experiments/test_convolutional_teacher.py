"""The teacher of Table 1's distilled network."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path

import pytest
import torch
from matplotlib import pyplot as plt

from celif.experiments.accuracy import convolutional_teacher, table1
from celif.experiments.machinery.experiment import Settings
from celif.experiments.machinery.runs import Stopped
from training import checkpoint, tasks
from training.trainer import evaluation
from training.trainer.progress import Progress
from training.trainer.recipe import Recipe
from training.trainer.run_folder import LAST


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def test_a_row_learns_the_mean_outputs_of_its_teachers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(convolutional_teacher, "RECIPE", Recipe(epochs=2, batch=64, lr=4e-3))
    budget = table1.TrainingBudget((2e-3,), 0, 1, 360, distilled=True)
    model = replace(table1.QUICK[0], hidden=(8,), budget=budget)
    monkeypatch.setattr(table1, "QUICK", (model,))
    table1.run(Settings(tmp_path, quick=True, only=("another",)))
    assert not list(tmp_path.glob("*/run.json"))
    table1.run(Settings(tmp_path, quick=True))
    runs = {path.parent.name: json.loads(path.read_text()) for path in tmp_path.glob("*/run.json")}
    assert len(runs) == 1 + convolutional_teacher.TEACHERS
    task, outputs = tasks.load("digits"), []
    for seed in range(convolutional_teacher.TEACHERS):
        name = f"digits-teacher-{convolutional_teacher.fingerprint()}-{seed}"
        assert runs[name]["history"][-1]["validation"] > 0.5
        net = convolutional_teacher.Convolutional(1, (8, 8), 10)
        weights = checkpoint.read(tmp_path / name / LAST)["weights"]
        net.load_state_dict(weights)
        outputs.append(evaluation.outputs(net, task.train.x))
    assert not torch.equal(outputs[0], outputs[1])
    (student,) = (name for name in runs if "teacher" not in name)
    expected = tasks.distilled(task, (outputs[0] / 2 + outputs[1] / 2))
    assert expected.teacher is not None
    learnt = checkpoint.read(tmp_path / student / LAST)["teacher"]
    assert learnt == asdict(expected.teacher)
    # Taught otherwise it is another run, by the same teacher; and another teacher is another run.
    teacher, run = convolutional_teacher.fingerprint(), convolutional_teacher.run_fingerprint()
    monkeypatch.setattr(convolutional_teacher, "TEMPERATURE", 2.0)
    assert convolutional_teacher.fingerprint() == teacher
    assert convolutional_teacher.run_fingerprint() != run
    monkeypatch.setattr(convolutional_teacher, "DROPOUTS", (0.0, 0.0))
    assert convolutional_teacher.fingerprint() != teacher
    later = table1.run(Settings(tmp_path, quick=True, only=("another",)))
    assert later.rows[0].note == "not run"


def test_a_row_is_not_begun_when_time_is_up_within_its_teacher(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    budget = table1.TrainingBudget((2e-3,), 0, 1, 360, distilled=True)
    monkeypatch.setattr(table1, "QUICK", (replace(table1.QUICK[0], budget=budget),))

    def stop(sitting: object, progress: Progress) -> None:
        raise Stopped

    monkeypatch.setattr(table1.Sitting, "report", stop)
    outcome = table1.run(Settings(tmp_path, quick=True))
    assert outcome.rows[0].note == "not run"
    teacher = convolutional_teacher.fingerprint()
    assert [path.name for path in tmp_path.iterdir()] == [f"digits-teacher-{teacher}-0"]


def test_a_teacher_that_diverged_teaches_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = tasks.load("digits")
    broken = replace(task, train=tasks.Split(task.train.x * torch.nan, task.train.y))
    with pytest.raises(FloatingPointError, match="expected to be trained, but it diverged"):
        convolutional_teacher.teach(broken, tmp_path, lambda progress: None)
    with pytest.raises(ValueError, match="expected a single rate with a teacher"):
        table1.TrainingBudget((1e-3, 1e-2), 1, 1, 64, distilled=True)
