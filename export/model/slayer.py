"""Layers of SLAYER's neurons, in the integers that SLAYER itself exports."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from export import checks, loihi2
from export.checks import ModelError
from export.model.layer import Layer
from export.steps.cuba import CubaParams
from export.steps.sigma_delta import MESSAGE_EXP, MESSAGE_MAX, SigmaDeltaParams


@dataclass(frozen=True, eq=False, kw_only=True)
class SlayerLayer(Layer):
    """Weights as SLAYER quantises them, and biases."""

    bias_mant: np.ndarray

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_weights(loihi2.CUBA_WEIGHT_MIN, loihi2.CUBA_WEIGHT_MAX)
        for field in ("weight", "weight_rec"):
            weight = getattr(self, field)
            if weight is not None:
                self._check_stock(field, weight)

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


@dataclass(frozen=True, eq=False, kw_only=True)
class SigmaDeltaLayer(SlayerLayer):
    """SLAYER's sigma-delta neurons with ReLU: they send graded changes of their activation."""

    vth: int

    kind: ClassVar[str] = "SDNN"
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
