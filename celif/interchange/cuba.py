"""Chains of CubaLIF and IF nodes as SLAYER's CUBA blocks.

A CUBA neuron has a current and a voltage, each with its decay, which may be all or nothing. With
δ = dt/τ (Euler) or 1 − exp(−dt/τ) (exact) and V reset to 0 by a spike ::

    CubaLIF   U ← (1 − δ_syn)·U + δ_syn·δ_mem·w_in·r·I,   V ← (1 − δ_mem)·V + U
    IF        U ← dt·r·I,                                 V ← V + U

The factors of I become part of the weights. SLAYER's weights have 8 bits, and its forward pass is
the integer one.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import nn

from celif.interchange.graph import WEIGHTS, Edges, Nodes, kind, ordered, without_loops
from celif.interchange.neurons import Time, require_reset, thresholds
from celif.interchange.nodes import NirError
from training.slayer.readout import Readout

KINDS = ("CubaLIF", "IF")
"""Nodes that become CUBA blocks."""

_LARGEST = 3.9
"""Weights of a block reach up to this: SLAYER's are multiples of 1/32 below 4."""


@dataclass(frozen=True)
class _Constants:
    """Decays of a step, and what a weight is multiplied by, for each neuron."""

    current_decay: float
    voltage_decay: float
    gain: np.ndarray


def cuba_chain(nodes: Nodes, edges: Edges, time: Time) -> nn.Module:
    """SLAYER's blocks for a chain of weights and neurons, and a readout for weights at its end."""
    loops, edges = without_loops(nodes, edges)
    inside = set(loops.values())
    order = ordered([name for name in nodes if name not in inside], edges)
    kinds = [kind(nodes[name]) for name in order]
    inner = order[1:-1]
    if kinds[0] != "Input" or kinds[-1] != "Output" or sorted(edges) != sorted(pairwise(order)):
        raise NirError(order[0], "a chain from one input to one output", " → ".join(kinds))
    blocks: list[nn.Module] = []
    while len(inner) >= 2 and kind(nodes[inner[1]]) in KINDS:
        weights, neurons, *inner = inner
        loop = nodes[loops[neurons]] if neurons in loops else None
        blocks.append(_block(weights, nodes[weights], neurons, nodes[neurons], time, loop))
    if inner:
        blocks.append(_readout(inner, nodes, time))
    if not blocks:
        raise NirError(order[0], "weights before the neurons", " → ".join(kinds))
    return nn.Sequential(*blocks)


def _matrix(name: str, node: Any) -> np.ndarray:
    if kind(node) not in WEIGHTS:
        expected = f"{' or '.join(WEIGHTS)} before each layer of {' or '.join(KINDS)} neurons"
        raise NirError(name, expected, kind(node))
    if np.any(np.asarray(getattr(node, "bias", 0.0)) != 0):
        raise NirError(name, "no bias, which SLAYER's blocks do not have", "others than 0")
    return np.asarray(node.weight, np.float64)


def _constants(name: str, node: Any, time: Time) -> _Constants:
    require_reset(name, node)
    if kind(node) == "IF":
        return _Constants(1.0, 0.0, time.dt * np.asarray(node.r, np.float64))
    if np.any(np.asarray(node.v_leak) != 0):
        raise NirError(name, "v_leak = 0", np.asarray(node.v_leak).max())
    current = time.decay(name, "tau_syn", node.tau_syn)
    voltage = time.decay(name, "tau_mem", node.tau_mem)
    gain = (1 - current) * (1 - voltage) * np.asarray(node.r) * np.asarray(node.w_in)
    return _Constants(1 - current, 1 - voltage, gain)


def _block(weights: str, synapse: Any, neurons: str, node: Any, time: Time, loop: Any) -> nn.Module:
    from lava_procs import import_lava as import_lava  # mends Lava, so it has to come first

    from lava.lib.dl import slayer  # isort: skip

    found = _constants(neurons, node, time)
    scale = np.reshape(found.gain / thresholds(neurons, node), (-1, 1))
    values = scale * _matrix(weights, synapse)
    feedback = None if loop is None else scale * _matrix(f"{neurons} feedback", loop)
    largest = max(np.abs(each).max() for each in (values, feedback) if each is not None)
    unit = _LARGEST / (largest or 1.0)  # the threshold follows
    params = {
        "threshold": float(unit),
        "current_decay": found.current_decay,
        "voltage_decay": found.voltage_decay,
    }
    kind_of_block = slayer.block.cuba.Dense if loop is None else slayer.block.cuba.Recurrent
    # NIR knows no delay; SLAYER moves the output of a block one step later unless told not to.
    made = kind_of_block(params, values.shape[1], values.shape[0], delay_shift=False)
    with torch.no_grad():
        _set(made.synapse if loop is None else made.input_synapse, values * unit)
        if feedback is not None:
            _set(made.recurrent_synapse, feedback * unit)
            made.register_forward_pre_hook(_from_rest)
    return made


def _from_rest(block: Any, _: Any) -> None:
    """Let every call begin at rest; SLAYER's recurrent blocks go on where the last one ended."""
    for owner, field in (
        (block, "spike_state"),
        (block.neuron, "current_state"),
        (block.neuron, "voltage_state"),
    ):
        setattr(owner, field, torch.zeros_like(getattr(owner, field)[:1]))


def _set(synapse: Any, values: np.ndarray) -> None:
    shaped = torch.as_tensor(values, dtype=torch.float32)
    synapse.weight.copy_(shaped.reshape(synapse.weight.shape))


def _readout(names: list[str], nodes: Nodes, time: Time) -> Readout:
    """Weights at the end of a chain, alone or before an I node, as a readout of mean rates."""
    weights, *rest = names
    kinds = [kind(nodes[name]) for name in names]
    if kinds[0] not in WEIGHTS or kinds[1:] not in ([], ["I"]):
        raise NirError(names[0], "weights, perhaps before an I node, at the end", " → ".join(kinds))
    weight = np.asarray(nodes[weights].weight, np.float64)
    # I adds up what the readout takes the mean of.
    gain = time.dt * time.steps * np.reshape(nodes[rest[0]].r, (-1, 1)) if rest else np.ones((1, 1))
    bias = np.broadcast_to(getattr(nodes[weights], "bias", 0.0), len(weight)) * gain[:, 0]
    made = Readout(weight.shape[1], weight.shape[0])
    with torch.no_grad():
        made.weight.copy_(torch.as_tensor(weight * gain, dtype=torch.float32))
        made.bias.copy_(torch.as_tensor(np.array(bias), dtype=torch.float32))
    return made
