"""The networks that our training step is compared with, in the same shape.

Each is set to the fastest that its library offers on a CPU and computes as little as it can: no
learnable decays, one matrix product a layer for the whole sequence, the mean over time before the
readout. α = 0.5 and Θ0 = 0.3 everywhere, as in our neuron, so that every layer fires.
"""

from __future__ import annotations

import importlib
import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import nn

from benchmarks.speed.workloads import Workload
from training.functional import ALPHA, BETA, THETA0


class PeerNetwork(nn.Module):
    """Spiking layers with our readout; a subclass says what a layer is."""

    layers: nn.ModuleList
    time_axis = -1

    def __init__(self, shape: Workload) -> None:
        super().__init__()
        torch.manual_seed(0)
        widths = (shape.in_features, *shape.hidden)
        self.layers = nn.ModuleList(self.layer(m, n) for m, n in itertools.pairwise(widths))
        self.readout = nn.Linear(shape.hidden[-1], shape.classes)

    def layer(self, inputs: int, neurons: int) -> nn.Module:
        """Synapses and neurons."""
        raise NotImplementedError

    def hidden_spikes(self, x: torch.Tensor) -> list[torch.Tensor]:
        """Spikes of every layer for ``x`` (batch, channel, time)."""
        x = x.movedim(-1, self.time_axis)
        spikes = []
        for layer in self.layers:
            x = layer(x)
            spikes.append(x)
        return spikes

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Logits (batch, classes) of ``x`` (batch, channel, time)."""
        return self.readout(self.hidden_spikes(x)[-1].mean(self.time_axis))


class Slayer(PeerNetwork):
    """A stack of SLAYER's blocks.

    Without ``delay_shift``, which would cost a copy a layer, and with next to no synaptic current.
    """

    # The surrogate of lava-dl's tutorials: with its defaults 1e-9 reaches the first layer.
    neuron: ClassVar[dict[str, float]] = {
        "threshold": THETA0,
        "current_decay": 1.0,
        "voltage_decay": 1 - ALPHA,
        "tau_grad": 0.03,
        "scale_grad": 3,
    }


class SlayerAlif(Slayer):
    """The nearest to ours: an adaptive threshold."""

    def layer(self, inputs: int, neurons: int) -> nn.Module:
        from lava.lib.dl.slayer.block import alif  # five seconds, and only here

        adaptation = {
            "threshold_step": 0.1,
            "threshold_decay": 1 - BETA,
            "refractory_decay": 1 - ALPHA,
        }
        params = self.neuron | adaptation
        return alif.Dense(params, inputs, neurons, weight_scale=3, delay_shift=False)


class SlayerCuba(Slayer):
    """Loihi's own neuron."""

    def layer(self, inputs: int, neurons: int) -> nn.Module:
        from lava.lib.dl.slayer.block import cuba

        params = dict(self.neuron)
        return cuba.Dense(params, inputs, neurons, weight_scale=1.5, delay_shift=False)


class PeerScan(nn.Module):
    """A product for the whole sequence, then one call of the neuron a step; time comes first."""

    def __init__(
        self, inputs: int, neurons: int, neuron: nn.Module, reset: Callable[[], object]
    ) -> None:
        super().__init__()
        self.synapses, self.neuron, self.reset = nn.Linear(inputs, neurons), neuron, reset
        nn.init.zeros_(self.synapses.bias)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Spikes (time, batch, neuron)."""
        self.reset()
        # unbind, not indexing, whose backward pass would allocate a whole sequence per step.
        return torch.stack([self.neuron(x_t) for x_t in self.synapses(x).unbind()])


class WholeScan(PeerScan):
    """For a neuron that walks through time by itself."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Spikes (time, batch, neuron)."""
        self.reset()
        return self.neuron(self.synapses(x))


class SnnTorch(PeerNetwork):
    """Leaky, with its default surrogate (arc tangent) and reset (by subtraction, detached)."""

    time_axis = 0

    def layer(self, inputs: int, neurons: int) -> nn.Module:
        # By name, because mypy must pass whether or not the package is installed.
        leaky = importlib.import_module("snntorch").Leaky
        neuron = leaky(beta=ALPHA, threshold=THETA0, init_hidden=True)
        return PeerScan(inputs, neurons, neuron, neuron.reset_mem)


class SpikingJelly(PeerNetwork):
    """LIF with the fastest of its settings: surrogate and reset are then those of snnTorch's Leaky.

    Called once a step; its multi-step mode is far slower on a CPU when T is large.
    """

    time_axis = 0
    step_mode = "s"

    def layer(self, inputs: int, neurons: int) -> nn.Module:
        library = "spikingjelly.activation_based"
        surrogate = importlib.import_module(f"{library}.surrogate").ATan()
        neuron = importlib.import_module(f"{library}.neuron").LIFNode(
            tau=1 / (1 - ALPHA), decay_input=False, v_threshold=THETA0, v_reset=None,
            surrogate_function=surrogate, detach_reset=True, step_mode=self.step_mode,
        )  # fmt: skip
        scan = PeerScan if self.step_mode == "s" else WholeScan
        return scan(inputs, neurons, neuron, neuron.reset)


class SpikingJellyMultiStep(SpikingJelly):
    """The same with the library's own loop.

    On a CPU that indexes the sequence at every step, and each index's backward pass writes the
    whole sequence: the time grows with the square of T.
    """

    step_mode = "m"


class Lstm(nn.Module):
    """One layer, with as many units as come closest to the parameter count of our network."""

    def __init__(self, shape: Workload) -> None:
        super().__init__()
        wanted, inputs, classes = shape.network().num_parameters, shape.in_features, shape.classes

        def excess(units: int) -> int:
            return abs(4 * units * (inputs + units + 2) + classes * (units + 1) - wanted)

        torch.manual_seed(0)
        self.lstm = nn.LSTM(inputs, min(range(1, 2000), key=excess))
        self.readout = nn.Linear(self.lstm.hidden_size, classes)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Logits (batch, classes) of ``x`` (batch, channel, time)."""
        y, _ = self.lstm(x.permute(2, 0, 1))
        return self.readout(y.mean(0))


@dataclass(frozen=True)
class Peer:
    """A network to time; ``repetitions`` and ``warm_up`` are the most it is worth waiting for."""

    name: str
    build: Callable[[Workload], Any]
    spiking: bool = True
    repetitions: int = 1000
    warm_up: int = 3


PEERS = {
    "alif": Peer("SLAYER ALIF", SlayerAlif),
    "cuba": Peer("SLAYER CUBA", SlayerCuba),
    "snntorch": Peer("snnTorch Leaky", SnnTorch),
    "spikingjelly": Peer("SpikingJelly LIF, single-step", SpikingJelly),
    "spikingjelly_multi": Peer(
        "SpikingJelly LIF, multi-step", SpikingJellyMultiStep, repetitions=1, warm_up=0
    ),
    "autograd": Peer("CE-LIF by plain autograd", lambda shape: shape.network("reference")),
    "lstm": Peer("torch LSTM", Lstm, spiking=False),
}
