"""Runs that cannot be trained or resumed are refused, and broken numbers are noticed."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from training import Network, checkpoint
from training.support import tensor_file
from training.tasks import Split, Stream, Task
from training.tests.kernels.bursts import (
    RECIPE,
    bursts,
    train,
)
from training.trainer import BEST, LAST, Trainer, evaluate, start


@pytest.fixture
def task() -> Task:
    return bursts()


def test_loss_that_is_no_number_is_an_error(task, tmp_path):
    net = start(task, (6, 5), RECIPE)
    torch.nn.init.constant_(net.readout.bias, float("nan"))
    with pytest.raises(
        FloatingPointError, match=r"epoch 1 step 1: expected a finite loss, got nan"
    ):
        Trainer(net, task, RECIPE, tmp_path).run()
    assert not list(tmp_path.glob("*.safetensors"))


def test_overflowing_gradient_costs_one_step_not_the_run(task, tmp_path):
    net = start(task, (6, 5), RECIPE)
    overflow = iter([True])
    net.te.register_hook(lambda grad: grad * (float("inf") if next(overflow, False) else 1))
    run = Trainer(net, task, RECIPE, tmp_path)
    run.run()
    assert [h["skipped"] for h in run.history] == [1, 0, 0]
    assert all(p.isfinite().all() for p in net.parameters())


def test_network_that_does_not_fit_the_task_is_refused(task, tmp_path):
    for net, message in (
        (Network(2, (4,), 2, 10), r"expected 1 inputs and 2 classes for task bursts, got 2 and 2"),
        (Network(1, (4,), 3, 10), r"expected 1 inputs and 2 classes .* got 1 and 3"),
        (Network(1, (4,), 2, 9), r"expected steps ≥ 10 for task bursts, got 9"),
    ):
        with pytest.raises(ValueError, match=message):
            Trainer(net, task, RECIPE, tmp_path)


def test_other_run_is_not_resumed(task, tmp_path):
    train(task, tmp_path)
    net = start(task, (6, 5), RECIPE, dropout=0.2)
    for run, message in (
        (Trainer(net, task, replace(RECIPE, lr=0.1), tmp_path), "same recipe .* another folder"),
        (Trainer(net, replace(task, name="x"), RECIPE, tmp_path), "same task .*bursts, got x"),
        (Trainer(start(task, (6,), RECIPE), task, RECIPE, tmp_path), "the same network"),
    ):
        with pytest.raises(ValueError, match=message):
            run.resume()


def test_run_is_not_resumed_on_other_data(task, tmp_path):
    train(task, tmp_path)
    before = (tmp_path / LAST).read_bytes()
    x, y = task.train.x, task.train.y
    moved = x.clone()
    moved[3, 0, 7] += 1e-3
    for other in (Split(moved, y), Split(x, y.flip(0)), Split(x.flip(0), y)):
        changed = replace(task, train=other)
        run = Trainer(start(changed, (6, 5), RECIPE, dropout=0.2), changed, RECIPE, tmp_path)
        with pytest.raises(
            ValueError, match=r"training data .* digest .* got different data, digest"
        ):
            run.resume()
    assert (tmp_path / LAST).read_bytes() == before


def test_run_is_not_resumed_on_a_source_without_a_digest(task, tmp_path):
    train(task, tmp_path)
    x, y = task.train.x, task.train.y
    drawn = replace(task, train=Stream(lambda rng, n: (x[:n], y[:n]), len(task.train)))
    run = Trainer(start(drawn, (6, 5), RECIPE, dropout=0.2), drawn, RECIPE, tmp_path)
    with pytest.raises(ValueError, match=r"training data .* got a source without a digest; pass"):
        run.resume()


def test_run_is_not_resumed_on_other_validation_data(task, tmp_path):
    train(task, tmp_path)
    other = replace(task, validation=Split(task.validation.x.flip(0), task.validation.y))
    run = Trainer(start(other, (6, 5), RECIPE, dropout=0.2), other, RECIPE, tmp_path)
    with pytest.raises(
        ValueError, match=r"validation data .* got different data, .* of the same dtype"
    ):
        run.resume()


def test_run_of_a_version_without_the_digest_is_resumed(task, tmp_path):
    train(task, tmp_path)
    content = checkpoint.read(tmp_path / LAST)
    assert content.pop("data") == task.train.digest()
    assert content.pop("validation") == task.validation.digest()
    tensor_file.write(tmp_path / LAST, content)
    assert Trainer(start(task, (6, 5), RECIPE, dropout=0.2), task, RECIPE, tmp_path).resume()


def test_run_on_samples_made_as_they_are_drawn_has_no_digest_and_is_resumed(task, tmp_path):
    streamed = replace(task, train=Stream(lambda rng, n: (task.train.x[:n], task.train.y[:n]), 32))
    run = train(streamed, tmp_path)
    assert "data" not in run.about()
    assert train(streamed, tmp_path).history == run.history


def test_best_checkpoint_is_not_resumed(task, tmp_path):
    run = train(task, tmp_path)
    (tmp_path / BEST).rename(tmp_path / LAST)
    with pytest.raises(ValueError, match=r"last\.safetensors: expected the state of the optimiser"):
        run.resume()


def test_empty_split_is_refused(task):
    net = start(task, (6, 5), RECIPE)
    empty = Split(task.test.x[:0], task.test.y[:0])
    with pytest.raises(ValueError, match="split: expected at least one sample, got none; pass"):
        evaluate(net, empty)
