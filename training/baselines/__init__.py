"""The models that the paper compares CE-LIF with, for the same tasks and trainer.

:func:`build` makes any of :data:`NAMES`. Spiking ones have the layout of :class:`training.Network`,
without its temporal encoding.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import nn

from training.baselines.adaptive_neurons import ALIF, LIF, LTMD, PLIF
from training.baselines.artificial import LSTM, TCN, IndRNN
from training.baselines.looped_neurons import AHP, DEXAT, GLIF
from training.baselines.spiking import SpikingNetwork
from training.tasks import Task

NEURONS: dict[str, Callable[[int], nn.Module]] = {
    "LIF": LIF,
    "ALIF": ALIF,
    "PLIF": PLIF,
    "GLIF": GLIF,
    "LTMD": LTMD,
    "DEXAT": DEXAT,
    "AHP": AHP,
}
"""Spiking neurons; each can be feedforward and recurrent."""
ARTIFICIAL: dict[str, Callable[..., nn.Module]] = {"LSTM": LSTM, "IndRNN": IndRNN, "TCN": TCN}
NAMES = (*NEURONS, *ARTIFICIAL)

__all__ = ["ARTIFICIAL", "NAMES", "NEURONS", "SpikingNetwork", "build"]


def build(
    name: str,
    task: Task,
    hidden: tuple[int, ...] = (64, 256, 256),
    recurrent: bool = False,
    **options: Any,
) -> nn.Module:
    """A fresh model for ``task``; seed torch before.

    Parameters
    ----------
    name
        One of :data:`NAMES`.
    hidden, recurrent
        Of spiking networks: widths, and whether all hidden layers but the last feed back.
    options
        Of the others: ``width``, and ``depth`` where there is one.
    """
    steps = task.objective.readout == "steps"
    if name in NEURONS:
        readout = "steps" if steps else "mean"
        return SpikingNetwork(
            name, NEURONS[name], task.channels, hidden, task.classes, recurrent, readout,
            task.permutation, **options,
        )  # fmt: skip
    if name not in ARTIFICIAL:
        raise ValueError(f"baseline: expected one of {', '.join(NAMES)}, got {name!r}")
    readout = "steps" if steps else "last"
    return ARTIFICIAL[name](task.channels, task.classes, readout, task.permutation, **options)
