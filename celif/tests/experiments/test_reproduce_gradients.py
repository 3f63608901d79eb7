"""Gradients over time: the derived equations, and whose gradients reach early steps."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from celif.experiments import gradients
from celif.experiments.machinery.compared_models import make
from celif.experiments.memory import backward_equations
from training import functional, tasks
from training.tasks import synthetic
from training.trainer.loop import start
from training.trainer.recipe import Recipe

STEPS, BATCH = 30, 16


def test_backward_equations_are_autograds() -> None:
    assert 0 < backward_equations.step_error() < 1e-12
    assert 0 < backward_equations.summed_error() < 1e-12


def test_summed_gradient_of_the_threshold_needs_the_decay(monkeypatch: pytest.MonkeyPatch) -> None:
    real = torch.einsum
    shifted = functional.BETA * torch.ones((), dtype=torch.float64)  # β^(i−t+1)
    monkeypatch.setattr(torch, "einsum", lambda path, a, b: real(path, a * shifted, b))
    assert backward_equations.summed_error() > 0.005


def test_stepwise_layer_spikes_as_the_networks_own() -> None:
    task = tasks.load("copy-5")
    torch.manual_seed(0)
    net = start(task, (12, 8), Recipe(), beta=0.9, width=0.4)
    x = task.test.x[:4]
    spikes = net.hidden_states(x)[-1].spikes
    stepwise = torch.stack(gradients.outputs(net, x), -1)
    assert spikes.any()
    assert torch.equal(stepwise, spikes)


def test_stepwise_layer_of_the_published_alif_spikes_as_the_networks_own() -> None:
    task = tasks.load("copy-5")
    net = make("SoftALIF", task, (12, 8), Recipe(), recurrent=True)
    x = task.test.x[:4]
    spikes = net.spikes(x)[-1]
    stepwise = torch.stack(gradients.outputs(net, x), -1)
    assert spikes.any()
    assert torch.equal(stepwise, spikes)


def test_shares_are_of_the_whole_and_training_celif_moves_them_to_early_steps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    preset = replace(gradients.QUICK, recipe=replace(gradients.QUICK.recipe, batch=BATCH))
    monkeypatch.setattr(synthetic, "EPOCH", STEPS * BATCH)
    monkeypatch.setattr(synthetic, "HELD_OUT", gradients.SAMPLES)
    task = tasks.load("copy-400")
    chosen = dict.fromkeys(gradients.QUICK_MODELS, preset.recipe)
    found = gradients.compare(chosen, task, preset, 0, tmp_path, 32)
    for each in found.values():
        assert each.before.shape == each.after.shape == (420,)
        assert each.before.sum() == pytest.approx(1)
        assert each.after.sum() == pytest.approx(1)
    early = {name: gradients.early(each.after) for name, each in found.items()}
    assert early["CE-LIF"] > gradients.FACTOR * max(early["ALIF"], early["LSTM"])
    assert early["CE-LIF"] > 2 * gradients.early(found["CE-LIF"].before)
    assert all(each.rate > 0.02 for each in found.values())
