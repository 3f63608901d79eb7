"""Updates of the temporal encoding that are not AdamW's of every entry for itself."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from training.network import te_updates
from training.tests.kernels.bursts import HIDDEN, RECIPE, bursts
from training.trainer import setup
from training.trainer.loop import Trainer, start
from training.trainer.recipe import Recipe


def test_encoding_by_rows_moves_most_where_gradients_are_largest():
    task, moved = bursts(), {}
    for way in ("entries", "rows"):
        recipe = Recipe(weight_decay=0.0, te_update=way)
        net = start(task, HIDDEN, recipe)
        before, adam = net.te.detach().clone(), setup.optimiser(net, recipe)
        for _ in range(50):
            net.te.grad = torch.ones_like(net.te)
            net.te.grad[:, 3], net.te.grad[:, 4] = 6.0, -4.0
            te_updates.transform_gradients(net, recipe.te_update)
            adam.step()
        moved[way] = (before - net.te).detach()
    each, together = moved["entries"][0], moved["rows"][0]
    assert each.abs() / each[0] == pytest.approx(torch.ones(task.steps), rel=1e-3)
    # Without their mean of 1 the gradients are 5 and -5 there, and nothing elsewhere.
    assert together[3] == pytest.approx(-together[4], rel=1e-3)
    assert together[[0, 1, 2, 5, 6, 7, 8, 9]].abs().max() < 1e-3 * together[3]
    assert together[3] > 1.5 * each[3]


def test_encoding_by_rows_is_refused_without_a_table(tmp_path):
    task, recipe = bursts(), Recipe(epochs=1, te_update="rows")
    net = start(task, (8, 8), recipe, te="cosine")
    with pytest.raises(ValueError, match="te_update: expected 'entries'"):
        Trainer(net, task, recipe, tmp_path)


def sums(te: torch.Tensor, beta: float) -> torch.Tensor:
    """What a threshold adds up of a table (neuron, step), by its definition."""
    steps = torch.arange(te.shape[1])
    ages = steps[:, None] - steps
    weights = torch.where(ages >= 0, beta ** ages.clamp(min=0).double(), 0.0)
    return te.double() @ weights.T


def test_encoding_by_sums_is_adamw_of_the_sums():
    task, recipe = bursts(), Recipe(weight_decay=0.01, te_update="sums", te_lr=2.0)
    net = start(task, HIDDEN, recipe, context="te", beta=0.9)
    mine = setup.optimiser(net, recipe)
    kept = torch.nn.Parameter(sums(net.te.detach(), 0.9))
    theirs = torch.optim.AdamW([kept], lr=recipe.lr * recipe.te_lr, weight_decay=0.0)
    for group in mine.param_groups:
        group["lr"] = recipe.lr * group.get("multiple", 1.0)
    generator = torch.Generator().manual_seed(0)
    began = kept.detach().clone()
    for _ in range(30):
        wanted = torch.randn(kept.shape, generator=generator)
        mine.zero_grad()
        (sums(net.te, 0.9) * wanted).sum().backward()
        te_updates.transform_gradients(net, recipe.te_update)
        mine.step()
        theirs.zero_grad()
        (kept * wanted).sum().backward()
        theirs.step()
    assert (kept - began).abs().mean() > 0.01
    # float32 against float64, over 30 steps of at most 0.01.
    torch.testing.assert_close(sums(net.te.detach(), 0.9), kept.detach(), rtol=0, atol=2e-5)


@pytest.mark.parametrize("context", ["te", "v*te"])
def test_encoding_by_sums_learns(tmp_path, context):
    task, recipe = bursts(), replace(RECIPE, te_update="sums")
    begun = start(task, HIDDEN, recipe, context=context).te.detach().clone()
    net = start(task, HIDDEN, recipe, context=context)
    run = Trainer(net, task, recipe, tmp_path)
    run.run()
    assert run.history[-1]["loss"] < run.history[0]["loss"]
    assert not torch.equal(net.te, begun)
    assert all(0.01 < rate < 0.95 for epoch in run.history for rate in epoch["rates"])


@pytest.mark.parametrize(
    "options", [{"beta": (0.9, 0.95)}, {"learn_beta": True}], ids=["per-layer", "learnt"]
)
def test_encoding_by_sums_is_refused_without_one_beta(tmp_path, options):
    task, recipe = bursts(), Recipe(epochs=1, te_update="sums")
    net = start(task, HIDDEN, recipe, **options)
    with pytest.raises(ValueError, match="expected a Network with one constant β"):
        Trainer(net, task, recipe, tmp_path)


def test_encoding_inside_another_module_is_found() -> None:
    recipe = Recipe(te_update="sums", te_lr=3.0)
    inner = start(bursts(), HIDDEN, recipe)
    outer = torch.nn.Module()
    outer.net = inner  # as a quantised network has it
    (found,) = te_updates.encodings(outer)
    assert found is inner.te
    multiples = [group.get("multiple", 1.0) for group in setup.parameter_groups(outer, recipe)]
    assert multiples == [1.0, 3.0]
    inner.te.grad = torch.ones_like(inner.te)
    te_updates.transform_gradients(outer, "sums")
    assert inner.te.grad[0, 0] == pytest.approx(1 - inner.config.beta)
    assert inner.te.grad[0, -1] == 1
