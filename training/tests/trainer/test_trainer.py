"""Training: the same bits every time, resumable at any point, and honest about failure."""

from __future__ import annotations

import csv
import json
from dataclasses import asdict, replace

import pytest
import torch

from training import checkpoint, old_checkpoint
from training.tasks import Task
from training.tests.kernels.bursts import (
    RECIPE,
    assert_same_history,
    assert_same_weights,
    bursts,
    train,
    weights,
)
from training.tests.test_checkpoint import VERSION_1
from training.trainer import BEST, LAST, METRICS, Progress, Recipe, Trainer, evaluate, loop, start


@pytest.fixture
def task() -> Task:
    return bursts()


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


def cut_short(task: Task, out, recipe: Recipe, epoch: int, **options) -> None:
    """A run that ends after three steps of an epoch, of which the last was not saved."""

    def interrupt(progress: Progress) -> None:
        if (progress.epoch, progress.step) == (epoch, 3):
            raise Interrupted

    with pytest.raises(Interrupted):
        train(task, out, recipe, interrupt, **options)


CUTS = {
    "first-epoch": (0, None, {}),
    "last-epoch": (2, None, {}),
    "first-epoch-saved": (0, 1, {}),
    "last-epoch-saved": (2, 2, {}),
    "averaged": (1, 2, {"average": 0.8}),
    "shifted": (1, 2, {"augment": "shift"}),
    "turned": (1, None, {"augment": "affine"}),
    "te-faster": (1, 2, {"te_lr": 3.0}),
    "te-by-rows": (1, 2, {"te_update": "rows"}),
    "te-by-sums": (1, 2, {"te_update": "sums", "te_lr": 3.0}),
    "adversarial": (1, 2, {"adversarial": 0.3}),
}


@pytest.mark.parametrize(("epoch", "save_steps", "options"), CUTS.values(), ids=CUTS.keys())
def test_interrupted_run_resumes_to_the_same_bits(task, tmp_path, epoch, save_steps, options):
    recipe = replace(RECIPE, **options)
    undisturbed = train(task, tmp_path / "whole", recipe)
    cut_short(task, tmp_path / "cut", recipe, epoch, save_steps=save_steps)
    seen: list[Progress] = []
    resumed = train(task, tmp_path / "cut", recipe, seen.append, save_steps=save_steps)
    saved = 0 if save_steps is None else 2
    assert (seen[0].epoch, seen[0].step) == (epoch, saved + 1)
    assert_same_weights(resumed.net, undisturbed.net)
    assert_same_history(resumed, undisturbed)
    assert all(0.01 < rate < 0.95 for epoch in resumed.history for rate in epoch["rates"])
    ours, theirs = (checkpoint.read(tmp_path / n / LAST)["weights"] for n in ("whole", "cut"))
    assert all(torch.equal(ours[name], theirs[name]) for name in ours)


def test_checkpoints_in_an_epoch_come_by_the_clock(task, tmp_path, monkeypatch):
    written = []
    monkeypatch.setattr(checkpoint, "save", lambda path, net, **_: written.append(path.name))
    train(task, tmp_path, replace(RECIPE, epochs=1), save_minutes=0)
    assert written == [LAST] * 3 + [BEST, LAST]
    written.clear()
    train(task, tmp_path, replace(RECIPE, epochs=1), save_minutes=None)
    assert written == [BEST, LAST]


@pytest.mark.parametrize(
    ("scores", "epochs"),
    [
        ((0.5, 0.9, 0.7, 0.8, 0.95), 4),
        ((0.5, 0.6, 0.7, 0.8, 0.9), 5),
        ((0.5, 0.4, 0.5, 0.3, 0.2), 5),
    ],
    ids=["falls-back", "rises", "equal-is-better"],
)
def test_patience_ends_a_run_that_gets_no_better(task, tmp_path, monkeypatch, scores, epochs):
    given = iter(scores)
    monkeypatch.setattr(loop, "evaluate", lambda net, split, **options: next(given))
    recipe = replace(RECIPE, epochs=5, patience=2)
    run = train(task, tmp_path, recipe)
    assert len(run.history) == epochs
    assert len(train(task, tmp_path, recipe).history) == epochs, "resumed, it is still at its end"


