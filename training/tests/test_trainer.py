"""Training: the same bits every time, resumable at any point, and honest about failure."""

from __future__ import annotations

import json
from dataclasses import asdict, replace

import pytest
import torch

from training import Network, checkpoint, trainer
from training.tasks import Split, Task
from training.trainer import BEST, LAST, METRICS, Progress, Recipe, Trainer, evaluate, start

RECIPE = Recipe(epochs=3, batch=16, seed=4)


@pytest.fixture
def task() -> Task:
    """Two classes: an early and a late burst; the last batch of an epoch is not full."""
    generator = torch.Generator().manual_seed(0)

    def split(n: int) -> Split:
        y = torch.arange(n) % 2
        x = 0.3 * torch.rand(n, 1, 10, generator=generator)
        x[y == 0, 0, :5] += 1
        x[y == 1, 0, 5:] += 1
        return Split(x, y)

    return Task("bursts", split(56), split(20), split(20), classes=2)


def train(task: Task, out, recipe: Recipe = RECIPE, report=lambda progress: None) -> Trainer:
    run = Trainer(start(task, (6, 5), recipe, dropout=0.2), task, recipe, out, report)
    run.resume()
    run.run()
    return run


def weights(net: Network) -> list[torch.Tensor]:
    return [p.detach().clone() for p in net.parameters()]


def assert_same_weights(a: Network, b: Network) -> None:
    for one, two in zip(weights(a), weights(b), strict=True):
        assert torch.equal(one, two)


def test_same_seed_gives_the_same_weights(task, tmp_path):
    a, b = train(task, tmp_path / "a"), train(task, tmp_path / "b")
    assert_same_weights(a.net, b.net)
    begun = start(task, (6, 5), RECIPE, dropout=0.2)
    assert not torch.equal(a.net.te, begun.te)


def test_other_seed_gives_other_weights(task, tmp_path):
    a, b = train(task, tmp_path / "a"), train(task, tmp_path / "b", replace(RECIPE, seed=5))
    assert not torch.equal(a.net.te, b.net.te)


def test_order_of_samples_depends_on_seed_and_epoch_alone(task):
    def order(recipe: Recipe, epoch: int) -> torch.Tensor:
        drawn = [task.train.draw(recipe.seed, epoch, step, recipe.batch)[0] for step in range(4)]
        return torch.cat(drawn).flatten(1)

    first = order(RECIPE, 0)
    assert torch.equal(first, order(RECIPE, 0))
    assert not torch.equal(first, order(RECIPE, 1))
    assert not torch.equal(first, order(replace(RECIPE, seed=5), 0))
    assert torch.equal(first.sort(0).values, task.train.x.flatten(1).sort(0).values)


class Interrupted(Exception):
    pass


@pytest.mark.parametrize("epoch", [0, 1, 2], ids="in-epoch-{}".format)
def test_interrupted_run_resumes_to_the_same_bits(task, tmp_path, epoch):
    undisturbed = train(task, tmp_path / "whole")

    def interrupt(progress: Progress) -> None:
        if (progress.epoch, progress.step) == (epoch, 2):
            raise Interrupted

    with pytest.raises(Interrupted):
        train(task, tmp_path / "cut", report=interrupt)
    torch.manual_seed(99)  # what a new process would find is another state
    resumed = train(task, tmp_path / "cut")
    assert_same_weights(resumed.net, undisturbed.net)
    assert all(len(epoch["rates"]) == 2 for epoch in resumed.history)
    for a, b in zip(resumed.history, undisturbed.history, strict=True):
        assert a | {"seconds": 0} == b | {"seconds": 0}


def test_finished_run_is_not_trained_again(task, tmp_path):
    finished = train(task, tmp_path)

    def refuse(progress: Progress) -> None:
        raise AssertionError("nothing is left to do")

    assert_same_weights(train(task, tmp_path, report=refuse).net, finished.net)


