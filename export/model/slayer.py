"""Layers of SLAYER's neurons, in the integers that SLAYER itself exports."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from export import checks, loihi2
from export.checks import ModelError
from export.model.fields import CONSTANT, SPARSE_ROWS, NetxField
from export.model.layer import BIAS_BITS, SPIKE_BITS, RegisterEnds, SpikingLayer, magnitude
from export.steps import cuba, sigma_delta
from export.steps.arithmetic import saturate
from export.steps.cuba import CubaParams, CubaState
from export.steps.sigma_delta import (
    MESSAGE_EXP,
    MESSAGE_MAX,
    STATE_EXP,
    SigmaDeltaParams,
    SigmaDeltaState,
)

ACTIVATION = "relu"
"""Activation of sigma-delta neurons; Lava's know no other."""
REF_DELAY = 1
"""Refractory delay of SLAYER's CUBA neurons, which know no other."""

_BIAS_FIELD = NetxField("bias", "bias_mant", SPARSE_ROWS, np.float32)


@dataclass(frozen=True, eq=False, kw_only=True)
class SlayerLayer(SpikingLayer):
    """Weights as SLAYER quantises them, and biases."""

    bias_mant: np.ndarray

    requantisable: ClassVar[bool] = False
    weight_type: ClassVar[type[np.generic]] = np.float32  # whole numbers, as SLAYER keeps its own

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_weights(loihi2.CUBA_WEIGHT_MIN, loihi2.CUBA_WEIGHT_MAX)
        for field in ("weight", "weight_rec"):
            weight = getattr(self, field)
            if weight is not None:
                self._check_stock(field, weight)

    def check_place(self, unit: int, steps: int) -> None:
        """Require the unit of the inputs, which these layers do not fold into their weights."""
        checks.integer(self.name, "input_exp", self.input_exp, unit, unit)

    def _check_stock(self, field: str, weight: np.ndarray) -> None:
        if (weight % 2).any():
            expected = "even integers, as SLAYER exports them"
            raise ModelError.about(self.name, field, expected, "odd ones")
        if weight.max() <= 0 and weight.min() == loihi2.CUBA_WEIGHT_MIN:
            found = f"{loihi2.CUBA_WEIGHT_MIN}, which Lava's Dense clips"
            raise ModelError.about(self.name, field, "-254..0 if none is positive", found)


