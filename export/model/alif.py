"""Layers of ALIF neurons in integers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from export import loihi2
from export.model.fields import NetxField, decay_fields, neuron_fields
from export.model.layer import RegisterEnds, magnitude
from export.model.lif import (
    BIAS_FIELD,
    DECAY,
    FORMAT_FIELDS,
    STATE,
    Constants,
    LeakyLayer,
    kept_ends,
)
from export.steps import alif
from export.steps.alif import AlifParams, AlifState
from export.steps.arithmetic import saturate
from export.steps.lif import membrane
from export.steps.listing import Program


@dataclass(frozen=True, eq=False, kw_only=True)
class AlifLayer(LeakyLayer):
    """ALIF neurons: a spike raises the threshold by γ = gamma_int · 2^−F, which decays by β."""

    beta_mant: int | np.ndarray
    gamma_int: int

    kind: ClassVar[str] = "ALIF"
    multiplications: ClassVar[int] = 2  # α·V, β·(Θ−Θ0)
    constants: ClassVar[Constants] = {
        **LeakyLayer.constants,
        "beta_mant": ("beta", DECAY),
        "gamma_int": ("gamma", STATE),
    }
    states: ClassVar[int] = 2
    registers: ClassVar[dict[str, str]] = {"V": "v", "Θ": "theta"}
    netx: ClassVar[tuple[NetxField, ...]] = (
        BIAS_FIELD,
        *decay_fields({"alphaMant": "alpha_mant", "betaMant": "beta_mant"}),
        *neuron_fields({"vThMant": "theta0_int", "vThStep": "gamma_int"}),
        *FORMAT_FIELDS,
    )
    step_at = staticmethod(alif.step_at)

    @property
    def params(self) -> AlifParams:
        """The constants, as :func:`export.steps.alif.step` takes them."""
        decays = self.decay("alpha_mant"), self.decay("beta_mant")
        thresholds = self.theta0_int, self.gamma_int
        shift, bias = self.per_neuron(self.shift), self.per_neuron(self.bias)
        return AlifParams(*decays, *thresholds, shift, bias)

    def start(self, rest: np.ndarray) -> AlifState:
        """V and S are 0, and Θ is Θ0."""
        return AlifState(rest + self.theta0_int, rest, rest)

    def advance(self, acc: np.ndarray, k: int, state: AlifState) -> AlifState:
        """Take :func:`export.steps.alif.step`."""
        return alif.step(acc, state, self.params)

    def bounds(self, least: np.ndarray, most: np.ndarray, steps: int) -> tuple[RegisterEnds, ...]:
        """Largest |V| and |Θ| before they saturate.

        V rises with what is kept of the old V and with the sum, Θ with the old Θ and, by the sign
        of γ, with the spike; so intervals go through the equations end by end, with the spikes
        that :func:`export.model.lif.kept_ends` leaves possible. Before the first step S is 0.
        """
        p = self.params
        low = high = np.zeros(self.neurons, np.int64)
        theta_low = theta_high = low + self.theta0_int
        silent, spiked = np.ones(self.neurons, bool), np.zeros(self.neurons, bool)
        v, theta = (np.empty((self.neurons, steps), np.int64) for _ in range(2))
        for t in range(steps):
            for_low, for_high = (spiked, ~silent) if self.gamma_int < 0 else (~silent, spiked)
            theta_low = alif.threshold(theta_low, for_low.astype(np.int64), p)
            theta_high = alif.threshold(theta_high, for_high.astype(np.int64), p)
            v_low, v_high = membrane(least, low, p), membrane(most, high, p)
            v[:, t], theta[:, t] = magnitude(v_low, v_high), magnitude(theta_low, theta_high)
            theta_low, theta_high = saturate(theta_low), saturate(theta_high)
            v_low, v_high = saturate(v_low), saturate(v_high)
            low, high, silent, spiked = kept_ends(v_low, v_high, theta_low, theta_high)
        limit = loihi2.SAFE_STATE_MAX
        return RegisterEnds("V", v, limit), RegisterEnds("Θ", theta, limit)

    def listing(self) -> Program:
        """One step of a neuron in generic instructions."""
        return alif.listing()