@pytest.mark.parametrize(
    ("scores", "best"), [((0.5, 0.9, 0.7), 1), ((0.5, 0.9, 0.9), 2)], ids=["middle", "tie"]
)
def test_best_and_last_checkpoints_are_what_they_say(task, tmp_path, monkeypatch, scores, best):
    given, seen = iter(scores), []
    monkeypatch.setattr(trainer, "evaluate", lambda net, split, **options: next(given))
    run = Trainer(start(task, (6, 5), RECIPE), task, RECIPE, tmp_path)
    run.report = lambda p: seen.append(weights(run.net)) if p.validation is not None else None
    run.run()
    for name, epoch in ((BEST, best), (LAST, 2)):
        found = weights(checkpoint.load(tmp_path / name))
        assert all(map(torch.equal, found, seen[epoch])), name
    assert not torch.equal(seen[0][0], seen[2][0])


def test_metrics_say_what_was_trained_and_how_it_went(task, tmp_path):
    run = train(task, tmp_path)
    metrics = json.loads((tmp_path / METRICS).read_text())
    assert metrics["task"] == "bursts"
    assert metrics["recipe"] == asdict(RECIPE)
    assert metrics["history"] == run.history
    assert len(run.history) == 3
    assert set(run.history[0]) >= {"loss", "accuracy", "validation", "skipped"}


def test_training_learns(task, tmp_path):
    run = train(task, tmp_path, Recipe(epochs=12, batch=16, lr=0.02))
    assert evaluate(run.net, task.test) > 0.8
    assert run.history[-1]["loss"] < 0.7 * run.history[0]["loss"]


def test_evaluate_counts_hits_and_restores_the_mode(task):
    net = start(task, (6, 5), RECIPE, dropout=0.5).train()
    hits = (net.eval()(task.test.x).argmax(1) == task.test.y).float().mean()
    assert evaluate(net.train(), task.test, batch=7) == pytest.approx(hits.item())
    assert net.training


def test_learning_rate_rises_and_falls():
    rates = [RECIPE.lr_at(i / 100) for i in range(101)]
    peak = rates.index(max(rates))
    assert rates[peak] == RECIPE.lr
    assert peak == 10
    assert rates == sorted(rates[: peak + 1]) + sorted(rates[peak + 1 :], reverse=True)
    assert rates[0] == pytest.approx(0.04 * RECIPE.lr)
    assert rates[-1] == pytest.approx(0)


def test_progress_counts_epochs_and_steps(task, tmp_path):
    seen: list[Progress] = []
    train(task, tmp_path, replace(RECIPE, epochs=2), seen.append)
    assert [(p.epoch, p.step) for p in seen] == [
        *((0, 1), (0, 2), (0, 3), (0, 4), (1, 4)),
        *((1, 1), (1, 2), (1, 3), (1, 4), (2, 4)),
    ]
    assert all((p.epochs, p.steps) == (2, 4) for p in seen)
    assert [p.validation is not None for p in seen] == [False] * 4 + [True] + [False] * 4 + [True]


def test_loss_that_is_no_number_is_an_error(task, tmp_path):
    net = start(task, (6, 5), RECIPE)
    torch.nn.init.constant_(net.readout.bias, float("nan"))
    with pytest.raises(
        FloatingPointError, match=r"epoch 1 step 1: expected a finite loss, got nan"
    ):
        Trainer(net, task, RECIPE, tmp_path).run()
    assert not list(tmp_path.glob("*.pt"))


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


def test_best_checkpoint_is_not_resumed(task, tmp_path):
    run = train(task, tmp_path)
    (tmp_path / BEST).rename(tmp_path / LAST)
    with pytest.raises(ValueError, match=r"last\.pt: expected the state of the optimiser"):
        run.resume()


def test_empty_split_is_refused(task):
    net = start(task, (6, 5), RECIPE)
    empty = Split(task.test.x[:0], task.test.y[:0])
    with pytest.raises(ValueError, match="split: expected at least one sample, got none; pass"):
        evaluate(net, empty)