@dataclass(frozen=True, eq=False, kw_only=True)
class CubaLayer(SlayerLayer):
    """SLAYER's CUBA neurons: ``du``, ``dv``, ``vth`` as Lava's stock LIF takes them."""

    du: int
    dv: int
    vth: int

    kind: ClassVar[str] = "CUBA"
    multiplications: ClassVar[int] = 2  # the decays of U and V
    netx: ClassVar[tuple[NetxField, ...]] = (
        _BIAS_FIELD,
        # Lava's LIF adds 1 to its du.
        NetxField("neuron/iDecay", "du", offset=1, limits=(0, loihi2.DECAY_ONE)),
        NetxField("neuron/vDecay", "dv"),
        NetxField("neuron/vThMant", "vth"),
        NetxField("neuron/refDelay", form=CONSTANT, value=REF_DELAY),
        NetxField("neuron/gradedSpike", form=CONSTANT, value=False),
    )
    lava_sum_shift: ClassVar[int] = loihi2.CURRENT_SHIFT

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.integer(self.name, "du", self.du, -1, loihi2.DECAY_ONE - 1)
        checks.integer(self.name, "dv", self.dv, 0, loihi2.DECAY_ONE)
        checks.integer(self.name, "vth", self.vth, 0, loihi2.CUBA_VTH_MAX)
        self._per_row("bias_mant", self.bias_mant, loihi2.BIAS_MANT_MIN, loihi2.BIAS_MANT_MAX)

    @property
    def sum_right_shift(self) -> int:
        """Right shift that makes spikes of graded messages, as far as the weights can tell."""
        return self.input_exp

    @property
    def params(self) -> CubaParams:
        """The registers, as :func:`export.steps.cuba.step` takes them."""
        bias = self.per_neuron(self.bias_mant.astype(np.int64)) << loihi2.CURRENT_SHIFT
        return CubaParams(self.du, self.dv, self.vth, bias)

    def start(self, rest: np.ndarray) -> CubaState:
        """U, V and S are 0."""
        return CubaState(rest, rest, rest)

    def advance(self, acc: np.ndarray, k: int, state: CubaState) -> CubaState:
        """Take :func:`export.steps.cuba.step`."""
        return cuba.step(acc, state, self.params)

    @property
    def state_bits(self) -> int:
        """Bits of U, V, the spike and the bias."""
        return 2 * loihi2.STATE_BITS + SPIKE_BITS + BIAS_BITS

    def bounds(self, least: np.ndarray, most: np.ndarray, steps: int) -> tuple[RegisterEnds, ...]:
        """Largest |U| before it wraps and |V| before it saturates.

        U and V rise with their old values and with the sum, so intervals go through the equations
        end by end. A V that decays did not spike: it is at most the threshold; one that spiked
        restarts from 0.
        """
        p, threshold = self.params, self.vth << loihi2.CURRENT_SHIFT
        u_low = u_high = v_low = v_high = np.zeros(self.neurons, np.int64)
        u, v = (np.empty((self.neurons, steps), np.int64) for _ in range(2))
        for t in range(steps):
            u_low, u_high = cuba.current(least, u_low, p), cuba.current(most, u_high, p)
            u[:, t] = magnitude(u_low, u_high)
            # Where U may wrap, its bound says so; V goes on with all that one turn can make of it.
            wraps, turn = u[:, t] > loihi2.STATE_MAX, 2 * cuba.HALF_TURN
            u_low = np.where(wraps, np.minimum(u_low + turn, -loihi2.STATE_MAX), u_low)
            u_high = np.where(wraps, np.maximum(u_high - turn, cuba.HALF_TURN), u_high)
            v_low = cuba.membrane(u_low, np.minimum(v_low, 0), p)
            v_high = cuba.membrane(u_high, np.clip(v_high, 0, threshold), p)
            v[:, t] = magnitude(v_low, v_high)
            v_low, v_high = saturate(v_low), saturate(v_high)
        return (
            RegisterEnds("U", u, loihi2.STATE_MAX),
            RegisterEnds("V", v, loihi2.SAFE_STATE_MAX),
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class SigmaDeltaLayer(SlayerLayer):
    """SLAYER's sigma-delta neurons with ReLU: they send graded changes of their activation."""

    vth: int

    kind: ClassVar[str] = "SDNN"
    message_bits: ClassVar[int] = loihi2.MESSAGE_BITS_MAX
    # The twin gives σ for V, and messages for spikes.
    registers: ClassVar[dict[str, str]] = {"σ": "v", "message": "spikes"}
    netx: ClassVar[tuple[NetxField, ...]] = (
        _BIAS_FIELD,
        NetxField("neuron/vThMant", "vth"),
        NetxField("neuron/activation", form=CONSTANT, value=ACTIVATION),
    )
    lava_sum_shift: ClassVar[int] = 0
    output_range: ClassVar[tuple[int, int]] = (-MESSAGE_MAX, MESSAGE_MAX)
    output_exp: ClassVar[int] = MESSAGE_EXP

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.weight_rec is not None:
            raise ModelError.about(self.name, "weight_rec", "none for sigma-delta neurons", "some")
        if self.delay is not None:
            # A spiking layer shifts the sum of its graded inputs; Lava's delayed synapses would
            # shift those of each delay apart.
            raise ModelError.about(self.name, "delay", "none for sigma-delta neurons", "some")
        checks.integer(self.name, "vth", self.vth, 0, loihi2.CUBA_VTH_MAX)
        self._per_row("bias_mant", self.bias_mant, -loihi2.SDNN_BIAS_MAX, loihi2.SDNN_BIAS_MAX)

    @property
    def params(self) -> SigmaDeltaParams:
        """The registers, as :func:`export.steps.sigma_delta.step` takes them."""
        bias = self.per_neuron(self.bias_mant.astype(np.int64)) << MESSAGE_EXP
        return SigmaDeltaParams(MESSAGE_EXP - self.input_exp, bias, self.vth << MESSAGE_EXP)

    def start(self, rest: np.ndarray) -> SigmaDeltaState:
        """Every register is 0."""
        return SigmaDeltaState(rest, rest, rest, rest)

    def advance(self, acc: np.ndarray, k: int, state: SigmaDeltaState) -> SigmaDeltaState:
        """Take :func:`export.steps.sigma_delta.step`."""
        return sigma_delta.step(acc, state, self.params)

    @property
    def state_bits(self) -> int:
        """Bits of one word: Intel's compiler counts as much for this neuron as for a LIF."""
        return 2 * loihi2.SUM_BITS

    def bounds(self, least: np.ndarray, most: np.ndarray, steps: int) -> tuple[RegisterEnds, ...]:
        """Largest |σ|, with and without the bias, and |message| if none were cut.

        σ sums the inputs, so its ends are t times those of a step. What has been sent moves
        towards the activation A = max(σ + b, 0) and never past it, so it stays in 0..max A, and so
        does the difference |Δ| that the next message is made of.
        """
        p = self.params
        passed = np.arange(1, steps + 1)
        low, high = ((ends << p.shift)[:, None] * passed for ends in (least, most))
        bias = p.bias[:, None]
        sigma = np.maximum(magnitude(low, high), magnitude(low + bias, high + bias))
        # A fall of one unit is sent as −1: a message is shifted right rounding down.
        message = -(-np.maximum(high + bias, 0) >> STATE_EXP)
        return (
            RegisterEnds("σ", sigma, loihi2.SUM_MAX),
            # The largest message may be one that was cut.
            RegisterEnds("message", message, MESSAGE_MAX - 1),
        )
