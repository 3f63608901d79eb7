"""The adding problem and copy memory: their claims, at a budget for tests, stopped and resumed."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from matplotlib import pyplot as plt

from celif.experiments.machinery.deadline import Sitting
from celif.experiments.machinery.experiment import Settings
from celif.experiments.machinery.runs import Trained
from celif.experiments.memory import contest, equal_trials, long_memory
from celif.experiments.memory.long_memory import ADDING, COPY
from training import tasks
from training.trainer import presets
from training.trainer.presets import Preset
from training.trainer.recipe import Recipe
from training.trainer.run_folder import METRICS

ADD_12 = Preset("adding-12", (32, 32), Recipe(epochs=4, batch=256, lr=1e-2, weight_decay=0.0))


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def test_celif_learns_to_add_before_alif(tmp_path: Path) -> None:
    found = contest.contest(12, ADD_12, 32, Sitting(tmp_path), names=("CE-LIF", "ALIF"))
    celif, alif = found.loss("CE-LIF"), found.loss("ALIF")
    assert celif is not None
    assert alif is not None
    assert celif < 0.75 * ADDING.baseline(12)
    assert celif < alif


def test_celif_recalls_before_alif(tmp_path: Path) -> None:
    copy = presets.get("copy-20")
    preset = replace(copy, hidden=(32, 64), recipe=replace(copy.recipe, epochs=3))
    found = contest.contest(20, preset, 32, Sitting(tmp_path), names=("CE-LIF", "ALIF"))
    celif, alif = found.loss("CE-LIF"), found.loss("ALIF")
    assert celif is not None
    assert alif is not None
    assert celif < 0.95 * COPY.baseline(20)  # below it only memory leads
    assert celif < alif


def test_baselines_are_the_papers() -> None:
    assert ADDING.baseline(100) == pytest.approx(0.167, abs=5e-4)
    assert COPY.baseline(100) == pytest.approx(10 * np.log(8) / 120)
    assert COPY.solved(100) == pytest.approx(COPY.baseline(100) / 10)


def test_stopped_trainings_are_reported_and_go_on_to_the_same_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe = Recipe(epochs=2, batch=1600, weight_decay=0.0)
    problem = replace(ADDING, quick=Preset("adding-12", (8,), recipe))
    whole = long_memory.run(problem, Settings(tmp_path / "whole", quick=True))
    assert not any("stopped" in row.note for row in whole.rows)

    # The time is up once CE-LIF has an epoch on disk.
    epoch_done = (tmp_path / "cut" / "adding-12-CE-LIF" / METRICS).is_file
    monkeypatch.setattr(Sitting, "over", property(lambda sitting: epoch_done()))
    stopped = long_memory.run(problem, Settings(tmp_path / "cut", quick=True, minutes=1.0))
    notes = [row.note for row in stopped.rows]
    assert re.fullmatch(
        r"stopped after 4 of 8 steps, 129 parameters, \d\.\d{4} on held-out samples", notes[0]
    )
    assert notes[1:] == ["not begun", "not begun"]
    assert stopped.claims == []
    monkeypatch.undo()

    chosen = Settings(tmp_path / "cut", quick=True, only=("CE-LIF", "ALIF"))
    rest = long_memory.run(problem, chosen)
    assert all(
        re.fullmatch(r"1\d\d parameters, \d\.\d{4} on held-out samples", row.note)
        for row in rest.rows[:2]
    )
    assert rest.rows[2].note == "not begun"
    assert [row.ours for row in rest.rows[:2]] == [row.ours for row in whole.rows[:2]]


def test_rows_of_another_budget_say_theirs_and_the_record_has_what_was_tried(
    tmp_path: Path,
) -> None:
    found = long_memory.run(COPY, Settings(tmp_path, minutes=0.0))
    notes = {row.what: row.note for row in found.rows}
    assert found.budget.startswith("5,000 steps of batch 64 where not said otherwise")
    assert notes["CE-LIF, T = 200: loss"] == "not begun"
    assert notes["CE-LIF, T = 400: loss"] == "not begun, 3,000 steps of batch 256"
    assert [what for what in notes if what.startswith("ALIF")] == ["ALIF, T = 100: loss"]
    tried = found.numbers["tried"]
    assert {trial["task"] for trial in tried} == {"copy-200", "copy-400", "copy-500"}
    said = " ".join(found.trials)
    assert all(f"{trial['recipe']}: {trial['loss']:g}" in said for trial in tried)


def test_models_train_by_the_best_of_their_trials(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe = Recipe(epochs=2, batch=1600, weight_decay=0.0)
    preset = Preset("adding-12", (8, 8), recipe)
    monkeypatch.setattr(equal_trials.presets, "get", lambda name: preset)
    monkeypatch.setattr(equal_trials, "TRIALS", ((1e-3, 1.0), (1e-9, 1.0)))
    monkeypatch.setattr(equal_trials, "TRIAL_EPOCHS", {"adding": 1})
    sitting = Sitting(tmp_path)
    names = (*equal_trials.NAMES, equal_trials.EQUAL)
    tried = {name: equal_trials.trials("adding", name, 8, sitting) for name in names}
    found = contest.contest(12, preset, 8, sitting, tried, ("CE-LIF", *names))
    assert found.tuned == dict.fromkeys(names, "rate 0.001, clip 1")
    assert [found.recipes[name].lr for name in found.runs] == [recipe.lr, 1e-3, 1e-3, 1e-3]
    assert all(len(run.history) == 2 for run in found.runs.values())
    losses = [each.loss for each in sorted(tried["LSTM"], key=lambda each: each.loss)]
    assert losses[0] < losses[1]
    assert f"rate 0.001, clip 1: {losses[0]:.3g}; rate 1e-09" in equal_trials.sentence(
        "LSTM", tried["LSTM"], "adding"
    )

    # A rival with a trial missing has no recipe yet: nothing of it is trained.
    part = {"SoftALIF": dict(list(tried["SoftALIF"].items())[:1]), "LSTM": tried["LSTM"]}
    again = contest.contest(12, preset, 8, Sitting(tmp_path / "part"), part)
    assert again.how_far("SoftALIF") == "not begun"
    assert not (tmp_path / "part" / "adding-12-SoftALIF").exists()


def test_celif_tuned_as_the_others_has_the_papers_network_and_their_recipe() -> None:
    preset = replace(presets.get("copy-20"), hidden=(8, 8))
    assert preset.network["width"] == 0.4
    task, chosen = tasks.load("copy-20"), equal_trials.Tuned(3e-3, 0.01, 0.1)
    recipe = chosen.recipe(preset)
    net = equal_trials.network(equal_trials.EQUAL, task, preset, recipe, 8)()
    assert (net.config["width"], net.config["beta"]) == (0.2, 1 - 1 / 20)
    assert (recipe.te_lr, recipe.te_update) == (1.0, "entries")
    assert preset.recipe.te_lr != 1
    # Losses by hand: it is compared with what has the same trials, and does not count in the rest.
    names = ("CE-LIF", "SoftALIF", "LSTM", equal_trials.EQUAL)
    runs = {
        name: Trained(name, [{"loss": loss, "validation": 0.1}], None, 1)
        for name, loss in zip(names, (0.2, 0.4, 0.3, 0.5), strict=True)
    }
    short = replace(recipe, epochs=1)
    found = contest.LengthRuns(20, task, runs, dict.fromkeys(names, short), {})
    claims = {claim.text: claim.holds for claim in long_memory._claims(COPY, found, quick=False)}
    assert claims == {
        "T = 20: CE-LIF's loss comes below a tenth of the baseline": False,
        "T = 20: the loss of CE-LIF, equal tuning comes below a tenth of the baseline": False,
        "T = 20: the loss of CE-LIF is at least 5% below SoftALIF and LSTM": True,
        "T = 20: the loss of CE-LIF, equal tuning is at least 5% below SoftALIF and LSTM": False,
    }
    assert long_memory._compared([found]).endswith("CE-LIF, SoftALIF and LSTM 100 at T = 20.")
    # At the baseline the lowest is so by chance.
    runs["CE-LIF"].history[0]["loss"] = 0.295
    claims = {claim.text: claim.holds for claim in long_memory._claims(COPY, found, quick=False)}
    assert not any(claims.values())


def test_models_are_read_alike_and_some_at_the_last_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(contest, "LAST_EPOCHS", 2)
    preset = Preset("adding-12", (8, 8), Recipe(epochs=1, batch=1600, weight_decay=0.0))
    names = ("CE-LIF", "ALIF", "LSTM", "CE-LIF-last", "LSTM-last")
    sitting, read = Sitting(tmp_path), {}
    found = contest.contest(12, preset, 8, sitting, names=names)
    for name in names:
        kept = json.loads((tmp_path / f"adding-12-{name}" / "run.json").read_text())
        read[name] = kept["network"]["readout"]
    assert read == {**dict.fromkeys(names[:3], "mean"), **dict.fromkeys(names[3:], "last")}
    assert [contest.label(name) for name in names[3:]] == [
        "CE-LIF read at the last step", "LSTM read at the last step",
    ]  # fmt: skip
    # Losses by hand: what is read at the last step is compared with its like only.
    for name, loss in zip(names, (0.5, 0.6, 0.7, 0.3, 0.2), strict=True):
        found.runs[name].history[-1]["loss"] = loss
    claims = {claim.text: claim.holds for claim in long_memory._claims(ADDING, found, quick=False)}
    assert claims == {
        "T = 12: CE-LIF's loss comes below 0.01": False,
        "T = 12: the loss of CE-LIF is at least 5% below ALIF": True,
        "T = 12: the loss of CE-LIF is at least 5% below LSTM": True,
        "T = 12: the loss of CE-LIF read at the last step is at least 5% below "
        "LSTM read at the last step": False,
    }


def test_rivals_have_their_own_budget_at_long_lengths() -> None:
    chosen = equal_trials.Tuned(3e-3, 0.01, 0.1)
    for name, epochs, batch in (("copy-200", 30, 64), ("copy-500", 30, 64), ("adding-800", 20, 64)):
        recipe = chosen.recipe(presets.get(name))
        assert (recipe.epochs, recipe.batch, recipe.lr, recipe.clip) == (epochs, batch, 3e-3, 0.01)
        assert (recipe.te_lr, recipe.te_update) == (1.0, "entries")


def test_a_loss_counts_as_below_the_limit_from_where_it_stays_there() -> None:
    preset = presets.get("adding-100")
    losses = [0.2, 0.009, 0.02, 0.008, 0.007]
    history = [{"loss": loss, "validation": 0.0123, "seconds": 1.0} for loss in losses]
    run = Trained("run", history, None, 1)
    found = long_memory.LengthRuns(
        100, tasks.load("adding-100"), {"CE-LIF": run}, {"CE-LIF": preset.recipe}, {}
    )
    (row,) = long_memory._rows(ADDING, found, found.budget("CE-LIF"))
    assert "below 0.01 after 150 steps, 0.0123 on held-out samples" in row.note
