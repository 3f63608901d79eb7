"""What a trainer refuses before it begins."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from training.tasks import Split, Task, distilled, from_arrays
from training.tests.kernels.bursts import RECIPE, bursts
from training.trainer.loop import Trainer, start


@pytest.fixture
def task() -> Task:
    return bursts()


@pytest.mark.parametrize("part", ["train", "validation"])
def test_task_without_samples_is_refused(task, tmp_path, part):
    split = getattr(task, part)
    empty = replace(task, **{part: Split(split.x[:0], split.y[:0])})
    with pytest.raises(ValueError, match=f"task bursts: expected samples in {part}, got none"):
        Trainer(start(task, (6, 5), RECIPE), empty, RECIPE, tmp_path)


def test_processes_that_see_different_folders_are_refused(task, tmp_path, monkeypatch):
    run = Trainer(start(task, (6, 5), RECIPE), task, RECIPE, tmp_path)
    run.group.size = 3
    monkeypatch.setattr(type(run.group), "totals", lambda group, values, device: [2.0])
    with pytest.raises(ValueError, match=r"expected all 3 processes to see .* found that 2 do"):
        run.resume()


def labelled(labels: torch.Tensor, classes: int | None = None) -> Task:
    """A task of a user's own with these labels."""
    x = torch.rand(len(labels), 1, 5, generator=torch.Generator().manual_seed(0))
    return from_arrays("mine", x, labels, classes=classes)


@pytest.mark.parametrize("label", [0, 5])
def test_a_single_class_is_refused(label, tmp_path):
    task = labelled(torch.full((30,), label))
    with pytest.raises(ValueError, match=f"task mine: .* at least two classes, .* class {label} a"):
        Trainer(start(task, (6, 5), RECIPE), task, RECIPE, tmp_path)


@pytest.mark.parametrize(
    ("factor", "first", "classes", "absent"),
    [
        (
            1,
            1,
            None,
            "all 4 classes, one for each output, found none of 1: 0; classes are numbered",
        ),
        (5, 0, None, "found none of 8: 1, 2, 3, 4, 6, 7, 8, 9;"),
        (9, 0, None, "found none of 16: 1, 2, 3, 4, 5, 6, 7, 8, …;"),
        (1, 0, 5, "all 5 classes, one for each output, found none of 2: 3, 4;"),
        (1, 0, None, None),
    ],
    ids=["from-one", "fives", "many", "asked-for", "all"],
)
def test_classes_without_a_sample_are_warned_of(factor, first, classes, absent, tmp_path, recwarn):
    task = labelled(factor * (torch.arange(30) % 3) + first, classes)
    Trainer(start(task, (6, 5), RECIPE), task, RECIPE, tmp_path)
    found = [str(warning.message) for warning in recwarn]
    if absent is None:
        assert not found
    else:
        (message,) = found
        assert message.startswith("task mine: expected samples of ")
        assert absent in message


def test_classes_of_a_task_with_a_teacher_are_counted(tmp_path, recwarn):
    task = distilled(labelled(torch.arange(30) % 3, 4), torch.rand(24, 4))
    Trainer(start(task, (6, 5), RECIPE), task, RECIPE, tmp_path)
    (warning,) = recwarn
    assert "found none of 1: 3;" in str(warning.message)
