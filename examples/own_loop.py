"""Your own training loop: CE-LIF layers inside your own module, exported and verified.

    python examples/own_loop.py

Only PyTorch is needed to train; the export and the check are three lines at the end.
"""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F

import celif
from training import tasks


def main(epochs: int = 10, path: str = "own-loop.net") -> celif.Verification:
    """Train on digits by hand, export, and compare the file with the network."""
    task = tasks.load("digits")  # any tensors will do: x (sample, channel, time), y (sample,)
    torch.manual_seed(0)
    net: nn.Module = celif.Network(
        task.channels, hidden=(64, 64), classes=task.classes, steps=task.steps
    )
    optimizer = torch.optim.AdamW(net.parameters(), lr=5e-3)
    for epoch in range(epochs):
        net.train()
        for rows in torch.randperm(len(task.train)).split(64):
            optimizer.zero_grad()
            loss = F.cross_entropy(net(task.train.x[rows]), task.train.y[rows])
            loss.backward()
            optimizer.step()
        net.eval()
        with torch.no_grad():
            hits = (net(task.validation.x).argmax(1) == task.validation.y).float().mean()
        print(f"epoch {epoch + 1}: loss {loss.item():.3f}, validation {hits.item():.1%}")

    celif.to_netx(net, path, calibration=task.train.x)
    result = celif.verify(path, net, task.test.x, task.test.y, targets=("torch", "twin"))
    print(result)
    return result


if __name__ == "__main__":
    main()
