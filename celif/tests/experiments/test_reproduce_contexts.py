"""``contexts``: every contextual embedding has the same trials, and is trained by its best."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from matplotlib import pyplot as plt

from celif.experiments.embeddings import contexts
from celif.experiments.embeddings.ablation import PAPER
from celif.experiments.embeddings.candidates import TRIALS, Candidate, best, trials
from celif.experiments.machinery.experiment import Settings
from celif.experiments.machinery.runs import Trained
from training.trainer.presets import Preset
from training.trainer.recipe import Recipe


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two contexts, a few steps of each."""
    plan = contexts.ContextPlan(
        ("digits",), Preset("digits", (16,), Recipe(epochs=3, batch=32), {"dropout": 0.3}), 2
    )
    monkeypatch.setattr(contexts, "SHORT", plan)
    monkeypatch.setattr(contexts, "CONTEXTS", ("te", "v*te"))


def _runs(out: Path) -> dict[str, dict]:
    return {path.parent.name: json.loads(path.read_text()) for path in out.glob("*/run.json")}


@pytest.mark.usefixtures("short")
def test_every_context_has_the_same_trials_and_is_trained_by_its_best(tmp_path: Path) -> None:
    outcome = contexts.run(Settings(tmp_path, quick=True))
    runs = _runs(tmp_path)
    assert len(runs) == 2 * (len(TRIALS) + 1)
    for context in ("te", "vxte"):
        own = {name for name in runs if name.startswith(f"digits-{context}-") and "epochs" in name}
        assert own == {f"digits-{context}-{trial.folder}-2-epochs" for trial in TRIALS}
    for context, row in zip(("te", "vxte"), outcome.rows, strict=True):
        trials = {trial: runs[f"digits-{context}-{trial.folder}-2-epochs"] for trial in TRIALS}
        validation = {t: run["history"][0]["validation"] for t, run in trials.items()}
        (best,) = (trial for trial in TRIALS if row.note.startswith(f"{trial}; fires at "))
        final = runs[f"digits-{context}-{best.folder}"]
        assert validation[best] == max(validation.values())
        assert (final["recipe"]["lr"], final["recipe"]["te_lr"]) == (best.rate, best.te_lr)
        assert final["recipe"]["te_update"] == best.te_update
        assert final["network"]["width"] == best.width
        assert final["network"]["dropout"] == (0.3 if best.dropout else 0)
        assert row.ours == 100 * final["score"]
        assert sum(final["history"][-1]["rates"]) > 0
        assert all(trial["score"] is None for trial in trials.values())  # not on test data
    assert outcome.claims == []  # of two contexts nothing of the paper's six is claimed
    again = contexts.run(Settings(tmp_path, quick=True, minutes=0.0))
    assert again.rows == outcome.rows


@pytest.mark.usefixtures("short")
def test_a_context_without_all_of_its_trials_is_not_begun(tmp_path: Path) -> None:
    outcome = contexts.run(Settings(tmp_path, quick=True, only=("digits-te", TRIALS[0].folder)))
    te, product = outcome.rows
    assert te.ours is not None
    assert (product.ours, product.note) == (None, "not run")
    assert [name for name in _runs(tmp_path) if "vxte" in name] == [
        f"digits-vxte-{TRIALS[0].folder}-2-epochs"
    ]
    told_te, told_product = outcome.trials
    assert told_te.count("(chosen)") == 1
    assert "chosen" not in told_product
    assert "hardly" not in told_product


def test_a_context_that_diverged_is_right_for_none(tmp_path: Path) -> None:
    epoch = {"validation": 0.1, "seconds": 1.0, "loss": 2.3, "skipped": 0, "rates": [0.1]}
    tried = {trial: Trained("", [epoch], None, 1) for trial in TRIALS}
    tried[TRIALS[4]] = Trained("", [], None, 1)
    runs = {name: Trained("", [], None, 1) for name in contexts.CONTEXTS}
    by_context = {name: {t: tried[t] for t in trials(name)} for name in runs}
    given = {"seq-mnist": runs}, by_context, {"seq-mnist": 860}, contexts.FULL
    outcome = contexts._outcome(*given)
    assert [row.ours for row in outcome.rows[:6]] == [0] * 6
    assert all(row.note.endswith("; diverged; at chance") for row in outcome.rows[:6])
    assert not any(claim.holds for claim in outcome.claims)
    assert len(outcome.claims) == 2
    assert all(f"{TRIALS[4]}: diverged" in trial for trial in outcome.trials)


def test_the_trial_that_validates_best_is_chosen() -> None:
    def tried(*validations: float) -> dict[Candidate, Trained]:
        epochs = [{"validation": value, "seconds": 1.0, "loss": 2.3} for value in validations]
        return {t: Trained("", [e], None, 1) for t, e in zip(TRIALS, epochs, strict=True)}

    low = (0.1,) * 4
    assert [trial.rate for trial in TRIALS] == [1e-3] * 4 + [3e-3] * 4 + [1e-2] * 4
    assert best(tried(0.100, 0.101, 0.105, 0.1, *low, *low)) == TRIALS[2]
    assert best(tried(*low, *low, *low)) == TRIALS[0]
    last = (0.1, 0.1, 0.2, 0.3)
    assert best(tried(*low, *low, *last)) == TRIALS[11]
    diverged = Trained("", [], None, 1)  # the loss overflowed: it has no epoch
    assert best({**tried(*low, *low, *last), TRIALS[11]: diverged}) == TRIALS[10]


def test_contexts_without_te_have_one_trial_of_its_updates_with_each_rate() -> None:
    assert all(trials(name) == TRIALS for name in ("te", "v+te", "s*te", "v*te"))
    assert trials("s") == trials("v")
    assert [trial.dropout for trial in trials("s")] == [True, True, False] * 3


def test_steps_that_were_left_out_are_told() -> None:
    epoch = {"validation": 0.1, "seconds": 1.0, "loss": 2.3}
    runs = {
        context: Trained("", [{**epoch, "skipped": count}] * 2, 0.1, 1)
        for context, count in (("s", 300), ("te", 1))
    }
    (note,) = contexts._skipped({"seq-mnist": runs}, {"seq-mnist": 860})
    assert note.startswith("S on seq-mnist left out 600 of its 1,720 steps")


@pytest.mark.parametrize(("task", "column"), [("seq-mnist", 0), ("ps-mnist", 1)])
def test_claims_are_those_of_the_papers_order(task: str, column: int) -> None:
    order = {name: scores[column] for name, scores in PAPER.items()}

    def held(**changed: float) -> list[bool]:
        scores = {**order, **{name.replace("_", "*"): score for name, score in changed.items()}}
        return [claim.holds for claim in contexts._claims(scores, task)]

    assert held() == [True, True]
    assert held(te=order["v+te"], **{"v+te": order["te"]}) == [True, True]  # as good as equal
    assert held(te=order["v"] - 1) == [False, True]
    assert held(s_te=order["te"] - 1) == [False, True]
    assert held(s_te=order["v*te"] + 1)[1] is False
