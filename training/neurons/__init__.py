"""Neuron kinds that :class:`training.Network` and the blocks can be made of, one file each.

To add a kind, write its file and add one entry to :data:`KINDS`.
"""

from training.neurons.alif import ALIF
from training.neurons.celif import CELIF
from training.neurons.kind import NeuronKind, NeuronParams
from training.neurons.lif import LIF

KINDS: dict[str, NeuronKind] = {kind.name: kind for kind in (CELIF, LIF, ALIF)}
"""All kinds by the name that a user asks for them by."""

__all__ = ["KINDS", "NeuronKind", "NeuronParams", "find"]


def find(name: str) -> NeuronKind:
    """Return the kind called ``name``; raise ValueError if there is none."""
    if name not in KINDS:
        raise ValueError(f"neuron: expected one of {', '.join(KINDS)}, got {name!r}")
    return KINDS[name]
