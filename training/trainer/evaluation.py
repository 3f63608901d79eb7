"""Evaluation of a network on samples that it is not trained on."""

from __future__ import annotations

import torch
from torch import nn

from training.tasks import CLASS, Objective, Split
from training.tasks.task import Batch
from training.trainer.distributed import Group


def placed(x: torch.Tensor, y: torch.Tensor, net: nn.Module) -> Batch:
    """Return a batch on the device and, for floats, in the type of the parameters of ``net``."""
    like = next(net.parameters())
    return x.to(like), y.to(like) if y.is_floating_point() else y.to(like.device)


@torch.no_grad()
def evaluate(
    net: nn.Module,
    split: Split,
    batch: int = 256,
    objective: Objective = CLASS,
    group: Group | None = None,
) -> float:
    """Return the objective's measure of ``net`` on ``split``; for classes, the accuracy, 0 to 1.

    The processes of ``group`` share the work and all return the same value.
    """
    if len(split) == 0:
        raise ValueError("split: expected at least one sample, got none; pass data to evaluate on")
    group = group or Group(alone=True)
    was_training, total = net.training, 0.0
    net.eval()
    for i, part in enumerate(split.chunks(batch)):
        if i % group.size == group.rank:
            x, y = placed(*part, net)
            total += float(objective.scores(net(x), y).sum())
    net.train(was_training)
    return group.totals([total], next(net.parameters()).device)[0] / len(split)


@torch.no_grad()
def outputs(net: nn.Module, x: torch.Tensor, batch: int = 256) -> torch.Tensor:
    """Return the outputs of ``net`` in evaluation mode for samples, in their order."""
    was_training = net.training
    net.eval()
    like = next(net.parameters())
    found = torch.cat([net(part.to(like)).cpu() for part in x.split(batch)])
    net.train(was_training)
    return found
