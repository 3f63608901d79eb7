"""Equal processor time, and training runs with a budget of it."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from matplotlib import pyplot as plt

from celif.experiments import equal_time
from celif.experiments.machinery.budget import Portion, one_thread, spend
from celif.experiments.machinery.stopwatch import SPENT, Stopwatch, spent_below
from training import tasks
from training.support import compiled
from training.trainer.loop import start
from training.trainer.progress import Progress
from training.trainer.recipe import Recipe


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def test_celif_beats_recurrent_lif_at_equal_processor_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(equal_time, "RATES", (1e-2,))
    lif, _, celif = equal_time.QUICK
    budget = replace(equal_time.SHORT, seconds=2.0)
    task = tasks.load("digits")
    with one_thread():
        found = [equal_time.contend(each, task, budget, tmp_path) for each in (lif, celif)]
    scores = [contest.spent.run.score or 0 for contest in found]
    assert scores[1] > scores[0] + 0.2
    plans = {path: path.read_text() for path in tmp_path.rglob("plan.json")}
    again = equal_time.contend(celif, task, budget, tmp_path)
    assert again.spent.run.history == found[1].spent.run.history
    assert {path: path.read_text() for path in tmp_path.rglob("plan.json")} == plans


def test_portions_go_through_the_split_again_and_again() -> None:
    split = tasks.Split(torch.arange(10.0).view(10, 1, 1), torch.arange(10))
    portion = Portion(split, steps=3, batch=5)
    seen = [portion.draw(7, epoch, step, 5)[1] for epoch in range(2) for step in range(3)]
    assert len(portion) == 15
    for first, second in zip(seen[::2], seen[1::2], strict=True):
        assert sorted(torch.cat([first, second]).tolist()) == list(range(10))
    assert not torch.equal(seen[0], seen[2])


def test_stopwatch_counts_training_alone_and_repeats_what_was_cut(tmp_path: Path) -> None:
    def burn(watch: Stopwatch, epoch: int, validation: float | None) -> None:
        end = time.process_time() + 0.02
        while time.process_time() < end:
            pass
        watch(Progress(epoch, 2, 1, 1, 0.0, 0.0, validation))

    began = time.process_time()
    watch = Stopwatch(tmp_path)
    burn(watch, 0, None)
    burn(watch, 1, 0.5)  # a validation, not counted
    assert 0.02 <= watch.seconds[0] < time.process_time() - began - 0.019
    resumed = Stopwatch(tmp_path)
    burn(resumed, 0, None)
    burn(resumed, 1, 0.5)  # the first epoch once more: its checkpoint was not written
    assert len(resumed.seconds) == 1
    assert json.loads((tmp_path / SPENT).read_text()) == resumed.seconds
    assert spent_below(tmp_path) == resumed.seconds[0]
    assert spent_below(tmp_path / "none") == 0


def test_spending_takes_the_steps_that_were_planned(tmp_path: Path) -> None:
    task, recipe = tasks.load("digits"), Recipe(epochs=2, batch=8)
    spent = spend("one", start(task, (4,), recipe), task, recipe, tmp_path, 6, measured=False)
    assert spent.steps == 6
    assert len(spent.seconds) == 2
    # A plan is kept, so that a training run that continues ends where it was meant to.
    more = spend("one", start(task, (4,), recipe), task, recipe, tmp_path, 60, measured=False)
    assert more.steps == 6


@pytest.mark.skipif(not compiled.AVAILABLE, reason="needs numba")
def test_one_thread_is_given_back() -> None:
    before = torch.get_num_threads(), compiled.threads()
    with one_thread():
        assert (torch.get_num_threads(), compiled.threads()) == (1, 1)
    assert (torch.get_num_threads(), compiled.threads()) == before
