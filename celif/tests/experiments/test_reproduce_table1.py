"""``table1`` and ``equal-time``: who learns more for the same, and what was not run is said."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from matplotlib import pyplot as plt

from celif.experiments.accuracy import table1, table1_claims
from celif.experiments.machinery.compared_models import make, silence_feedback
from celif.experiments.machinery.experiment import Settings
from training import checkpoint, tasks
from training.trainer.loop import start
from training.trainer.recipe import Recipe


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two models, a sweep of two rates."""
    budget = table1.TrainingBudget((1e-3, 1e-2), trial=2, epochs=4, batch=64)
    monkeypatch.setattr(table1, "SHORT", replace(table1.SHORT, budget=budget))
    monkeypatch.setattr(table1, "QUICK", (table1.QUICK[0], table1.QUICK[2]))


@pytest.mark.usefixtures("short")
def test_celif_beats_recurrent_lif_at_equal_epochs_and_sweep(tmp_path: Path) -> None:
    outcome = table1.run(Settings(tmp_path, quick=True))
    celif, lif = outcome.rows
    assert celif.ours is not None
    assert lif.ours is not None
    assert celif.ours > lif.ours + 20
    # To beat a model that is still at chance is nothing to claim.
    learnt = lif.ours > table1_claims.LEARNT
    assert [claim.holds for claim in outcome.claims] == [True] * learnt
    assert (celif.paper, lif.paper) == (98.19, 84.14)
    # 0.01 learns faster than 0.001 in two epochs, and is the one that validation chose.
    assert outcome.numbers["CE-LIF feedforward, digits"]["rate"] == 1e-2
    # Finished training runs are shown, whatever is chosen to be run now.
    later = table1.run(Settings(tmp_path, quick=True, minutes=0.0))
    assert [row.ours for row in later.rows] == [celif.ours, lif.ours]


