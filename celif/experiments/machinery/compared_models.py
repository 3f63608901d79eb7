"""CE-LIF and what it is compared with, by one name each."""

from __future__ import annotations

from typing import Any, cast

import torch
from torch import nn

from celif.views.pictures import FIXED, FLOAT, GREY
from training import baselines
from training.tasks import Task
from training.trainer.loop import start
from training.trainer.recipe import Recipe

COLOURS = {"CE-LIF": FLOAT, "ALIF": "#8a5fa8", "SoftALIF": FIXED, "LSTM": "#4c8c6b", "LIF": GREY}


def make(
    name: str,
    task: Task,
    hidden: tuple[int, ...],
    recipe: Recipe,
    recurrent: bool = False,
    celif: dict[str, Any] | None = None,
    lstm_width: int = 128,
    readout: str | None = None,
    silent_feedback: bool = False,
) -> nn.Module:
    """A fresh model from the recipe's seed.

    Parameters
    ----------
    name
        ``"CE-LIF"`` or one of :data:`training.baselines.NAMES`.
    task, hidden, recipe, recurrent
        What for; widths and feedback are of spiking networks.
    celif
        Options of CE-LIF's network.
    lstm_width
        Cells of an LSTM.
    readout
        How the outputs are read, if not as the task says.
    silent_feedback
        Start CE-LIF's recurrent weights at zero.
    """
    torch.manual_seed(recipe.seed)
    options: dict[str, Any] = {} if readout is None else {"readout": readout}
    if name == "CE-LIF":
        net = start(task, hidden, recipe, recurrent=recurrent, **(celif or {}), **options)
        if silent_feedback:
            for feedback in net.recurrent.values():
                nn.init.zeros_(cast(nn.Linear, feedback).weight)
        return net
    options |= {"width": lstm_width} if name == "LSTM" else {}
    return baselines.build(name, task, hidden, recurrent, **options)
