"""Loss around trained networks, along two random directions.

Directions are filter-normalised: each row has the norm of the row of weights, or of a neuron's TE,
that it moves, and a bias as a whole, so that networks of other scales can be compared. LIF and ALIF
are recurrent, as in the paper's table.
"""

from __future__ import annotations

import numpy as np
import torch
from matplotlib import pyplot as plt
from matplotlib.figure import Figure
from torch import nn

from celif.experiments.machinery.experiment import Claim, Experiment, Outcome, Row, Settings
from celif.experiments.machinery.models import make
from celif.experiments.machinery.runs import train
from training import tasks
from training.trainer.presets import Preset
from training.trainer.recipe import Recipe

MODELS = ("LIF", "ALIF", "CE-LIF")


def direction(net: nn.Module, generator: torch.Generator) -> list[torch.Tensor]:
    """A random direction in the space of the parameters, filter by filter of their norm."""
    found = []
    for parameter in net.parameters():
        drawn = torch.randn(parameter.shape, generator=generator)
        dim = None if parameter.ndim < 2 else tuple(range(1, parameter.ndim))
        size = torch.linalg.vector_norm(parameter.detach(), dim=dim, keepdim=True)
        length = torch.linalg.vector_norm(drawn, dim=dim, keepdim=True)
        found.append(drawn * (size / (length + 1e-12)).view_as(_first(drawn, dim)))
    return found


def _first(values: torch.Tensor, dim: tuple[int, ...] | None) -> torch.Tensor:
    """A tensor of the shape of a norm over ``dim`` with its dimensions kept."""
    return values.sum() if dim is None else values.sum(dim, keepdim=True)


@torch.no_grad()
def surface(
    net: nn.Module, x: torch.Tensor, y: torch.Tensor, points: int, seed: int = 0
) -> np.ndarray:
    """Loss at offsets −1 to 1 along two directions, (points, points); the network is left as is."""
    generator = torch.Generator().manual_seed(seed)
    one, two = direction(net, generator), direction(net, generator)
    parameters = list(net.parameters())
    start = [parameter.clone() for parameter in parameters]
    offsets, losses = np.linspace(-1, 1, points), np.zeros((points, points))
    net.eval()
    try:
        for i, a in enumerate(offsets):
            for j, b in enumerate(offsets):
                for parameter, middle, u, v in zip(parameters, start, one, two, strict=True):
                    parameter.copy_(middle + float(a) * u + float(b) * v)
                losses[i, j] = float(nn.functional.cross_entropy(net(x), y))
    finally:
        for parameter, middle in zip(parameters, start, strict=True):
            parameter.copy_(middle)
    return losses


def run(settings: Settings) -> Outcome:
    """Train LIF, ALIF and CE-LIF alike, then draw the loss around each."""
    preset = Preset("seq-mnist", (64, 88, 88), Recipe(epochs=1, batch=64))
    samples, points = 200, 15
    if settings.quick:
        preset = Preset("digits", (32, 32), Recipe(epochs=10, batch=64))
        samples, points = 100, 11
    task, recipe = tasks.load(preset.task, settings.data), preset.recipe
    surfaces, scores = {}, {}
    for name in MODELS:
        net = make(name, task, preset.hidden, recipe, name != "CE-LIF", preset.network)
        scores[name] = train(name, net, task, recipe, settings.out).percent
        surfaces[name] = surface(net, task.test.x[:samples], task.test.y[:samples], points)
    middle = points // 2
    at = {name: float(losses[middle, middle]) for name, losses in surfaces.items()}
    rows = [Row(f"{name}: test accuracy", scores[name], None, "%") for name in MODELS]
    rows += [Row(f"{name}: loss where training ended", at[name]) for name in MODELS]
    lowest = {name: float(losses.min()) for name, losses in surfaces.items()}
    rows += [Row(f"{name}: lowest loss around it", lowest[name]) for name in MODELS]
    claims = [
        Claim(
            "CE-LIF's loss is the lowest of the three", at["CE-LIF"] < min(at["LIF"], at["ALIF"])
        ),
        Claim(
            "CE-LIF ended in a minimum: nothing around it is lower by more than 0.05",
            at["CE-LIF"] < lowest["CE-LIF"] + 0.05,
        ),
    ]
    budget = (
        f"{task.name}, T = {task.steps}, hidden {preset.hidden}, {recipe.epochs} epochs of batch "
        f"{recipe.batch}, {points}×{points} points, {samples} test samples"
    )
    numbers = {name: np.round(losses, 4).tolist() for name, losses in surfaces.items()}
    notes = ["The paper shows this as a picture; there are no numbers to compare."]
    return Outcome(rows, claims, budget, _figure(surfaces, budget), numbers, notes)


def _figure(surfaces: dict[str, np.ndarray], budget: str) -> Figure:
    figure = plt.figure(figsize=(9, 6.2), layout="constrained")
    high = max(float(np.quantile(losses, 0.95)) for losses in surfaces.values())
    low = min(float(losses.min()) for losses in surfaces.values())
    for i, (name, losses) in enumerate(surfaces.items()):
        offsets = np.linspace(-1, 1, len(losses))
        a, b = np.meshgrid(offsets, offsets, indexing="ij")
        shown = np.minimum(losses, high)
        solid = figure.add_subplot(2, len(surfaces), i + 1, projection="3d")
        solid.plot_surface(a, b, shown, cmap="viridis", vmin=low, vmax=high)
        solid.set_zlim(low, high)
        solid.set_title(name)
        flat = figure.add_subplot(2, len(surfaces), len(surfaces) + i + 1)
        lines = flat.contourf(a, b, shown, levels=np.linspace(low, high, 15), cmap="viridis")
        flat.plot(0, 0, "w+")
        flat.set(xlabel="direction 1", ylabel="direction 2" if i == 0 else "", aspect="equal")
    figure.colorbar(lines, ax=figure.axes[1::2], label="loss", shrink=0.8)
    figure.suptitle(budget, fontsize=8)
    return figure


EXPERIMENT = Experiment(
    "landscape", "Loss around trained networks", run,
    item="Figure 4b–d", size="Seq-MNIST, one epoch of training",
)  # fmt: skip
