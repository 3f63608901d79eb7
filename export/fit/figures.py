"""The published figures of Loihi 2, each with its source and how sure it is."""

from __future__ import annotations

from export.fit.chip import Board, Chip, Figure
from export.loihi2 import WEIGHT_BITS

_PRESS = "Intel's own brief was not readable here"
_HALA = "eenewseurope.com, Hala Point: 140,544 cores on 1,152 chips, so 122 of 128 a chip"
_DAVIES = "Davies et al., IEEE Micro 38(1), 2018, Loihi 1 (14 nm), as others quote it"

_FIGURES = {
    "cores": Figure(
        128,
        "neurocores a chip",
        f"open-neuromorphic.org, WikiChip; Hala Point has 122 in use ({_PRESS})",
        "agreed",
        least=1,
    ),
    "neurons_per_core": Figure(
        8192, "neurons a core", "WikiChip loihi_2: 1,048,576 on 128 cores", "single", least=1
    ),
    "core_bytes": Figure(
        192 * 1024,
        "bytes of memory a core, for synapses, TE and state together",
        "geeks.fyi says 192 KB; fbhtechinfo.com says 128 KB",
        "conflicting",
        least=1,
    ),
    "state_bytes": Figure(
        4096,
        "bytes of state a neuron",
        "gizbot.com: 0 to 4096, without a unit; read as bytes",
        "single",
        least=1,
    ),
    "te_in_state": Figure(
        1,
        "1: a neuron's TE row lies in its own state and counts against state_bytes; 0: it does not",
        "nothing is published on what microcode can address beside its neuron's state",
        "assumed",
    ),
    "axon_bytes": Figure(
        4,
        "bytes of routing for each input that reaches a core",
        "nothing is published; a pointer and a length",
        "assumed",
    ),
    "weight_bits": Figure(
        WEIGHT_BITS,
        "bits of a synaptic weight",
        "Lava's Dense: 8; open-neuromorphic.org: up to 32",
        "conflicting",
        least=2,
    ),
    "message_bits": Figure(
        32,
        "bits of a graded spike",
        "immortality.global: 32-bit graded spikes; celif's own limit is 16 and a sign",
        "single",
        least=1,
    ),
    "delay_bits": Figure(
        6, "bits of an axonal delay", "Lava's DelayDense: delays of 0 to 63 steps", "single"
    ),
    "synop_pj": Figure(23.6, "picojoules a synaptic operation", _DAVIES, "other chip", whole=False),
    "update_pj": Figure(
        81,
        "picojoules an update of a LIF neuron that is active",
        _DAVIES,
        "other chip",
        whole=False,
    ),
    "synop_ns": Figure(
        3.5,
        "nanoseconds a synaptic operation takes its core",
        f"{_DAVIES}; Hala Point's peak of 380e12 8-bit synapses a second would be 0.37",
        "other chip",
        whole=False,
    ),
    "update_ns": Figure(
        8.4,
        "nanoseconds an update of an active LIF neuron takes its core",
        f"{_DAVIES}; Hala Point's peak of 240e12 neuron operations a second would be 0.59",
        "other chip",
        whole=False,
    ),
    "barrier_ns": Figure(
        465,
        "nanoseconds to synchronise a chip at the end of a time step",
        f"{_DAVIES}: 113 to 465 by size",
        "other chip",
        whole=False,
    ),
}

CHIP = Chip(
    "loihi2",
    _FIGURES,
    {
        board.name: board
        for board in (
            Board("Oheo Gulch", 1, 128, "fbhtechinfo.com", "single"),
            Board("Kapoho Point", 8, 128, "fbhtechinfo.com", "single"),
            Board("Hala Point", 1152, 122, _HALA, "agreed"),
        )
    },
)
"""Loihi 2 as far as it is published; every figure can be overridden (:mod:`export.fit.chip`)."""
