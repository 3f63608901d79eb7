"""The ablation's claim, at a budget for tests: what enters the threshold decides what is learnt."""

from __future__ import annotations

from pathlib import Path

from pipeline.experiments import ablation
from training import tasks
from training.recipe import Recipe


def test_v_times_te_beats_s_at_equal_budget_and_the_run_resumes(tmp_path: Path) -> None:
    task, recipe = tasks.load("digits"), Recipe(epochs=6, batch=64)
    given = (("s", "v*te"), task, (32, 32), recipe, (0,), tmp_path)
    runs = ablation.compare(*given)
    scores = {name: each[0].score for name, each in runs.items()}
    assert scores["v*te"] > scores["s"] + 0.3
    # A second call finds the trainings finished: same numbers, nothing trained anew.
    again = ablation.compare(*given)
    assert [each[0].history for each in again.values()] == [
        each[0].history for each in runs.values()
    ]