def test_a_budget_of_a_models_own_decides_its_recipe(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    budget = table1.TrainingBudget((2e-3,), 0, 1, 360, average=0.9, adversarial=0.05)
    model = replace(table1.QUICK[0], hidden=(8,), budget=budget)
    monkeypatch.setattr(table1, "QUICK", (model,))
    table1.run(Settings(tmp_path, quick=True))
    (run,) = tmp_path.glob("*/run.json")
    recipe = json.loads(run.read_text())["recipe"]
    expected = {"lr": 2e-3, "epochs": 1, "batch": 360, "average": 0.9, "adversarial": 0.05}
    assert {name: recipe[name] for name in expected} == expected
    assert str(budget) == (
        "1 epochs of batch 360 at a rate of 0.002, weights averaged with a decay of 0.9, "
        "adversarial inputs of size 0.05"
    )


@pytest.mark.usefixtures("short")
def test_what_was_not_run_is_shown_as_such(tmp_path: Path) -> None:
    outcome = table1.run(Settings(tmp_path, quick=True, only=("CE-LIF-feedforward-0.001",)))
    assert [row.ours for row in outcome.rows] == [None, None]
    assert outcome.rows[0].note == "not run"  # 0.001 is swept, 0.01 is not
    assert outcome.rows[1].note == "not run"
    assert outcome.claims == []


def test_artificial_networks_are_no_spiking_rivals() -> None:
    labels = [model.label for model in table1.QUICK]
    assert {"LSTM", "TCN"} < set(labels)
    rows = [table1.Row(f"{label}, digits", 90.0 if label == "TCN" else 60.0) for label in labels]
    rows[0] = table1.Row("CE-LIF feedforward, digits", 80.0)
    (claim,) = table1_claims.claims(rows, ("digits",))
    assert claim.holds


def test_rows_of_one_network_share_its_trials(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    budget = table1.TrainingBudget((1e-3, 1e-2), trial=1, epochs=1, batch=360)
    model = replace(table1.QUICK[0], hidden=(8,), budget=budget)
    longer = replace(model, budget=replace(budget, epochs=2), how="longer")
    monkeypatch.setattr(table1, "QUICK", (model, longer))
    outcome = table1.run(Settings(tmp_path, quick=True))
    runs = {path.parent.name: json.loads(path.read_text()) for path in tmp_path.glob("*/run.json")}
    assert len(runs) == 4  # two trials, two runs
    assert [len(runs[name]["history"]) for name in sorted(runs) if "sweep" in name] == [1, 1]
    assert len({one["rate"] for one in outcome.numbers.values()}) == 1
    assert [row.what for row in outcome.rows] == [
        "CE-LIF feedforward [8], digits", "CE-LIF feedforward [8], longer, digits"
    ]  # fmt: skip


def test_recurrent_celif_rows_have_the_papers_parameters() -> None:
    few = tasks.Split(torch.rand(1, 1, 784), torch.zeros(1).long())
    task = tasks.Task("seq-mnist", few, few, few, classes=10)
    rows = [model for model in table1.TABLE if model.name == "CE-LIF" and model.recurrent]
    nets = [make("CE-LIF", task, model.hidden or (), Recipe(), True) for model in rows]
    assert [net.num_parameters for net in nets] == [158_386, 181_378, 181_378, 181_378]


def test_a_recurrent_network_begins_as_the_feedforward_one_that_it_is_given(tmp_path: Path) -> None:
    task, recipe, hidden = tasks.load("digits"), Recipe(), (12, 12)
    feedforward = start(task, hidden, recipe).eval()
    checkpoint.save(tmp_path / "net.safetensors", feedforward)
    given = ("CE-LIF", task, hidden, replace(recipe, seed=1), True)
    begun = make(*given, start_from=tmp_path / "net.safetensors").eval()
    fresh = make(*given).eval()
    x = task.test.x[:50]
    assert feedforward(x).std(0).max() > 0  # it fires
    assert torch.equal(begun(x), feedforward(x))
    assert not torch.equal(fresh(x), feedforward(x))
    with torch.no_grad():
        begun.recurrent["0"].weight.uniform_()
        begun.recurrent["0"].bias.fill_(0.1)
    assert not torch.equal(begun(x), feedforward(x))
    other = start(task, hidden, recipe, beta=0.98)
    checkpoint.save(tmp_path / "other.safetensors", other)
    with pytest.raises(ValueError, match=r"other\.safetensors: expected .* found another beta"):
        make(*given, start_from=tmp_path / "other.safetensors")
    silence_feedback(begun)
    assert not torch.equal(begun(x), feedforward(x))  # the bias stays
    begun.recurrent["0"].bias.data.zero_()
    assert torch.equal(begun(x), feedforward(x))


def test_a_row_begun_from_a_stored_network_tells_what_feedback_is_worth(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    task, recipe, hidden = tasks.load("digits"), Recipe(epochs=2, lr=1e-2), (12, 12)
    monkeypatch.setattr(table1, "MODELS", tmp_path)
    budget = table1.TrainingBudget((5e-3,), 0, 1, 64, start_from="net")
    model = replace(table1.QUICK[0], recurrent=True, hidden=hidden, budget=budget)
    monkeypatch.setattr(table1, "QUICK", (model,))
    (row,) = table1.run(Settings(tmp_path / "run", quick=True)).rows
    assert (row.ours, row.note) == (None, "not run")  # the stored network is not there

    def begun(seed: int) -> table1.Row:
        net = start(task, hidden, replace(recipe, seed=seed))
        checkpoint.save(tmp_path / "net.safetensors", net)
        (row,) = table1.run(Settings(tmp_path / "run", quick=True)).rows
        return row

    rows = [begun(seed) for seed in (0, 1)]
    folders = sorted((tmp_path / "run").glob("*/run.json"))
    assert len(folders) == 2  # other weights, another run
    runs = [json.loads(path.read_text()) for path in folders]
    assert all(run["control"] != run["score"] for run in runs)
    assert {row.ours for row in rows} == {100 * run["score"] for run in runs}
    told = {row.note.rpartition("at chance, ")[2].rpartition("0.005, ")[2] for row in rows}
    assert told == {f"{100 * run['control']:.2f} % without its feedback" for run in runs}

    # A finished run without its control is measured again, not trained.
    for path, run in zip(folders, runs, strict=True):
        path.write_text(json.dumps({**run, "control": None, "commit": "former"}))
    assert begun(1) == rows[1]
    found = [json.loads(path.read_text()) for path in folders]
    (measured,) = (run for run in found if run["control"] is not None)
    assert measured["commit"] == "former"
    assert {**measured, "commit": runs[0]["commit"]} in runs


def test_networks_of_the_repository_are_measured_or_said_to_be_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = tasks.Split(torch.rand(4, 1, 784), torch.arange(4))
    task = tasks.Task("seq-mnist", few, few, few, classes=10)
    row = table1.stored("seq-mnist-88", task)
    assert row.ours in (0, 25, 50, 75, 100)
    assert row.paper == 98.19
    assert row.note == (
        "83,562 parameters; images as they are, chosen on validation data, one finished run"
    )
    monkeypatch.setattr(table1, "MODELS", tmp_path)
    missing = table1.stored("seq-mnist-88", task)
    assert missing.ours is None
    assert missing.note == "not run: models/seq-mnist-88.safetensors is not there"


def test_trial_of_a_rate_takes_its_share_of_the_images(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    budget = table1.TrainingBudget((1e-3, 1e-2), trial=0.5, epochs=1, batch=64)
    monkeypatch.setattr(table1, "SHORT", replace(table1.SHORT, budget=budget))
    monkeypatch.setattr(table1, "QUICK", table1.QUICK[:1])
    samples: dict[str, int] = {}
    train = table1.Sitting.train

    def watched(self, name, make, task, recipe, measured=False, **options):
        samples[name] = len(task.train)
        return train(self, name, make, task, recipe, measured, **options)

    monkeypatch.setattr(table1.Sitting, "train", watched)
    table1.run(Settings(tmp_path, quick=True))
    trial, _, whole = samples.values()
    assert whole == len(tasks.load("digits").train)
    assert abs(trial - whole / 2) <= budget.batch / 2
