"""The adding problem and copy memory: what they ask, and that no two batches are the same."""

from __future__ import annotations

import math

import pytest
import torch

from training import tasks
from training.tasks import Stream
from training.tasks.synthetic import copy_baseline
from training.trainer.loop import Recipe, Trainer, start


def test_adding_asks_for_the_sum_of_the_two_marked_numbers():
    task = tasks.load("adding-30")
    x, y = task.test.x, task.test.y
    assert (task.channels, task.steps, task.classes) == (2, 30, 1)
    assert torch.equal(x[:, 1].sum(1), torch.full((1000,), 2.0)), "two marks in each sample"
    assert torch.equal((x[:, 0] * x[:, 1]).sum(1), y)
    assert 0 <= x[:, 0].min() < x[:, 0].max() < 1
    assert x[:, 1].sum(0).min() > 0, "every step is marked in some sample"
    # Always saying 1: the variance of a sum of two uniform numbers, 1/6, up to a sample's error.
    assert task.objective.scores(torch.ones(1000, 1), y).mean() == pytest.approx(1 / 6, rel=0.1)


def test_copy_asks_for_the_symbols_after_the_silence():
    task = tasks.load("copy-15")
    x, y = task.test.x, task.test.y
    assert (task.channels, task.steps, task.classes) == (10, 35, 10)
    codes = x.argmax(1)
    assert torch.equal(x, torch.nn.functional.one_hot(codes, 10).float().transpose(1, 2))
    assert set(codes[:, :10].unique().tolist()) == set(range(1, 9))
    assert not codes[:, 10:25].any()
    assert (codes[:, 25:] == 9).all()
    assert torch.equal(y[:, -10:], codes[:, :10])
    assert not y[:, :-10].any()


def test_copys_loss_of_knowing_all_but_the_symbols_is_the_papers_baseline():
    task = tasks.copy_memory(100)
    logits = torch.full((1000, 10, 120), -1e9)
    logits[:, 0, :-10] = 0
    logits[:, 1:9, -10:] = 0
    loss = task.objective.loss(logits, task.test.y)
    assert loss.item() == pytest.approx(10 * math.log(8) / 120)
    assert copy_baseline(100) == pytest.approx(loss.item())
    # Guessing one of eight, always the first: a share of 1/8, up to a sample's error.
    assert task.objective.scores(logits, task.test.y).mean() == pytest.approx(1 / 8, rel=0.1)


@pytest.mark.parametrize("name", ["adding-12", "copy-3"])
def test_batches_are_functions_of_seed_epoch_and_step(name):
    stream = tasks.load(name).train
    assert isinstance(stream, Stream)
    x, y = stream.draw(0, 1, 2, 8)
    again = stream.draw(0, 1, 2, 8)
    assert torch.equal(x, again[0])
    assert torch.equal(y, again[1])
    part = stream.draw(0, 1, 2, 8, slice(3, 5))
    assert torch.equal(x[3:5], part[0]), "processes share the batch that one would have"
    for other in ((1, 1, 2), (0, 2, 2), (0, 1, 3)):
        assert not torch.equal(x, stream.draw(*other, 8)[0])


def test_last_batch_of_a_stream_is_what_is_left():
    stream = tasks.load("adding-5").train
    most = len(stream) // 2 - 100
    assert len(stream.draw(0, 0, 1, most)[1]) == most
    assert len(stream.draw(0, 0, 2, most)[1]) == len(stream) - 2 * most > 0


@pytest.mark.parametrize(("name", "measure"), [("adding-8", "mse"), ("copy-2", "recall")])
def test_made_tasks_are_learnt(name, measure, tmp_path, monkeypatch):
    monkeypatch.setattr("training.tasks.synthetic.EPOCH", 1280)
    task, recipe = tasks.load(name), Recipe(epochs=6, batch=64, lr=0.02)
    run = Trainer(start(task, (24, 24), recipe), task, recipe, tmp_path)
    run.run()
    scores = [epoch["validation"] for epoch in run.history]
    assert set(run.history[0]) >= {"loss", measure}
    if measure == "mse":
        assert scores[-1] < 0.1, "well below the 1/6 of always saying 1"
    else:
        # 10,000 symbols guessed: 0.125 ± 0.0033.
        assert scores[-1] > 0.15, "well above the 1/8 of guessing"
    assert run.best_epoch == task.objective.best(scores)


def test_too_short_a_task_is_refused():
    with pytest.raises(ValueError, match="adding: expected a length of at least 2 steps, got 1"):
        tasks.load("adding-1")
    with pytest.raises(ValueError, match=r"task: expected one of digits, .* got 'copy-'"):
        tasks.load("copy-")
