"""Published measurements, and what our model makes of their networks: a check of its size.

Sizes and cores are those that the sources print, except LSNN's one core and two compartments for
each adaptive neuron, which are assumed. They do not print how many spikes there were, so
the model is given a range of rates, the share of neurons and inputs that are active in a step, and
of states: all neurons idle, or all active. CE-LIF neurons are never idle, as their threshold moves
at every step, so :func:`export.fit.energy.estimate` has no such range. Only what the neurocores
take above rest is comparable: the model knows nothing of the processors on the chip, of input and
output, or of static power. What it cannot reach for that reason is said in ``why``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from export.fit import programs
from export.fit.chip import Chip
from export.fit.energy.counting import Activity
from export.fit.energy.estimate import Share, priced
from export.fit.energy.prices import at_rest, price_lists
from export.fit.figures import CHIP

RATES = (0.01, 0.1)
"""Shares of neurons and inputs that are taken to be active in a step."""


@dataclass(frozen=True)
class Population:
    """A layer of a measured network."""

    neurons: int
    """Updates in a step; an adaptive neuron of Loihi 1 takes two."""
    inputs: int
    fan_out: float
    """Synapses that an input reaches."""
    cores: int
    senders: int = 0
    """Neurons that send spikes to the layer itself; none unless it is recurrent."""


@dataclass(frozen=True)
class Measurement:
    """A network on a chip: its layers, what was measured of a step, and where that is from."""

    name: str
    chip: str
    source: str
    step_us: float
    dynamic_nj: float
    """Energy of a step above rest, as near to the neurocores alone as the source has it."""
    about: str
    layers: tuple[Population, ...]
    why: str = ""
    """Why the model does not reach what was measured, if it does not."""

    def model(self, rate: float, chip: Chip = CHIP) -> dict[str, tuple[float, float]]:
        """Energy in nJ and time in µs of a step by each list of prices, at a rate.

        Every list has its counterpart with idle neurons.
        """
        lif = len(programs.cuba_step())
        activity = [
            Activity(
                name=str(i),
                neurons=layer.neurons,
                events=rate * layer.inputs,
                synops=rate * (layer.inputs + layer.senders) * layer.fan_out,
                spikes=rate * (layer.senders or layer.neurons),
                instructions=lif,
                recurrent=bool(layer.senders),
            )
            for i, layer in enumerate(self.layers)
        ]
        cores = [layer.cores for layer in self.layers]
        shares = [Share(i, layer.neurons / layer.cores) for i, layer in enumerate(self.layers)]
        found = {}
        lists = price_lists(chip)
        for prices in (*lists, *map(at_rest, lists)):
            one = priced(prices, activity, cores, shares, chip["cores"])
            found[prices.name] = (one.step_nj, one.step_us)
        return found

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON: what was measured, and the range that the model gives."""
        found = [value for rate in RATES for value in self.model(rate).values()]
        return {
            "name": self.name,
            "chip": self.chip,
            "source": self.source,
            "about": self.about,
            "measured": {"step_nj": self.dynamic_nj, "step_us": self.step_us},
            "why": self.why,
            "model": {
                "rates": list(RATES),
                "step_nj": [min(nj for nj, _ in found), max(nj for nj, _ in found)],
                "step_us": [min(us for _, us in found), max(us for _, us in found)],
            },
        }


def _conv(neurons: int, inputs: int, per_neuron: int, cores: int) -> Population:
    """A convolution, each of whose neurons has ``per_neuron`` synapses."""
    return Population(neurons, inputs, neurons * per_neuron / inputs, cores)


MEASUREMENTS = (
    Measurement(
        "LSNN on sequential MNIST",
        "Loihi 1",
        "intel-nrc-ecosystem/models, nxsdk_modules_ncl/lsnn/apps/seqmnist (its program: "
        "benchmark/snips/spiking_bench.c)",
        step_us=16.65,
        dynamic_nj=1.58e-3 * 16.65e-6 * 1e9,
        about="1.58 of 25.9 mW are the cores', 23.2 the x86 processors'; 0.363 mJ and 13.99 ms a "
        "sample of 840 steps in all, 94.5 % of 200 images",
        # 140 regular and 100 adaptive neurons, which take two compartments, 20 % connected.
        layers=(Population(340, 80, 48, 1, senders=240),),
        why="time: at every step a program on an x86 processor compares 40 thresholds with two "
        "pixels and sends the input spike by spike, and a step includes that; how long it takes "
        "is not published, and the model has no processors. They took 386 nJ of a step's 431",
    ),
    Measurement(
        "PilotNet with LIF neurons",
        "Loihi 2",
        "lava-dl, tutorials/lava/lib/dl/netx/pilotnet_snn/benchmark.ipynb",
        step_us=1e6 / (408.9 * 16),
        dynamic_nj=(0.679 - 0.232) / (408.9 * 16) * 1e9,
        about="0.679 W of which 0.232 static, 408.9 frames a second of 16 steps, input and output "
        "included; 1.66 mJ a frame",
        layers=(
            _conv(200 * 66 * 3, 200 * 66 * 3, 0, 13),
            _conv(99 * 32 * 24, 200 * 66 * 3, 27, 25),
            _conv(49 * 15 * 36, 99 * 32 * 24, 216, 13),
            _conv(24 * 7 * 48, 49 * 15 * 36, 324, 3),
            _conv(22 * 4 * 64, 24 * 7 * 48, 432, 3),
            _conv(20 * 2 * 64, 22 * 4 * 64, 576, 2),
            Population(100, 2560, 100, 12),
            Population(50, 100, 50, 1),
            Population(10, 50, 10, 1),
            Population(1, 10, 1, 1),
        ),
    ),
)

UNCOUNTED = (
    "SHD with 1,024 hidden neurons on Loihi 2: 0.50 mJ a sample (arXiv 2503.04341); SHD with "
    "delays: 0.36 to 0.46 mJ (arXiv 2510.13757)",
    "PilotNet as a sigma-delta network on Loihi 2: 16.9 frames a second, 16.3 mJ each, bound by "
    "its input (lava-dl, pilotnet_sdnn/benchmark.ipynb)",
)
"""Measurements whose counts are not published, or that input and output decide."""
