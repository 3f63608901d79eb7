"""Adversarial training: where inputs move, and what a step adds to the gradients."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from training.tests.kernels.bursts import HIDDEN, RECIPE, bursts
from training.trainer import evaluate, start
from training.trainer.adversarial import Adversary
from training.trainer.loop import Trainer


def test_inputs_move_up_the_gradient_and_stay_in_range():
    x = torch.tensor([0.0, 0.5, 1.0, 0.98, 0.3], requires_grad=True)
    (x * torch.tensor([-2.0, -0.1, 3.0, 1.0, 0.0])).sum().backward()
    moved = Adversary(0.05, 0.0, 1.0).moved(x)
    torch.testing.assert_close(moved, torch.tensor([0.0, 0.45, 1.0, 1.0, 0.3]))
    assert not moved.requires_grad


def test_range_is_that_of_the_training_inputs():
    task = bursts()
    adversary = Adversary.of(replace(RECIPE, adversarial=0.1), task)
    assert (adversary.low, adversary.high) == (float(task.train.x.min()), float(task.train.x.max()))
    assert adversary.low < adversary.high


def test_gradients_are_the_mean_of_both_batches():
    task, recipe = bursts(), replace(RECIPE, adversarial=0.3)
    net = start(task, HIDDEN, recipe).double()
    adversary, share = Adversary.of(recipe, task), 0.5
    x, y = adversary.watched(task.train.x[:8].double()), task.train.y[:8]
    loss = task.objective.loss(net(x), y) * share
    adversary.backward(net, task, x, y, loss, share)
    found = [p.grad.clone() for p in net.parameters()]

    expected = [torch.zeros_like(p) for p in net.parameters()]
    for inputs in (x.detach(), adversary.moved(x)):
        net.zero_grad()
        task.objective.loss(net(inputs), y).backward()
        for total, parameter in zip(expected, net.parameters(), strict=True):
            total += share / 2 * parameter.grad
    assert max(float(g.abs().max()) for g in found) > 1e-3
    # The same sums in another order.
    for ours, theirs in zip(found, expected, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-9, atol=1e-12)


def test_without_an_adversary_inputs_have_no_gradient_of_their_own():
    x = torch.ones(3)
    assert Adversary(0.0).watched(x) is x


def test_users_inputs_are_left_alone():
    x = torch.ones(3)
    assert Adversary(0.1).watched(x).requires_grad
    assert not x.requires_grad


def test_moved_inputs_harm_a_network_less_that_was_trained_with_them(tmp_path):
    task, growth = bursts(), {}
    for size in (0.0, 1.5):
        recipe = replace(RECIPE, adversarial=size, epochs=20, lr=1e-2)
        net = Trainer(start(task, (16, 16), recipe), task, recipe, tmp_path / f"{size:g}").run()
        assert evaluate(net, task.validation) == 1
        adversary = Adversary.of(replace(recipe, adversarial=1.5), task)
        x, y = adversary.watched(task.validation.x), task.validation.y
        loss = task.objective.loss(net(x), y)
        loss.backward()
        with torch.no_grad():
            growth[size] = float(task.objective.loss(net(adversary.moved(x)), y) - loss)
    assert growth[0.0] > 0.02
    assert growth[1.5] < growth[0.0] / 2


class Detached(torch.nn.Linear):
    """A network that gives its inputs no gradient."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return super().forward(x.detach().flatten(1))


def test_network_that_detaches_its_inputs_is_refused(tmp_path):
    task, recipe = bursts(), replace(RECIPE, adversarial=0.1, epochs=1)
    with pytest.raises(ValueError, match="recipe adversarial: expected a network whose loss has"):
        Trainer(Detached(10, 2), task, recipe, tmp_path).run()


@pytest.mark.parametrize("size", [-0.1, float("nan")])
def test_bad_size_is_refused(size):
    with pytest.raises(ValueError, match="recipe adversarial: expected a number from 0 up, got"):
        replace(RECIPE, adversarial=size)
