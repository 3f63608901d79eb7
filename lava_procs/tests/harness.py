"""Drives a model step by step without Lava's runtime, and the traces it should give."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
from lava.magma.core.model.py.type import LavaPyType

from export.model.network import CelifLayer
from export.steps import celif


def drive(
    process: Any,
    model_class: Any,
    arrivals: np.ndarray,
    names: tuple[str, ...],
    ports: tuple[str, str] = ("a_in", "s_out"),
) -> Any:
    """Feed ``arrivals`` (neuron, time_step); return what was sent, and the named Vars, likewise."""
    into, out = ports
    model = model_class(process.proc_params)
    for var in process.vars:
        kind = getattr(model_class, var.name)
        assert isinstance(kind, LavaPyType)
        value = np.empty(var.shape, kind.d_type)
        value[:] = var.init
        setattr(model, var.name, value)
    sent: list[np.ndarray] = []
    history: dict[str, list[np.ndarray]] = {name: [] for name in names}
    setattr(model, out, SimpleNamespace(send=lambda value: sent.append(np.array(value))))
    for time_step, arrived in enumerate(arrivals.T, start=1):
        setattr(model, into, SimpleNamespace(recv=lambda arrived=arrived: arrived.copy()))
        model.time_step = time_step
        model.run_spk()
        for name in names:
            history[name].append(np.array(getattr(model, name)))
    columns = {name: np.stack(values, 1) for name, values in history.items()}
    return SimpleNamespace(sent=np.stack(sent, 1), **columns)


def loop(layer: CelifLayer, acc: np.ndarray) -> Any:
    """Run the plain integer step over one sample of synaptic sums (neuron, step)."""
    state = celif.State(
        np.full(layer.neurons, layer.theta0_int),
        np.zeros(layer.neurons, np.int64),
        np.zeros(layer.neurons, np.int64),
    )
    states = []
    for k, column in enumerate(acc.T):
        state = celif.step(column, layer.te[:, k], state, layer.params)
        states.append(state)
    return SimpleNamespace(
        **{name: np.stack([getattr(s, name) for s in states], 1) for name in state._fields}
    )
