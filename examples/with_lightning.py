"""The same network under Lightning's Trainer.

    pip install lightning
    python examples/with_lightning.py

A CE-LIF network is an ``nn.Module``, so it goes into a LightningModule as it is. This file was run
with lightning 2.6.6, torch 2.13.0 and Python 3.11 on a CPU on 2026-11-18.
"""

from __future__ import annotations

from typing import Any

import lightning
import torch
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

import celif
from training import tasks


class Digits(lightning.LightningModule):
    """A CE-LIF network with a loss and an optimiser."""

    def __init__(self, net: torch.nn.Module) -> None:
        super().__init__()
        self.net = net

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.net(x)

    def training_step(self, batch: Any, index: int) -> torch.Tensor:
        x, y = batch
        return F.cross_entropy(self(x), y)

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.AdamW(self.parameters(), lr=5e-3)


def main(epochs: int = 10, path: str = "lightning.net") -> celif.Verification:
    """Train with Lightning, export the network inside the module, and verify it."""
    lightning.seed_everything(0)
    task = tasks.load("digits")
    net = celif.Network(task.channels, hidden=(64, 64), classes=task.classes, steps=task.steps)
    samples = DataLoader(TensorDataset(task.train.x, task.train.y), batch_size=64, shuffle=True)
    module = Digits(net)
    trainer = lightning.Trainer(
        max_epochs=epochs, accelerator="cpu", logger=False, enable_checkpointing=False
    )
    trainer.fit(module, samples)

    celif.to_netx(net, path, calibration=samples)  # a DataLoader is welcome, too
    result = celif.verify(path, net, task.test.x, task.test.y, targets=("torch", "twin"))
    print(result)
    return result


if __name__ == "__main__":
    main()
