"""Records of the repository: they are printed in place of a run, and finished runs are reused."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path

import pytest
import torch
from matplotlib import pyplot as plt

from celif.experiments import catalogue
from celif.experiments.machinery import record
from celif.experiments.machinery.budget import Portion
from celif.experiments.machinery.deadline import Sitting
from celif.experiments.machinery.experiment import Experiment, Outcome, Row, Settings
from celif.experiments.machinery.runs import RUN, recorded, train
from celif.tests.run_command import answer
from training import Network, tasks
from training.checkpoint import CheckpointError
from training.support import machine
from training.trainer.evaluation import evaluate
from training.trainer.loop import start
from training.trainer.recipe import Recipe
from training.trainer.run_folder import LAST, METRICS

RECIPE = Recipe(epochs=1, batch=360)
SAMPLES = len(tasks.load("digits").train)


def trained_once(settings: Settings) -> Outcome:
    """Two runs; each call that trains leaves a checkpoint in its folder."""
    sitting, task = Sitting.of(settings), tasks.load("digits")

    def make() -> torch.nn.Module:
        return torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64, 10))

    runs = [sitting.train(f"run-{i}", make, task, RECIPE) for i in range(2)]
    rows = [Row(run.name, float(run.parameters) if run.history else None) for run in runs]
    figure, _ = plt.subplots()
    return Outcome(rows, [], "little", figure)


@pytest.fixture
def invented(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Experiment:
    experiment = Experiment("made-up", "Made up", trained_once, parts=True)
    monkeypatch.setitem(catalogue.EXPERIMENTS, "made-up", experiment)
    monkeypatch.setattr(record, "STORED", tmp_path / "stored")
    (tmp_path / "stored").mkdir()
    return experiment


def keep(found: dict) -> None:
    (record.STORED / "made-up.json").write_text(json.dumps(found))


def test_only_what_the_record_lacks_is_trained(invented: Experiment, tmp_path: Path) -> None:
    first = record.perform(invented, Settings(tmp_path / "a", only=("run-0",)))
    assert [row["ours"] for row in first["rows"]] == [650.0, None]
    assert not record.complete(first)
    keep(first)
    second = record.perform(invented, Settings(tmp_path / "b"))
    assert [row["ours"] for row in second["rows"]] == [650.0, 650.0]
    assert record.complete(second)
    assert not (tmp_path / "b" / "run-0" / LAST).exists()
    assert (tmp_path / "b" / "run-1" / LAST).exists()
    assert second["runs"]["run-0"]["history"] == first["runs"]["run-0"]["history"]
    # Trained again, runs of the record are not taken for runs of one's own.
    last = tmp_path / "b" / "run-1" / LAST
    before = last.stat().st_mtime_ns
    record.perform(invented, Settings(tmp_path / "b", again=True, only=("run-1",)))
    assert (tmp_path / "b" / "run-0" / RUN).exists()
    assert not (tmp_path / "b" / "run-0" / LAST).exists()
    record.perform(invented, Settings(tmp_path / "b", again=True))
    assert (tmp_path / "b" / "run-0" / LAST).exists()
    assert last.stat().st_mtime_ns == before


def test_a_complete_record_is_printed_without_a_run(invented: Experiment, tmp_path: Path) -> None:
    keep(record.perform(invented, Settings(tmp_path / "a")))
    found = answer("reproduce", "made-up", "--out", tmp_path / "b")
    assert [row["ours"] for row in found["rows"]] == [650.0, 650.0]
    assert not (tmp_path / "b").exists()
    answer("reproduce", "made-up", "--again", "--out", tmp_path / "b")
    assert (tmp_path / "b" / "run-0" / LAST).exists()


def test_a_complete_record_comes_before_results_of_ones_own(
    invented: Experiment, tmp_path: Path
) -> None:
    keep(record.perform(invented, Settings(tmp_path / "a")))
    answer("reproduce", "made-up", "--again", "--out", tmp_path / "b")
    changed = json.loads((record.STORED / "made-up.json").read_text())
    changed["rows"][0]["ours"] = 649.0
    keep(changed)
    found = answer("reproduce", "made-up", "--out", tmp_path / "b")
    assert found["rows"] == changed["rows"]
    # Runs that are asked for are trained, or loaded if they are there.
    found = answer("reproduce", "made-up", "--out", tmp_path / "b", "--only", "run-1")
    assert [row["ours"] for row in found["rows"]] == [650.0, 650.0]


def test_a_run_of_another_length_of_an_epoch_is_not_taken(
    invented: Experiment, tmp_path: Path
) -> None:
    record.perform(invented, Settings(tmp_path / "a"))
    folder, net = tmp_path / "a" / "run-0", torch.nn.Linear(64, 10)
    assert recorded(folder, RECIPE, net, SAMPLES) is not None
    assert recorded(folder, RECIPE, net, SAMPLES // 5) is None
    content = json.loads((folder / RUN).read_text())
    del content["samples"]  # as in records of earlier versions
    (folder / RUN).write_text(json.dumps(content))
    assert recorded(folder, RECIPE, net, SAMPLES // 5) is not None


def test_a_run_by_another_recipe_is_not_taken(invented: Experiment, tmp_path: Path) -> None:
    record.perform(invented, Settings(tmp_path / "a"))
    folder = tmp_path / "a" / "run-0"
    net = torch.nn.Linear(64, 10)
    assert recorded(folder, RECIPE, net, SAMPLES) is not None
    assert recorded(folder, Recipe(**{**asdict(RECIPE), "lr": 1e-4}), net, SAMPLES) is None


def test_a_folder_that_is_trained_anew_keeps_nothing_of_another_recipe(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    task, recipe = tasks.load("digits"), Recipe(epochs=2, batch=64, lr=1e-2)
    first = train("run", start(task, (16,), RECIPE), task, RECIPE, tmp_path)
    (tmp_path / "run" / LAST).unlink()  # as in a folder that was filled from a record

    # A run that is not trained now is not told by the other recipe's curve and score.
    late, again = Sitting(tmp_path, only=("other",)), replace(RECIPE, lr=1e-2)
    unknown = late.train("run", lambda: start(task, (16,), again), task, again)
    assert (unknown.history, unknown.score, unknown.finished) == ([], None, False)
    known = late.train("run", lambda: start(task, (16,), RECIPE), task, RECIPE)
    assert (known.history, known.score) == (first.history, first.score)

    # One that is stopped at once leaves nothing of it behind.
    monkeypatch.setattr(Sitting, "over", property(lambda sitting: True))
    none = train("run", start(task, (16,), again), task, again, tmp_path, report=late.report)
    assert (none.history, none.score, none.finished) == ([], None, False)
    assert not (tmp_path / "run" / METRICS).exists()
    monkeypatch.undo()

    first = train("other", start(task, (16,), RECIPE), task, RECIPE, tmp_path)
    (tmp_path / "other" / LAST).unlink()
    net = start(task, (16,), recipe)
    second = train("other", net, task, recipe, tmp_path)
    assert second.score == evaluate(net, task.test) != first.score
    assert len(second.spent) == 2


def test_a_run_without_weights_that_is_trained_again_has_its_own_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = tasks.load("digits")
    train("run", start(task, (4,), RECIPE), task, RECIPE, tmp_path, measured=False)
    (tmp_path / "run" / LAST).unlink()
    monkeypatch.setattr(machine, "describe", lambda: {"commit": "later"})
    again = train("run", start(task, (4,), RECIPE), task, RECIPE, tmp_path, measured=False)
    assert again.commit == "later"


def test_a_run_of_another_network_is_not_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = tasks.load("digits")

    def net(**options: float) -> Network:
        return start(task, (4,), RECIPE, **options)

    train("run", net(beta=0.98), task, RECIPE, tmp_path, measured=False)
    assert recorded(tmp_path / "run", RECIPE, net(beta=0.98), len(task.train)) is not None
    assert recorded(tmp_path / "run", RECIPE, net(beta=0.99), len(task.train)) is None
    monkeypatch.setattr(machine, "describe", lambda: {"commit": "later"})
    again = train("run", net(beta=0.98), task, RECIPE, tmp_path, measured=False)
    assert again.commit != "later"  # it was loaded, not trained
    assert recorded(tmp_path / "run", RECIPE, torch.nn.Linear(3, 3), len(task.train)) is None
    # Neither is one that was stopped, whose record is not there yet.
    (tmp_path / "run" / RUN).unlink()
    late = Sitting(tmp_path, only=("other",))
    assert len(late.train("run", lambda: net(beta=0.98), task, RECIPE).history) == 1
    assert late.train("run", lambda: net(beta=0.99), task, RECIPE).history == []


def test_a_run_on_fewer_samples_is_not_taken_for_one_on_all(tmp_path: Path) -> None:
    task = tasks.load("digits")
    few = replace(task, train=Portion.of(task.train, 0.3, RECIPE.batch))

    def net() -> Network:
        return start(task, (4,), RECIPE)

    train("run", net(), few, RECIPE, tmp_path)
    late = Sitting(tmp_path, only=("other",))
    assert late.train("run", net, few, RECIPE).finished
    assert late.train("run", net, task, RECIPE).history == []
    with pytest.raises(CheckpointError, match="same samples as the run began with, 360, got 1293"):
        train("run", net(), task, RECIPE, tmp_path)
    # Nor is its record overwritten by one that says so.
    assert json.loads((tmp_path / "run" / RUN).read_text())["samples"] == len(few.train)
    (tmp_path / "run" / RUN).unlink()  # as if it had been stopped
    assert len(late.train("run", net, few, RECIPE).history) == 1
    assert late.train("run", net, task, RECIPE).history == []


def test_a_finished_run_is_not_lengthened(tmp_path: Path) -> None:
    task, longer = tasks.load("digits"), replace(RECIPE, epochs=2)
    train("run", start(task, (4,), RECIPE), task, RECIPE, tmp_path)
    with pytest.raises(ValueError, match="expected a run of 2 epochs, found one of 1"):
        train("run", start(task, (4,), longer), task, longer, tmp_path)
    assert json.loads((tmp_path / "run" / RUN).read_text())["recipe"]["epochs"] == 1
