"""Adversarial training: batches are also learnt with their inputs moved where the loss grows.

A small step along the sign of the loss's gradient (Goodfellow et al., 2015) is the worst that a
change of that size can do to a linear model. Learning such inputs as well as the given ones makes a
network smooth around its samples.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import nn

from training.tasks import Task
from training.trainer.recipe import Recipe


@dataclass(frozen=True)
class Adversary:
    """Moves inputs by ``size``, but not below ``low`` or above ``high``; by 0 there is none."""

    size: float
    low: float = 0.0
    high: float = 0.0

    @classmethod
    def of(cls, recipe: Recipe, task: Task) -> Adversary:
        """Make that of a recipe, within the range of the task's training inputs."""
        if not recipe.adversarial:
            return cls(0.0)
        return cls(recipe.adversarial, float(task.train.x.min()), float(task.train.x.max()))

    def watched(self, x: torch.Tensor) -> torch.Tensor:
        """Return inputs that will have a gradient, if they are to be moved."""
        return x.detach().requires_grad_() if self.size else x

    def moved(self, x: torch.Tensor) -> torch.Tensor:
        """Return inputs one step up the gradient that they have received."""
        if x.grad is None:
            raise ValueError(
                "recipe adversarial: expected a network whose loss has a gradient for its inputs, "
                "got one without, as it detaches them; use adversarial=0"
            )
        return (x.detach() + self.size * x.grad.sign()).clamp(self.low, self.high)

    def backward(
        self, net: nn.Module, task: Task, x: torch.Tensor, y: torch.Tensor, loss: torch.Tensor,
        share: float,
    ) -> None:  # fmt: skip
        """Add the gradients of ``loss``, or of its mean with the loss of the moved inputs.

        ``loss`` is that of ``x`` times ``share``, the part of these samples in the batch of all
        processes.
        """
        if not self.size:
            loss.backward()
            return
        (loss / 2).backward()
        (task.objective.loss(net(self.moved(x)), y) * (share / 2)).backward()
