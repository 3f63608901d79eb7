"""The ALIF neuron as a Lava Process, and its models: spikes raise the threshold.

Absolute imports only: Lava executes this file a second time, under a bare name.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from lava.magma.core.model.py.type import LavaPyType

from export.loihi2 import DECAY_BITS, STATE_BITS
from export.model.alif import AlifLayer
from export.model.layer import Layer
from export.steps import alif
from lava_procs.leaky import LeakyFixedModel, LeakyFloatModel, LeakyProcess
from lava_procs.sampled import FIXED, FLOAT, FixedSums, FloatSums, model_of


class ALIF(LeakyProcess):
    """A layer of ALIF neurons; see :mod:`export.steps.alif` and :class:`LeakyProcess`."""

    layer_type: ClassVar[type[Layer]] = AlifLayer
    state_names: ClassVar[tuple[str, ...]] = ("theta", "v", "s")


class AlifConstants:
    """Vars of both models that other leaky neurons do not have."""

    process = ALIF
    beta_mant: np.ndarray = LavaPyType(np.ndarray, np.int64, precision=DECAY_BITS)
    gamma_int: np.ndarray = LavaPyType(np.ndarray, np.int64, precision=STATE_BITS)


@model_of(ALIF, FLOAT)
class PyALIFModelFloat(AlifConstants, FloatSums, LeakyFloatModel):
    """Behind float synapses."""

    theta: np.ndarray = LavaPyType(np.ndarray, np.float32)


@model_of(ALIF, FIXED)
class PyALIFModelFixed(AlifConstants, FixedSums, LeakyFixedModel):
    """Behind fixed-point synapses."""

    theta: np.ndarray = LavaPyType(np.ndarray, np.int64, precision=STATE_BITS)

    def load(self) -> None:
        decays, thresholds = (self.alpha_mant, self.beta_mant), (self.theta0_int, self.gamma_int)
        self.p = alif.AlifParams(*decays, *thresholds, self.shift, self.bias)

    def step(self, arrived: np.ndarray) -> tuple[Any, ...]:
        state = alif.AlifState(self.theta, self.v, self.s)
        return alif.step(arrived.astype(np.int64), state, self.p)
