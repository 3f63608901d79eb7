"""Float and fixed models of LIF. Absolute imports only, as in celif/models.py."""

from __future__ import annotations

from typing import Any

import numpy as np

from export.steps import lif
from lava_procs.leaky import LeakyFixedModel, LeakyFloatModel
from lava_procs.processes.lif.process import LIF
from lava_procs.sampled import FIXED, FLOAT, FixedSums, FloatSums, model_of


@model_of(LIF, FLOAT)
class PyLIFModelFloat(FloatSums, LeakyFloatModel):
    """Behind float synapses."""

    process = LIF


@model_of(LIF, FIXED)
class PyLIFModelFixed(FixedSums, LeakyFixedModel):
    """Behind fixed-point synapses."""

    process = LIF

    def load(self) -> None:
        self.p = lif.LifParams(self.alpha_mant, self.theta0_int, self.shift, self.bias)

    def step(self, arrived: np.ndarray) -> tuple[Any, ...]:
        return lif.step(arrived.astype(np.int64), lif.LifState(self.v, self.s), self.p)
