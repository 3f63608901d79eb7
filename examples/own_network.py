"""Your own residual network on your own data: trained in Python, exported and run by commands.

    cd examples                                   # where --network finds this file
    python own_network.py                         # writes mine.npz and runs/own_network
    celif export runs/own_network/best.safetensors -o mine.net --network own_network:build
    celif verify mine.net --against runs/own_network/best.safetensors --network own_network:build
    celif run mine.net --samples 4                # in Lava

The archive ``mine.npz`` has samples ``x`` (sample, channel, time) and classes ``y``. If you
call the script again, it continues the run in ``runs/own_network``; delete that folder to train
anew.
"""

from __future__ import annotations  # noqa: I001

import celif  # before torch, so that waiting threads do not spin
import numpy as np
import torch
from torch import nn

CHANNELS, STEPS, CLASSES, WIDTH = 6, 40, 4, 32


class Residual(nn.Module):
    """Three layers of CE-LIF neurons; the third hears the sum of the first two."""

    def __init__(self) -> None:
        super().__init__()
        neuron = {"steps": STEPS, "width": 1.0}
        self.first = celif.block.Dense(neuron, CHANNELS, WIDTH, weight_scale=3)
        self.second = celif.block.Dense(neuron, WIDTH, WIDTH, weight_scale=3)
        self.third = celif.block.Dense(neuron, WIDTH, WIDTH, weight_scale=3)
        self.readout = nn.Linear(WIDTH, CLASSES)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = self.first(x)
        return self.readout(self.third(self.second(h) + h).mean(-1))


def build() -> nn.Module:
    """Build the network for ``celif … --network own_network:build``."""
    return Residual()


def samples(count: int = 800) -> tuple[np.ndarray, np.ndarray]:
    """Bursts on every channel, each later than the one before; the class says when they begin."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, CLASSES, count)
    x = (rng.random((count, CHANNELS, STEPS)) < 0.1).astype(np.float32)
    for sample, label in zip(x, y, strict=True):
        for channel in range(CHANNELS):
            begin = 5 * label + 4 * channel
            sample[channel, begin : begin + 5] = 1
    return x, y


def main(epochs: int = 15) -> float:
    """Write the data, train, and return the accuracy on samples that were set aside."""
    x, y = samples()
    np.savez("mine.npz", x=x, y=y)
    task = celif.tasks.from_arrays("mine.npz", x, y)  # the commands look for a file of that name
    recipe = celif.trainer.Recipe(epochs=epochs, batch=64, lr=5e-3)
    torch.manual_seed(0)
    run = celif.trainer.Trainer(build(), task, recipe, "runs/own_network")
    if run.resume():
        print(f"continuing the run in {run.out} after {len(run.history)} of {epochs} epochs")
    net = run.run()
    accuracy = celif.trainer.evaluate(net, task.test)
    print(f"test accuracy {accuracy:.1%}")
    return accuracy


if __name__ == "__main__":
    main()
