"""A digit over time in a spiking output layer: TE⊙V, Θ and S of the ten neurons.

The class is the neuron with most spikes. TE⊙V shows when, and for which classes, the context lowers
or raises the threshold.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from matplotlib import pyplot as plt
from matplotlib.figure import Figure
from torch.nn import functional as F

from celif.experiments.machinery.drawing import WIDTH, plain
from celif.experiments.machinery.experiment import Claim, Experiment, Outcome, Row, Settings
from celif.experiments.machinery.runs import train
from celif.verification.float_run import run_float
from training import Network, tasks
from training.trainer.loop import start
from training.trainer.presets import Preset
from training.trainer.recipe import Recipe


def context(net: Network, v: np.ndarray) -> np.ndarray:
    """TE[t]⊙V[t-1] of the output layer, from its V (batch, neuron, time)."""
    before = F.pad(torch.from_numpy(v)[..., :-1], (1, 0)).numpy()
    te = net.te_table.detach().numpy()[: v.shape[1], : v.shape[2]]
    return te * before


def run(settings: Settings) -> Outcome:
    """Train with a spiking readout, then look at the first test sample that is right."""
    preset = Preset("seq-mnist", (64, 88, 88), Recipe(epochs=4, batch=64))
    if settings.quick:
        preset = Preset("digits", (48, 48), Recipe(epochs=12, batch=64))
    task = tasks.load(preset.task, settings.data)
    net = start(task, preset.hidden, preset.recipe, readout="spikes", **preset.network)
    trained = train("training", net, task, preset.recipe, settings.out)
    x, y = task.test.x[:200].numpy(), task.test.y[:200].numpy()
    states = run_float(net, x).layers[-1]
    assert states.v is not None  # a layer of CE-LIF neurons
    assert states.theta is not None
    ce, counts = context(net, states.v), states.spikes.sum(-1)
    right = np.flatnonzero(counts.argmax(1) == y)
    own = np.arange(10) == y[:, None]
    raised = {"own": float(ce.mean(-1)[own].mean()), "others": float(ce.mean(-1)[~own].mean())}
    rates = {
        "own": float(states.spikes.mean(-1)[own].mean()),
        "others": float(states.spikes.mean(-1)[~own].mean()),
    }
    budget = (
        f"{task.name}, T = {task.steps}, hidden {preset.hidden}, ten spiking outputs, "
        f"{preset.recipe.epochs} epochs of batch {preset.recipe.batch}"
    )
    rows = [
        Row("test accuracy, decoded by spike counts", trained.percent, None, "%"),
        Row("firing rate of the digit's own neuron", rates["own"]),
        Row("firing rate of the other nine", rates["others"]),
        Row("mean of TE⊙V, own neuron", raised["own"]),
        Row("mean of TE⊙V, other nine", raised["others"]),
    ]
    claims = [
        Claim(
            "TE⊙V, which raises the threshold, is lower in the digit's own neuron than in others",
            raised["own"] < raised["others"],
        ),
    ]
    one = int(right[0]) if len(right) else 0
    parts = {"TE⊙V": ce[one], "Θ": states.theta[one], "S": states.spikes[one]}
    figure = _figure(x[one, 0], int(y[one]), parts, task.image or (1, task.steps))
    numbers = {"rates": rates, "context": raised, "sample": one, "counts": counts[one].tolist()}
    notes = ["The paper shows a picture and gives no numbers. Means are over 200 test samples."]
    return Outcome(rows, claims, budget, figure, numbers, notes)


def _figure(
    x: np.ndarray, digit: int, parts: dict[str, np.ndarray], image: tuple[int, int]
) -> Figure:
    layout: Any = [["digit", name] for name in ("input", *parts)]
    figure, axes = plt.subplot_mosaic(
        layout,
        figsize=(WIDTH, 6.2), width_ratios=(1, 4), height_ratios=(0.6, 1, 1, 1),
        layout="constrained",
    )  # fmt: skip
    axes["digit"].imshow(x.reshape(image), cmap="Greys")
    axes["digit"].set(title=f"a {digit}", xticks=[], yticks=[])
    axes["input"].step(np.arange(len(x)), x, where="mid", color="black", lw=1)
    axes["input"].set(ylabel="input", xlim=(-0.5, len(x) - 0.5), xticks=[])
    for name, values in parts.items():
        spikes = name == "S"
        limit = 1 if spikes else float(np.abs(values).max())
        shown = axes[name].imshow(
            values, aspect="auto", interpolation="nearest", cmap="Greys" if spikes else "RdBu_r",
            vmin=0 if spikes else -limit, vmax=limit,
        )  # fmt: skip
        axes[name].set(ylabel=f"{name}, class", yticks=range(0, 10, 2), xticks=[])
        axes[name].axhline(digit - 0.5, color="black", lw=0.6)
        axes[name].axhline(digit + 0.5, color="black", lw=0.6)
        if not spikes:
            figure.colorbar(shown, ax=axes[name], pad=0.01)
    apart = image[1] * max(1, len(x) // image[1] // 7)  # whole rows, with room for the numbers
    axes["S"].set(xlabel="time step", xticks=np.arange(0, len(x), apart))
    plain([axes["input"]])
    return figure


EXPERIMENT = Experiment(
    "evolution", "TE⊙V, Θ and S of a spiking output layer over a digit", run,
    item="Figure 2", size="the paper's network and task, fewer epochs",
    about="In the figure the digit's own neuron lies between the lines. The logits are firing "
    "rates, from 0 to 1, so that the cross entropy of ten classes cannot come below 1.46. A lower "
    "TE⊙V of a digit's own neuron is a correlation: neurons also fire before the first ink, and "
    "the digit's own does not stop.",
)  # fmt: skip
