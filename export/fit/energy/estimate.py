"""Energy and time of a placed network: counted operations times prices.

What is assumed:

- An update costs that of a LIF neuron, times the length of the neuron's listing over that of a
  CUBA neuron (:mod:`export.fit.programs`).
- A spike is sent as one message to each core of the next layer and, from a recurrent layer, to
  each of its own. A message travels as many hops as the square root of the cores in use.
- A **time step** takes as long as the busiest core, its operations one after the other at the mean
  rate of its layer, and one synchronisation.
- Input, output, the processors on the chip and static power cost nothing here. In published
  measurements they are most of it (:mod:`export.fit.energy.measured`).
- The **arithmetic alone** is counted as in the CE-LIF paper, for 45 nm: an addition at each
  event's synapses and one for each spike, three multiplications at each neuron and step.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from export.fit import programs
from export.fit.energy.counting import Activity
from export.fit.energy.prices import Prices, price_lists
from export.fit.placement import Placement
from export.model.network import FixedNetwork

ADD_PJ, MULTIPLY_PJ = 0.9, 4.6
"""Energy of 32-bit arithmetic in 45 nm; Horowitz, ISSCC 2014, as the CE-LIF paper takes it."""


@dataclass(frozen=True)
class Share:
    """What one core does of a layer: the layer's number and its share of the neurons."""

    layer: int
    neurons: float


@dataclass(frozen=True)
class Priced:
    """Energy and time of a step by one list of prices."""

    prices: str
    synop_nj: float
    update_nj: float
    spike_nj: float
    """Spikes and their messages."""
    busy_us: float
    """The busiest core."""
    sync_us: float

    @property
    def step_nj(self) -> float:
        """Energy of a step."""
        return self.synop_nj + self.update_nj + self.spike_nj

    @property
    def step_us(self) -> float:
        """Time of a step."""
        return self.busy_us + self.sync_us


@dataclass(frozen=True)
class Estimate:
    """Energy and time of a network; values of a step are means over samples and steps."""

    layers: tuple[Activity, ...]
    steps: int
    """Steps of a sample, with the gap after it."""
    priced: tuple[Priced, ...]
    arithmetic_nj: float

    @property
    def step_nj(self) -> tuple[float, float]:
        """Least and most energy of a step, by the lists of prices."""
        return _range(one.step_nj for one in self.priced)

    @property
    def step_us(self) -> tuple[float, float]:
        """Least and most time of a step."""
        return _range(one.step_us for one in self.priced)

    @property
    def sample_uj(self) -> tuple[float, float]:
        """Least and most energy of a sample, in microjoules."""
        low, high = self.step_nj
        return low * self.steps / 1e3, high * self.steps / 1e3

    @property
    def sample_ms(self) -> tuple[float, float]:
        """Least and most time between two samples, in milliseconds."""
        low, high = self.step_us
        return low * self.steps / 1e3, high * self.steps / 1e3

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        names = ("step_nj", "step_us", "sample_uj", "sample_ms")
        return {**asdict(self), **{name: list(getattr(self, name)) for name in names}}


def _range(values: Any) -> tuple[float, float]:
    found = list(values)
    return min(found), max(found)


def priced(
    prices: Prices,
    activity: Sequence[Activity],
    cores: Sequence[int],
    shares: Sequence[Share],
    per_chip: int,
) -> Priced:
    """Price the activity of layers that take ``cores`` cores each, split into ``shares``."""
    reference = len(programs.cuba_step())
    updates = [layer.neurons * layer.instructions / reference for layer in activity]
    after = [*cores[1:], 0]
    receivers = [
        n + own * layer.recurrent for layer, n, own in zip(activity, after, cores, strict=True)
    ]
    messages = [layer.spikes * n for layer, n in zip(activity, receivers, strict=True)]
    hops = math.sqrt(sum(cores))

    def busy_ns(share: Share) -> float:
        layer, part = activity[share.layer], share.neurons / activity[share.layer].neurons
        received = layer.events + layer.spikes * layer.recurrent
        own = (
            layer.synops * prices.synop_ns
            + updates[share.layer] * prices.update_ns
            + layer.spikes * prices.spike_ns
            + messages[share.layer] * prices.message_ns
        )
        return part * own + received * prices.receive_ns

    each = prices.message_pj + hops * prices.hop_pj
    return Priced(
        prices.name,
        synop_nj=sum(layer.synops for layer in activity) * prices.synop_pj / 1e3,
        update_nj=sum(updates) * prices.update_pj / 1e3,
        spike_nj=(sum(layer.spikes for layer in activity) * prices.spike_pj + sum(messages) * each)
        / 1e3,
        busy_us=max(map(busy_ns, shares)) / 1e3,
        sync_us=prices.sync(sum(cores), per_chip) / 1e3,
    )


def estimate(
    net: FixedNetwork, placement: Placement, activity: tuple[Activity, ...], steps: int
) -> Estimate:
    """Energy and time of a placed network that did ``activity`` in samples of ``steps`` steps."""
    chip = placement.chip
    cores = [len(placement.of_layer(i)) for i in range(len(activity))]
    shares = [Share(core.layer, core.neurons) for core in placement.cores]
    arithmetic = sum(
        (layer.synops + layer.spikes) * ADD_PJ + layer.neurons * kind.multiplications * MULTIPLY_PJ
        for layer, kind in zip(activity, net.all_layers, strict=True)
    )
    return Estimate(
        layers=activity,
        steps=steps + net.gap,
        priced=tuple(
            priced(prices, activity, cores, shares, chip["cores"]) for prices in price_lists(chip)
        ),
        arithmetic_nj=arithmetic / 1e3,
    )
