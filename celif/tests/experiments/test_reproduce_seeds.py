"""``seeds``: the mean of the seeds that are finished, and the run at the paper's rate."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from matplotlib import pyplot as plt

from celif.experiments.accuracy import seeds
from celif.experiments.machinery.experiment import Settings
from training.trainer import presets


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def test_seeds_differ_in_the_seed_alone_and_the_other_run_has_the_papers_rate() -> None:
    preset = presets.get("seq-mnist-88")
    *ours, papers = seeds.recipes(preset).values()
    assert [recipe.seed for recipe in ours] == [0, 1, 2]
    assert len({(recipe.lr, recipe.epochs, recipe.batch) for recipe in ours}) == 1
    assert (papers.lr, papers.batch, papers.seed, papers.schedule) == (5e-4, 256, 0, "step")
    # The rate of the authors' later code: times 0.8 after every ten epochs.
    assert [papers.lr_at(done / 30) for done in (0, 9, 10, 29)] == pytest.approx(
        [5e-4, 5e-4, 4e-4, 3.2e-4]
    )


def test_a_mean_is_of_the_finished_seeds_and_says_so(tmp_path: Path) -> None:
    part = seeds.run(Settings(tmp_path, quick=True, only=("seed-0", "seed-2")))
    ours, papers = part.rows
    scores = [
        100 * json.loads((tmp_path / f"digits-seed-{seed}" / "run.json").read_text())["score"]
        for seed in (0, 2)
    ]
    assert min(scores) > 80
    assert scores[0] != scores[1]
    assert ours.ours == pytest.approx(sum(scores) / 2)
    assert ours.spread == pytest.approx(abs(scores[0] - scores[1]) / 2**0.5)
    assert ours.note.startswith("2 of 3 seeds: ")
    assert (papers.ours, papers.note) == (None, "not run")
    assert part.claims == []  # the paper has no digits
