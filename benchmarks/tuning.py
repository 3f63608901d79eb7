"""Fine-tuning, of a quantisation-aware network or of a float one: a few epochs, seeded."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import nn
from torch.nn import functional as F

from training.tasks import Split


@dataclass(frozen=True)
class Tuning:
    """AdamW with a learning rate that falls to 0 along a cosine."""

    epochs: int = 15
    batch: int = 64
    lr: float = 1e-3
    clip: float = 1.0


def tune(net: nn.Module, split: Split, tuning: Tuning, seed: int) -> None:
    """Train ``net`` in place on all of ``split``, without dropout."""
    net.eval()
    draw = torch.Generator().manual_seed(seed)
    optimizer = torch.optim.AdamW(net.parameters(), lr=tuning.lr)
    batches = -(-len(split) // tuning.batch)
    total = tuning.epochs * batches
    for epoch in range(tuning.epochs):
        order = torch.randperm(len(split), generator=draw)
        for i, part in enumerate(order.split(tuning.batch)):
            done = (epoch * batches + i) / total
            for group in optimizer.param_groups:
                group["lr"] = tuning.lr * 0.5 * (1 + math.cos(math.pi * done))
            loss = F.cross_entropy(net(split.x[part]), split.y[part])
            optimizer.zero_grad()
            loss.backward()
            norm = torch.nn.utils.clip_grad_norm_(net.parameters(), tuning.clip)
            if torch.isfinite(norm):  # an overflowing gradient costs a step, not the run
                optimizer.step()
