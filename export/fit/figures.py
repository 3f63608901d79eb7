"""The published figures of Loihi 2, each with its source and how sure it is."""

from __future__ import annotations

from export.fit.chip import Board, Chip, Figure
from export.loihi2 import WEIGHT_BITS

_BRIEF = "Intel's Loihi 2 brief of 2021, as two independent notes quote its table"
_TABLES = "tables that Intel's compiler printed, in lava-dl's netx notebooks"
_HALA = "eenewseurope.com, Hala Point: 140,544 cores on 1,152 chips, so 122 of 128 a chip"
_DAVIES = "Davies et al., IEEE Micro 38(1), 2018, Loihi 1 (14 nm), as others quote it"
_SANA = "SANA-FE, arch/loihi.yaml: its calibration to a Loihi 1"
_FASTER = "Intel's statement of 2021, partly from before the chip was made, as a note quotes it"


def _prices(source: str, sure: str, **prices: tuple[float, str]) -> dict[str, Figure]:
    """Figures of one source that need not be whole."""
    return {
        name: Figure(value, about, source, sure, whole=False, least=1 if "speed" in name else 0)
        for name, (value, about) in prices.items()
    }


_FIGURES = {
    "cores": Figure(
        128,
        "neurocores a chip",
        f"{_BRIEF}; Hala Point has 122 in use, users report 120 to 128",
        "agreed",
        least=1,
    ),
    "neurons_per_core": Figure(
        8192,
        "neurons a core",
        f"WikiChip: 1,048,576 on 128 cores; {_BRIEF} has 8192 and 8190",
        "agreed",
        least=1,
    ),
    "pool_words": Figure(
        20_000,
        "words of 64 bits a core, for everything that it holds",
        f"{_TABLES}: Total is the sum of its columns over 20,000 on all 13 rows that print it",
        "compiler",
        least=1,
    ),
    "axon_in_words": Figure(
        16_000,
        "words of input axons a core",
        f"{_TABLES}: 784 inputs are 4.90 %",
        "compiler",
        least=1,
    ),
    "neuron_words": Figure(
        4095,
        "words of neuron state a core",
        f"{_TABLES}: 3,584 are 87.52 %, 2,688 are 65.64 %",
        "compiler",
        least=1,
    ),
    "synapse_words": Figure(
        16_000,
        "words of synapses a core",
        f"{_TABLES}: 12,544 are 78.40 %; compilers of 2022 had 12,000",
        "compiler",
        least=1,
    ),
    "dense_synapse_words": Figure(
        12_800,
        "words of synapses to which a core of a dense layer is filled",
        "MNIST's first layer in lava-dl's netx notebooks: 50 neurons on a core take 12,544 words, "
        "51 would take 13,328; any value between gives that row",
        "single",
        least=1,
    ),
    "axon_map_words": Figure(
        16_000,
        "words of output axon maps a core",
        f"{_TABLES}: 64 neurons are 0.40 %",
        "compiler",
        least=1,
    ),
    "axon_mem_words": Figure(
        16_000,
        "words of output axon memory a core",
        f"{_TABLES}: the sum of the columns is Total only with 16,000",
        "compiler",
        least=1,
    ),
    "neuron_groups": Figure(
        8, "neuron groups a core", f"{_TABLES}: one is 12.50 %", "compiler", least=1
    ),
    "index_bits": Figure(
        12,
        "bits of a dense synapse besides its weight",
        f"{_TABLES}: n neurons take ceil((n·(12 + w) + 16) / 64) words an input",
        "compiler",
    ),
    "list_bits": Figure(
        16,
        "bits of a list of synapses besides its synapses",
        f"{_TABLES}: 5 to 17 give every list that they and their logs show, and the cut of MNIST",
        "compiler",
    ),
    "target_bits": Figure(
        16,
        "bits of axon memory for each core that a pixel of a convolution is sent to",
        f"{_TABLES}: all 14 layers of convolutions that send to another",
        "compiler",
        least=1,
    ),
    "compiler": Figure(
        2024,
        "year of the compiler whose cuts are followed: 2022 or 2024",
        f"{_TABLES}: that of 2022 keeps the height of an image and cuts dense layers by a ratio",
        "compiler",
        least=2022,
    ),
    "state_bytes": Figure(
        4096,
        "bytes of state a neuron",
        f"{_BRIEF}: 0 to 4096 bytes, where Loihi 1 has 24",
        "agreed",
        least=1,
    ),
    "te_in_state": Figure(
        1,
        "1: a neuron's TE row lies in its own state, in neuron words; 0: in the pool, one row for "
        "all neurons of a channel",
        "nothing is published on what microcode can address besides its neuron's state",
        "assumed",
    ),
    "weight_bits": Figure(
        WEIGHT_BITS,
        "bits of a synaptic weight",
        "Lava's Dense and the rules of Intel's N-DNS challenge: 1 to 8",
        "agreed",
        least=2,
    ),
    "message_bits": Figure(
        32,
        "bits of a graded spike",
        f"{_BRIEF}: up to 32; public projects use 8, 16 and 24, celif 16 and a sign",
        "agreed",
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
    "idle_update_pj": Figure(
        52,
        "picojoules an update of a LIF neuron that is idle",
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
        "nanoseconds to synchronise a whole chip at the end of a time step",
        f"{_DAVIES}: 113 to 465 by size",
        "other chip",
        whole=False,
    ),
    "barrier_ns_min": Figure(
        113, "nanoseconds to synchronise one core", _DAVIES, "other chip", whole=False
    ),
    "hop_pj": Figure(
        4.0,
        "picojoules to carry a message from a core to the next",
        f"{_DAVIES}: 3.0 to 4.2 by direction",
        "other chip",
        whole=False,
    ),
    **_prices(
        _SANA,
        "other chip",
        sana_synop_pj=(35.5, "picojoules a synaptic operation of a dense layer"),
        sana_synop_ns=(3.8, "nanoseconds a synaptic operation of a dense layer"),
        sana_update_pj=(72.8, "picojoules a neuron update: access 51.2, update 21.6"),
        sana_idle_update_pj=(51.2, "picojoules an update of an idle neuron: access alone"),
        sana_update_ns=(9.7, "nanoseconds a neuron update: access 6.0, update 3.7"),
        sana_spike_pj=(69.3, "picojoules to make a spike"),
        sana_spike_ns=(30, "nanoseconds to make a spike"),
        sana_message_pj=(111, "picojoules to send a spike to a core"),
        sana_message_ns=(5.1, "nanoseconds to send a spike to a core"),
        sana_receive_ns=(16, "nanoseconds to receive a spike"),
        sana_sync_ns=(1800, "nanoseconds to synchronise a whole chip"),
        sana_sync_ns_min=(600, "nanoseconds to synchronise one core"),
    ),
    **_prices(
        _FASTER,
        "single",
        loihi2_synop_speed=(5, "times faster than Loihi 1 at synaptic operations"),
        loihi2_update_speed=(2, "times faster than Loihi 1 at neuron updates"),
        loihi2_spike_speed=(10, "times faster than Loihi 1 at making spikes"),
    ),
}

CHIP = Chip(
    "loihi2",
    _FIGURES,
    {
        board.name: board
        for board in (
            Board("Oheo Gulch", 1, 128, "INRC's pages, as two notes quote them", "agreed"),
            Board("Kapoho Point", 8, 128, "INRC's pages, as two notes quote them", "agreed"),
            Board("Hala Point", 1152, 122, _HALA, "agreed"),
        )
    },
)
"""Loihi 2 as far as it is published; every figure can be overridden (:mod:`export.fit.chip`)."""
