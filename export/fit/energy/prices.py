"""Prices of operations: three lists, which together make the range of an estimate.

``Davies``
    Loihi 1 by simulation (SPICE), as Intel published it in 2018: synaptic operations, neuron
    updates, hops of a message between cores, a barrier at the end of a step.
``SANA-FE``
    Loihi 1 as the simulator SANA-FE was calibrated to a chip: dearer synapses and, besides, the
    making of a spike, a message to each core that receives it, its reception, and a
    synchronisation that grows with the number of cores.
``scaled``
    Loihi 2: SANA-FE's times divided by the factors by which Intel says Loihi 2 is faster, which
    are partly from before the chip was made. Nothing is published about its energy, so the
    energies are Davies', the lower ones.

Every price is a figure of the chip (:mod:`export.fit.figures`) and can be overridden.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from export.fit.chip import Chip


@dataclass(frozen=True)
class Prices:
    """What each operation costs, in picojoules and nanoseconds."""

    name: str
    synop_pj: float
    synop_ns: float
    update_pj: float
    update_ns: float
    idle_pj: float
    """An update of a neuron that is idle."""
    spike_pj: float
    spike_ns: float
    """Making a spike, once for each neuron that fires."""
    message_pj: float
    message_ns: float
    """Sending it, once for each core that receives it."""
    hop_pj: float
    """Carrying a message from one core to the next."""
    receive_ns: float
    sync_ns: tuple[float, float]
    """Synchronising one core, and a whole chip."""

    def sync(self, cores: int, per_chip: int) -> float:
        """Nanoseconds to synchronise ``cores`` cores, in proportion between the two ends."""
        low, high = self.sync_ns
        return low + (high - low) * min(1.0, (cores - 1) / max(1, per_chip - 1))


def at_rest(prices: Prices) -> Prices:
    """The same list for neurons that are all idle."""
    return replace(prices, name=f"{prices.name}, idle", update_pj=prices.idle_pj)


def price_lists(chip: Chip) -> tuple[Prices, ...]:
    """The three lists; see the module's text."""
    rate = chip.rate
    davies = Prices(
        "Davies",
        synop_pj=rate("synop_pj"),
        synop_ns=rate("synop_ns"),
        update_pj=rate("update_pj"),
        update_ns=rate("update_ns"),
        idle_pj=rate("idle_update_pj"),
        spike_pj=0,
        spike_ns=0,
        message_pj=0,
        message_ns=0,
        hop_pj=rate("hop_pj"),
        receive_ns=0,
        sync_ns=(rate("barrier_ns_min"), rate("barrier_ns")),
    )
    sana_fe = Prices(
        "SANA-FE",
        synop_pj=rate("sana_synop_pj"),
        synop_ns=rate("sana_synop_ns"),
        update_pj=rate("sana_update_pj"),
        update_ns=rate("sana_update_ns"),
        idle_pj=rate("sana_idle_update_pj"),
        spike_pj=rate("sana_spike_pj"),
        spike_ns=rate("sana_spike_ns"),
        message_pj=rate("sana_message_pj"),
        message_ns=rate("sana_message_ns"),
        hop_pj=rate("hop_pj"),
        receive_ns=rate("sana_receive_ns"),
        sync_ns=(rate("sana_sync_ns_min"), rate("sana_sync_ns")),
    )
    spikes = rate("loihi2_spike_speed")
    scaled = replace(
        davies,
        name="scaled",
        synop_ns=sana_fe.synop_ns / rate("loihi2_synop_speed"),
        update_ns=sana_fe.update_ns / rate("loihi2_update_speed"),
        spike_ns=sana_fe.spike_ns / spikes,
        message_ns=sana_fe.message_ns / spikes,
        receive_ns=sana_fe.receive_ns / spikes,
        sync_ns=sana_fe.sync_ns,
    )
    return davies, sana_fe, scaled
