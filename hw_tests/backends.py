"""Everything that can run an exported network, behind one call.

``torch`` runs the dequantised parameters in float32, and the integers as quantisation-aware
training does, ``twin`` the integers in the batched twin,
``lava`` both in Lava on the CPU, ``loihi2`` the integers on the chip. ``oracle``, in plain Python
integers, is there to judge and not among the targets.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch

from export import FixedNetwork, QuantizedNetwork, Trace, simulate
from export.loihi2 import DECAY_ONE
from export.model import CelifLayer
from export.synapses import sent
from export.twin import synaptic_sums
from hw_tests.chip import run_loihi2, why_no_loihi2
from hw_tests.voices import run_oracle
from training import reference
from training.dynamics import Params
from training.functional import WIDTH

TARGETS = ("torch", "twin", "lava", "loihi2")


@dataclass(frozen=True)
class Backend:
    """A way to run a network; ``arithmetic`` is ``"float"`` or ``"fixed"``."""

    target: str
    arithmetic: str
    run: Callable[[FixedNetwork, np.ndarray], Trace]
    missing: Callable[[], str | None] = lambda: None
    """Why it cannot run here, or None."""

    def __str__(self) -> str:
        return f"{self.target} {self.arithmetic}"


@dataclass(frozen=True)
class DequantisedLayer:
    """Float32 values that a CE-LIF layer's integers stand for."""

    params: Params
    te: torch.Tensor
    bias: torch.Tensor
    unit: torch.Tensor
    """What one unit of each neuron's synaptic sum is worth."""

    @classmethod
    def of(cls, layer: CelifLayer, steps: int) -> DequantisedLayer:
        """Dequantise; every scale is a power of two, so nothing is rounded."""
        one = 2.0**-layer.fraction_bits
        return cls(
            params=Params(
                layer.alpha_mant / DECAY_ONE, layer.beta_mant / DECAY_ONE, layer.theta0_int * one
            ),
            te=torch.from_numpy(
                (layer.te[:, :steps] * 2.0 ** -layer.te_shift[:, None]).astype(np.float32)
            ),
            bias=torch.from_numpy((layer.bias * one).astype(np.float32)),
            unit=torch.from_numpy(2.0 ** (layer.shift - layer.fraction_bits).astype(np.float32)),
        )

    def current(self, sums: np.ndarray) -> torch.Tensor:
        """Input current (batch, neuron, time) of exact synaptic sums (batch, time, neuron)."""
        # The bias comes last and alone, so that there is one rounding, the same in Lava.
        return (torch.from_numpy(sums.astype(np.float32)) * self.unit + self.bias).transpose(1, 2)


class FloatRun(NamedTuple):
    """One dequantised layer: its values, what it received, and every state."""

    values: DequantisedLayer
    current: torch.Tensor
    states: reference.States


def float_layers(net: FixedNetwork, graded: np.ndarray) -> Iterator[FloatRun]:
    """Run the dequantised layers one after another by the reference loop, in float32."""
    inputs, largest = graded.transpose(0, 2, 1), max(map(abs, net.encoding.range))
    for layer in net.layers:
        if not isinstance(layer, CelifLayer):
            raise ValueError(f"{layer.name}: the float run knows CELIF layers, got {layer.kind}")
        values = DequantisedLayer.of(layer, graded.shape[2])
        current = values.current(synaptic_sums(layer, inputs, largest))
        with torch.no_grad():
            states = reference.scan(current, values.te, values.params, WIDTH)
        yield FloatRun(values, current, states)
        inputs, largest = sent(states.s.transpose(1, 2).numpy(), layer.late), 1


def run_torch(net: FixedNetwork, x: np.ndarray) -> Trace:
    """Run the dequantised network by PyTorch's reference loop, in float32."""
    graded = net.encode(x)
    states = [run.states for run in float_layers(net, graded)]
    sent = states[-1].s[..., : -1 if net.layers[-1].delay_shift else None]
    logits = sent.sum(-1, dtype=torch.float64).numpy()
    if net.readout is not None:
        logits = logits @ net.readout.weight.T + net.readout.bias * graded.shape[2]
    return Trace(
        logits,
        spikes=[s.s.numpy().astype(np.int8) for s in states],
        v=[s.v.numpy() for s in states],
        theta=[s.theta.numpy() for s in states],
    )


def _run_lava(precision: str) -> Callable[[FixedNetwork, np.ndarray], Trace]:
    def run(net: FixedNetwork, x: np.ndarray) -> Trace:
        from lava_procs import run as run_in_lava  # slow to import, and an extra

        return run_in_lava(net, x, precision=precision)

    return run


def _no_lava() -> str | None:
    if importlib.util.find_spec("lava") is None or importlib.util.find_spec("lava.magma") is None:
        return "Lava is not installed; pip install 'celif-lava[lava]' on Python 3.10"
    return None


def run_quantised(net: FixedNetwork, x: np.ndarray) -> Trace:
    """Run the forward pass of quantisation-aware training."""
    return QuantizedNetwork.of(net).trace(torch.from_numpy(net.encode(x)))


BACKENDS = (
    Backend("oracle", "fixed", run_oracle),
    Backend("torch", "float", run_torch),
    Backend("torch", "fixed", run_quantised),
    Backend("twin", "fixed", lambda net, x: simulate(net, x, trace=True)),
    Backend("lava", "float", _run_lava("float"), _no_lava),
    Backend("lava", "fixed", _run_lava("fixed"), _no_lava),
    Backend("loihi2", "fixed", run_loihi2, why_no_loihi2),
)


def backend(target: str, arithmetic: str) -> Backend:
    """The back end of that target and arithmetic."""
    return next(b for b in BACKENDS if (b.target, b.arithmetic) == (target, arithmetic))
