"""Training with learnt decays: resumable to the bit, and no weight decay draws them."""

from __future__ import annotations

from dataclasses import replace

import torch

from training.decays import Decay
from training.tests.kernels.bursts import (
    RECIPE,
    assert_same_history,
    assert_same_weights,
    bursts,
    train,
)
from training.tests.trainer.test_trainer import cut_short

LEARNT = {"learn_alpha": True, "learn_beta": True}


def values(net: torch.nn.Module) -> torch.Tensor:
    return torch.cat([each().detach() for each in net.modules() if isinstance(each, Decay)])


def test_interrupted_run_with_learnt_decays_resumes_to_the_same_bits(tmp_path):
    task = bursts()
    undisturbed = train(task, tmp_path / "whole", network=LEARNT)
    cut_short(task, tmp_path / "cut", RECIPE, 1, save_steps=2, network=LEARNT)
    resumed = train(task, tmp_path / "cut", network=LEARNT)
    assert_same_weights(resumed.net, undisturbed.net)
    assert_same_history(resumed, undisturbed)
    # 6 and 5 neurons, each with an α that began at 0.5 and a β that began at 0.99.
    # Those of neurons that were never near their threshold stay there.
    assert len(values(resumed.net).unique()) > 10


def test_weight_decay_leaves_decays_alone(tmp_path):
    # Without gradients AdamW moves nothing but by its weight decay.
    recipe = replace(RECIPE, epochs=1, weight_decay=0.5)
    run = train(bursts(), tmp_path, replace(recipe, lr=0.0), network=LEARNT)
    start, weight = values(run.net), run.net.layers[0].weight.detach().clone()
    for group in run.optimizer.param_groups:
        group["lr"] = 0.1
    for p in run.net.parameters():
        p.grad = torch.zeros_like(p)
    run.optimizer.state.clear()
    run.optimizer.step()
    assert torch.equal(values(run.net), start)
    torch.testing.assert_close(run.net.layers[0].weight.detach(), weight * 0.95)
