"""The models that the paper compares CE-LIF with, for the same tasks and trainer.

:func:`build` makes any of :data:`NAMES`. Spiking ones have the layout of :class:`training.Network`,
without its temporal encoding.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from torch import nn

from training.baselines.adaptive_neurons import ALIF, LIF, LTMD, PLIF
from training.baselines.artificial import LSTM, TCN, IndRNN
from training.baselines.gated_neurons import GLIF, SoftALIF
from training.baselines.looped_neurons import AHP, DEXAT
from training.baselines.spiking import SpikingNetwork
from training.tasks import Task

NEURONS: dict[str, Callable[..., nn.Module]] = {
    "LIF": LIF,
    "ALIF": ALIF,
    "SoftALIF": SoftALIF,
    "PLIF": PLIF,
    "GLIF": GLIF,
    "LTMD": LTMD,
    "DEXAT": DEXAT,
    "AHP": AHP,
}
"""Spiking neurons; each can be feedforward and recurrent. "ALIF" is the paper's equation 3,
"SoftALIF" the published neuron that its table cites."""
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
    """Make a fresh model for ``task``; seed torch before.

    Parameters
    ----------
    name
        One of :data:`NAMES`.
    hidden, recurrent
        Widths of spiking networks, and whether all their hidden layers but the last feed back.
    options
        Options of the other networks: ``width``, and ``depth`` where there is one. Both kinds take
        a ``readout`` other than the task's (:data:`training.baselines.readout.READOUTS`).
    """
    readout = options.pop("readout", None)
    if name in NEURONS:
        neuron: Any = NEURONS[name]
        # Numbers of spikes are whole, so that they can say a class, but not a value.
        counted = task.objective.of_classes and getattr(neuron, "spiking_readout", False)
        readout = readout or ("spikes" if counted else task.objective.readout)
        return SpikingNetwork(
            name, partial(neuron, steps=task.steps), task.channels, hidden, task.classes,
            recurrent, readout, task.permutation, **options,
        )  # fmt: skip
    if name not in ARTIFICIAL:
        raise ValueError(f"baseline: expected one of {', '.join(NAMES)}, got {name!r}")
    # Classes are read from the last step, values from all of them, as in spiking networks.
    readout = readout or ("last" if task.objective.of_classes else task.objective.readout)
    return ARTIFICIAL[name](task.channels, task.classes, readout, task.permutation, **options)
