"""What a trainer refuses before it begins."""

from __future__ import annotations

from dataclasses import replace

import pytest

from training.tasks import Split, Task
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
