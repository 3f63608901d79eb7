"""The ablation's claim, at a budget for tests: what enters the threshold decides what is learnt."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from matplotlib import pyplot as plt

from celif.experiments.embeddings import ablation
from celif.experiments.machinery.runs import Trained
from celif.verification.float_run import run_float
from export import ModelError, to_netx
from training import Network, tasks
from training.trainer.recipe import Recipe


def test_v_times_te_beats_s_at_equal_budget_and_the_run_resumes(tmp_path: Path) -> None:
    task, recipe = tasks.load("digits"), Recipe(epochs=6, batch=64)
    given = (("s", "v*te"), task, (32, 32), recipe, (0,), tmp_path)
    runs = ablation.compare(*given)
    scores = {name: each[0].score for name, each in runs.items()}
    assert scores["v*te"] > scores["s"] + 0.3
    # A second call finds the training runs finished: same numbers, nothing trained again.
    again = ablation.compare(*given)
    assert [each[0].history for each in again.values()] == [
        each[0].history for each in runs.values()
    ]


def test_ranks_are_compared_with_the_papers() -> None:
    order = sorted(ablation.PAPER, key=lambda name: ablation.PAPER[name][0])
    means = {name: float(place) for place, name in enumerate(order)}
    assert ablation.rank_correlation(means) == pytest.approx(1)
    swapped = {**means, order[0]: means[order[1]], order[1]: means[order[0]]}
    assert ablation.rank_correlation(swapped) == pytest.approx(1 - 6 * 2 / (6 * 35))


def test_contexts_that_diverged_or_were_not_run_leave_the_figure_without_their_curves() -> None:
    def trained(*curve: float) -> Trained:
        history = [{"validation": value, "rates": [0.1], "loss": 1.0} for value in curve]
        return Trained("", history, curve[-1] if curve else None, 1)

    runs = {"s": [trained()], "te": [], "v*te": [trained(0.8, 0.9), trained(0.8, 0.9, 0.95)]}
    figure, (left, right) = plt.subplots(1, 2)
    ablation.draw(left, right, runs, "seq-mnist")
    assert [list(line.get_ydata()) for line in right.get_lines()] == [[80, 90]]
    assert [text.get_text() for text in right.texts] == ["V⊙TE"]
    assert ablation.fires(trained()) == "diverged"
    plt.close(figure)


def test_names_of_lines_stay_apart_and_inside_the_axes() -> None:
    ends = {"a": 97.5, "b": 30.0, "c": 95.0, "d": 97.0, "e": 95.5, "f": 33.0}
    heights = ablation.apart(ends, 7, 102)
    order = sorted(ends, key=lambda name: ends[name])
    values = [heights[name] for name in order]
    assert min(after - before for before, after in pairwise(values)) >= 7
    assert max(values) <= 102
    assert (heights["b"], heights["f"]) == (30, 37)


def test_states_of_other_contexts_are_refused_and_not_those_of_v_times_te() -> None:
    net = Network(1, (4,), 2, 64, context="s*te")
    with pytest.raises(ValueError, match=r"network context: expected v\*te.*got 's\*te'"):
        run_float(net, tasks.load("digits").test.x[:2].numpy())


def test_other_contexts_cannot_be_exported(tmp_path: Path) -> None:
    net = Network(1, (4,), 2, 64, context="s*te")
    with pytest.raises(ModelError, match=r"context: expected v\*te.*got 's\*te'"):
        to_netx(net, tmp_path / "net.net", calibration=tasks.load("digits").test.x[:4])
    assert not (tmp_path / "net.net").exists()
