"""Loss around trained networks, along two random directions.

Directions are filter-normalised: each row has the norm of the row of weights, or of a neuron's TE,
that it moves, and a bias as a whole, so that networks of other scales can be compared. Constants of
the neurons, which ALIF learns, are not moved. LIF and ALIF are recurrent, as in the paper's table.
The paper calls CE-LIF's surface smoother; the measures of it here are :func:`bend` and
:func:`roughness`.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
from matplotlib import pyplot as plt
from matplotlib.figure import Figure
from torch import nn

from celif.experiments.machinery.compared_models import make
from celif.experiments.machinery.drawing import SMALL, WIDTH, plain
from celif.experiments.machinery.experiment import Claim, Experiment, Outcome, Row, Settings
from celif.experiments.machinery.runs import train
from training import tasks
from training.trainer.presets import Preset
from training.trainer.recipe import Recipe

MODELS = ("LIF", "ALIF", "CE-LIF")
CONSTANTS = ("neurons", "decays")
"""Modules of constants of the neurons."""
RIVALS_RATE = 3e-3
"""The rate that the trials of the paper's first table chose for recurrent LIF; at 0.01 it stayed at
chance here."""


def direction(net: nn.Module, generator: torch.Generator) -> list[torch.Tensor]:
    """A random direction in the space of weights, TE and biases, filter by filter of their norm."""
    found = []
    for name, parameter in net.named_parameters():
        if name.partition(".")[0] in CONSTANTS:
            found.append(torch.zeros_like(parameter))
            continue
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


def bend(losses: np.ndarray) -> float:
    """Return the mean absolute second difference between neighbouring points."""
    return float(np.mean([np.abs(np.diff(losses, 2, axis)).mean() for axis in (0, 1)]))


def roughness(losses: np.ndarray) -> float:
    """Return the mean bend as a share of the surface's range."""
    return bend(losses) / float(np.ptp(losses))


def run(settings: Settings) -> Outcome:
    """Train LIF, ALIF and CE-LIF alike, then draw the loss around each."""
    preset = Preset("seq-mnist", (64, 88, 88), Recipe(epochs=4, batch=64))
    samples, points, rate = 200, 15, RIVALS_RATE
    if settings.quick:
        preset = Preset("digits", (32, 32), Recipe(epochs=10, batch=64))
        samples, points, rate = 100, 11, preset.recipe.lr
    task, recipe = tasks.load(preset.task, settings.data), preset.recipe
    surfaces, scores = {}, {}
    for name in MODELS:
        own = recipe if name == "CE-LIF" else replace(recipe, lr=rate)
        net = make(name, task, preset.hidden, own, name != "CE-LIF", preset.network)
        scores[name] = train(name, net, task, own, settings.out).percent
        surfaces[name] = surface(net, task.test.x[:samples], task.test.y[:samples], points)
    middle, rough = points // 2, {name: roughness(each) for name, each in surfaces.items()}
    rows = [Row(f"{name}: test accuracy", scores[name], None, "%") for name in MODELS]
    rows += [
        Row(f"{name}: loss where training ended", float(surfaces[name][middle, middle]))
        for name in MODELS
    ]
    bent = {name: bend(each) for name, each in surfaces.items()}
    rows += [Row(f"{name}: mean bend", bent[name]) for name in MODELS]
    rows += [Row(f"{name}: roughness", rough[name]) for name in MODELS]
    claims = [
        Claim(
            f"CE-LIF's surface is the least {how}", each["CE-LIF"] < min(each["LIF"], each["ALIF"])
        )
        for how, each in (("bent", bent), ("rough", rough))
    ]
    budget = (
        f"{task.name}, T = {task.steps}, hidden {preset.hidden}, {recipe.epochs} epochs of batch "
        f"{recipe.batch} at a rate of {recipe.lr:g}"
        + ("" if rate == recipe.lr else f", of LIF and ALIF {rate:g}")
        + f", {points}×{points} points, {samples} test samples"
    )
    numbers = {name: np.round(losses, 4).tolist() for name, losses in surfaces.items()}
    notes = [
        "The paper shows pictures and gives no numbers. The mean bend is the mean absolute second "
        "difference between neighbouring points, and roughness that divided by the range of the "
        "losses. LIF and ALIF are far from having learnt, so that their surfaces are not those of "
        "trained networks, which the paper shows. One that has learnt nothing has a flat surface, "
        "with little bend and a small range."
    ]
    return Outcome(rows, claims, budget, _figure(surfaces), numbers, notes)


def _figure(surfaces: dict[str, np.ndarray]) -> Figure:
    figure, axes = plt.subplots(
        1, len(surfaces), figsize=(WIDTH, 3.1), layout="constrained", sharey=True
    )
    high = max(float(np.quantile(losses, 0.95)) for losses in surfaces.values())
    low = min(float(losses.min()) for losses in surfaces.values())
    for ax, (name, losses) in zip(axes, surfaces.items(), strict=True):
        offsets = np.linspace(-1, 1, len(losses))
        shown = np.minimum(losses, high).T
        levels = np.linspace(low, high, 16)
        lines = ax.contourf(offsets, offsets, shown, levels=levels, cmap="viridis")
        ax.plot(0, 0, "w+")
        ax.set(xlabel="direction 1", aspect="equal")
        ax.set_title(name, fontsize=SMALL + 1)
    axes[0].set_ylabel("direction 2")
    figure.colorbar(lines, ax=axes, label="loss", format="%.1f")
    plain(axes)
    return figure


EXPERIMENT = Experiment(
    "landscape", "Loss around networks after some training", run,
    item="Figure 4b–d", size="the paper's task, smaller networks, 4 epochs",
    about="LIF and ALIF are recurrent and have, at full size, 26,562 and 27,042 parameters, CE-LIF "
    "is feedforward and has 83,562.",
)  # fmt: skip
