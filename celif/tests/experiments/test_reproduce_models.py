"""Experiments that compare models: each one's claim, at a budget for tests."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from matplotlib import pyplot as plt
from torch import nn

from celif.experiments import evolution, landscape
from celif.experiments.machinery.compared_models import make
from celif.experiments.machinery.experiment import Settings
from training import tasks
from training.trainer.recipe import Recipe


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def test_spiking_output_of_the_digit_fires_most(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(evolution, "Recipe", lambda **given: Recipe(epochs=6, batch=64))
    outcome = evolution.run(Settings(tmp_path, quick=True))
    assert [claim.holds for claim in outcome.claims] == [True]
    rates = outcome.numbers["rates"]
    assert rates["own"] > 2 * rates["others"] > 0


def test_context_is_te_times_the_membrane_one_step_before() -> None:
    net = evolution.Network(1, (3,), 2, 4)
    v = np.arange(1.0, 13.0, dtype=np.float32).reshape(1, 3, 4)
    te = net.te_table.detach().numpy()
    expected = te * np.array([[0, 1, 2, 3], [0, 5, 6, 7], [0, 9, 10, 11]], np.float32)
    np.testing.assert_array_equal(evolution.context(net, v)[0], expected)


def test_directions_have_the_norm_of_each_filter() -> None:
    torch.manual_seed(0)
    net = nn.Linear(5, 3)
    weight, bias = landscape.direction(net, torch.Generator().manual_seed(0))
    torch.testing.assert_close(weight.norm(dim=1), net.weight.detach().norm(dim=1))
    torch.testing.assert_close(bias.norm(), net.bias.detach().norm())


def test_surface_has_the_loss_in_its_middle_and_leaves_the_network_as_it_is() -> None:
    torch.manual_seed(0)
    net, x, y = nn.Linear(5, 3), torch.rand(7, 5), torch.randint(0, 3, (7,))
    before = [p.clone() for p in net.parameters()]
    losses = landscape.surface(net, x, y, points=3)
    assert losses[1, 1] == pytest.approx(nn.functional.cross_entropy(net(x), y).item())
    assert len(np.unique(losses)) == 9
    assert all(torch.equal(a, b) for a, b in zip(before, net.parameters(), strict=True))


def test_constants_of_neurons_are_not_moved() -> None:
    net = make("ALIF", tasks.load("digits"), (6, 5), Recipe(), recurrent=True)
    moved = landscape.direction(net, torch.Generator().manual_seed(0))
    still = {name for (name, _), by in zip(net.named_parameters(), moved, strict=True)
             if not by.any()}  # fmt: skip
    assert still == {name for name, _ in net.named_parameters() if name.startswith("neurons.")}
    assert still


def test_landscape_measures_every_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(landscape, "Recipe", lambda **given: Recipe(epochs=4, batch=64))
    outcome = landscape.run(Settings(tmp_path, quick=True))
    values = {row.what: row.ours or 0.0 for row in outcome.rows}
    assert values["CE-LIF: test accuracy"] > values["LIF: test accuracy"] + 20
    rough = [values[f"{name}: roughness"] for name in landscape.MODELS]
    assert all(each > 0 for each in rough)
    bent = [values[f"{name}: mean bend"] for name in landscape.MODELS]
    assert [claim.holds for claim in outcome.claims] == [
        bent[2] == min(bent),
        rough[2] == min(rough),
    ]


def test_roughness_is_that_of_the_bends_not_of_the_slope_or_the_scale() -> None:
    a, b = np.meshgrid(np.linspace(-1, 1, 9), np.linspace(-1, 1, 9))
    bowl, noise = a**2 + b**2, np.random.default_rng(0).normal(0, 0.1, (9, 9))
    assert landscape.roughness(a + b) == pytest.approx(0, abs=1e-12)
    assert landscape.roughness(bowl) == pytest.approx(0.125 / 2)  # by hand: 2·0.25² over 2
    assert landscape.roughness(10 * bowl) == pytest.approx(landscape.roughness(bowl))
    assert landscape.roughness(bowl + noise) > 1.4 * landscape.roughness(bowl)
