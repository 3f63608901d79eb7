"""CE-LIF and what it is compared with, by one name each."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torch import nn

from celif.views.pictures import FIXED, FLOAT, GREY
from training import baselines, checkpoint
from training.network.network import Network
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
    start_from: Path | None = None,
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
    start_from
        Checkpoint of a feedforward CE-LIF network of the same widths to start from. Recurrent
        weights then start at zero, so that the network begins by computing what that one does.
    """
    torch.manual_seed(recipe.seed)
    options: dict[str, Any] = {} if readout is None else {"readout": readout}
    if name == "CE-LIF":
        net = start(task, hidden, recipe, recurrent=recurrent, **(celif or {}), **options)
        if start_from is not None:
            _take_over(net, start_from)
        return net
    options |= {"width": lstm_width} if name == "LSTM" else {}
    return baselines.build(name, task, hidden, recurrent, **options)


@torch.no_grad()
def _take_over(net: Network, start_from: Path) -> None:
    """Give a recurrent network the weights of a feedforward one, and feedback of zero."""
    given = checkpoint.load(start_from)
    differ = [
        name for name in net.config.keys()  # noqa: SIM118, it has no __iter__
        if name not in ("recurrent", "dropout") and net.config[name] != given.config[name]
    ]  # fmt: skip
    if differ:
        raise ValueError(
            f"{start_from}: expected a network that differs from the recurrent one in feedback and "
            f"dropout alone, found another {', '.join(differ)}"
        )
    for parameter in net.recurrent.parameters():
        parameter.zero_()
    net.load_state_dict({**net.state_dict(), **given.state_dict()})


@torch.no_grad()
def silence_feedback(net: nn.Module) -> None:
    """Set the recurrent weights of a CE-LIF network to zero; what they add as biases stays."""
    assert isinstance(net, Network)
    for feedback in net.recurrent.values():
        assert isinstance(feedback, nn.Linear)
        feedback.weight.zero_()