def test_run_of_version_1_goes_on(task, tmp_path):
    undisturbed = train(task, tmp_path / "whole")
    cut_short(task, tmp_path / "cut", RECIPE, epoch=2)
    content = checkpoint.read(tmp_path / "cut" / LAST)
    old = {name: value for name, value in content.items() if name not in ("kind", "tally")}
    old |= {"celif": 1, "random": content["random"][0]}
    state = {int(key): value for key, value in old["optimizer"]["state"].items()}
    old["optimizer"] = {**old["optimizer"], "state": state}
    known = ("epochs", "batch", "lr", "warmup", "weight_decay", "clip", "seed")
    old["recipe"] = {name: old["recipe"][name] for name in known}
    old["network"] = {name: old["network"][name] for name in VERSION_1}
    for epoch in old["history"]:
        del epoch["rates"]
    (tmp_path / "cut" / LAST).unlink()
    torch.save(old, tmp_path / "cut" / "last.pt")
    with pytest.raises(ValueError, match=r"found last\.pt of an earlier one; convert it with"):
        train(task, tmp_path / "cut")
    old_checkpoint.convert(tmp_path / "cut" / "last.pt")
    resumed = train(task, tmp_path / "cut")
    assert_same_weights(resumed.net, undisturbed.net)
    with (tmp_path / "cut" / "metrics.csv").open() as f:
        rows = list(csv.DictReader(f))
    assert [row["rates"] == "" for row in rows] == [True, True, False]
    assert [float(row["seconds"]) for row in rows] == [h["seconds"] for h in resumed.history]


def test_run_keeps_where_its_weights_came_from(task, tmp_path):
    cut_short(task, tmp_path, RECIPE, 1, origin="other.safetensors")
    assert json.loads((tmp_path / "config.json").read_text())["origin"] == "other.safetensors"
    train(task, tmp_path)
    for name in (LAST, BEST):
        assert checkpoint.read(tmp_path / name)["origin"] == "other.safetensors"


def test_any_module_is_trained(task, tmp_path):
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(10, 2))
    recipe = Recipe(epochs=8, batch=16, lr=0.05)
    run = Trainer(net, task, recipe, tmp_path)
    assert evaluate(run.run(), task.test) > 0.9
    assert run.history[-1]["rates"] == []
    again = Trainer(
        torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(10, 2)), task, recipe, tmp_path
    )
    assert again.resume()
    assert_same_weights(again.run(), net)


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
    monkeypatch.setattr(loop, "evaluate", lambda net, split, **options: next(given))
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
    assert set(run.history[0]) >= {"loss", "accuracy", "validation", "skipped", "rates"}
    with (tmp_path / "metrics.csv").open() as f:
        rows = list(csv.DictReader(f))
    assert [int(row["epoch"]) for row in rows] == [1, 2, 3]
    assert [float(row["validation"]) for row in rows] == [h["validation"] for h in run.history]
    config = json.loads((tmp_path / "config.json").read_text())
    assert config["network"] == run.net.config.plain()
    assert config["recipe"] == asdict(RECIPE)
    assert config["machine"]["versions"]["torch"].split("+")[0] == torch.__version__.split("+")[0]
    assert set(config["machine"]) >= {"commit", "cpu", "python", "date"}


def test_training_learns(task, tmp_path):
    run = train(task, tmp_path, Recipe(epochs=12, batch=16, lr=0.02))
    assert evaluate(run.net, task.test) > 0.8
    assert run.history[-1]["loss"] < 0.7 * run.history[0]["loss"]


def test_evaluate_counts_hits_and_restores_the_mode(task):
    net = start(task, (6, 5), RECIPE, dropout=0.5).train()
    hits = (net.eval()(task.test.x).argmax(1) == task.test.y).float().mean()
    assert evaluate(net.train(), task.test, batch=7) == pytest.approx(hits.item())
    assert net.training


def test_progress_counts_epochs_and_steps(task, tmp_path):
    seen: list[Progress] = []
    train(task, tmp_path, replace(RECIPE, epochs=2), seen.append)
    assert [(p.epoch, p.step) for p in seen] == [
        *((0, 1), (0, 2), (0, 3), (0, 4), (1, 4)),
        *((1, 1), (1, 2), (1, 3), (1, 4), (2, 4)),
    ]
    assert all((p.epochs, p.steps) == (2, 4) for p in seen)
    assert [p.validation is not None for p in seen] == [False] * 4 + [True] + [False] * 4 + [True]
    assert all(p.rate is not None and 0 < p.rate < 1 for p in seen)
    assert all(p.steps_per_second is not None and p.steps_per_second > 0 for p in seen)
    assert seen[-1].seconds_left == 0 < seen[0].seconds_left


def test_looking_at_firing_rates_changes_nothing(task, tmp_path, monkeypatch):
    seen = train(task, tmp_path / "seen")
    monkeypatch.setattr(loop, "look", lambda net, x, tally: None)
    unseen = train(task, tmp_path / "unseen")
    assert seen.history[0]["rates"]
    assert not unseen.history[0]["rates"]
    assert_same_weights(seen.net, unseen.net)
