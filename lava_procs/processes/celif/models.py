"""Float and fixed models of CELIF: thin shells around the two shared steps.

Absolute imports only: Lava executes this file a second time, under a bare name.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from lava.magma.core.model.py.ports import PyOutPort
from lava.magma.core.model.py.type import LavaPyType

from export.loihi2 import (
    BIAS_EXP_BITS,
    BIAS_MANT_BITS,
    DECAY_BITS,
    DECAY_ONE,
    STATE_BITS,
    TE_BITS_MAX,
)
from export.steps import celif
from lava_procs.processes.celif.process import CELIF
from lava_procs.sampled import FIXED, FLOAT, FixedSums, FloatSums, SampledModel, model_of
from training import dynamics
from training.support import compiled

STEPS_THAT_PAY_FOR_NUMBA = 20_000
"""Importing numba takes as long as this many plain steps of a layer."""


class AbstractCELIFModel(SampledModel):
    """The part that does not depend on the arithmetic."""

    te: np.ndarray = LavaPyType(np.ndarray, np.int64, precision=TE_BITS_MAX)
    te_wave: np.ndarray = LavaPyType(np.ndarray, np.int64, precision=TE_BITS_MAX)
    te_phase: np.ndarray = LavaPyType(np.ndarray, np.int64, precision=STATE_BITS)
    te_exp: np.ndarray = LavaPyType(np.ndarray, np.int64)
    alpha_mant: np.ndarray = LavaPyType(np.ndarray, np.int64, precision=DECAY_BITS)
    beta_mant: np.ndarray = LavaPyType(np.ndarray, np.int64, precision=DECAY_BITS)
    theta0_int: np.ndarray = LavaPyType(np.ndarray, np.int64, precision=STATE_BITS)
    fraction_bits: np.ndarray = LavaPyType(np.ndarray, np.int64)
    weight_exp: np.ndarray = LavaPyType(np.ndarray, np.int64)
    bias_mant: np.ndarray = LavaPyType(np.ndarray, np.int64, precision=BIAS_MANT_BITS)
    bias_exp: np.ndarray = LavaPyType(np.ndarray, np.int64, precision=BIAS_EXP_BITS)
    s_out: PyOutPort = LavaPyType(PyOutPort.VEC_DENSE, np.int8, precision=1)
    v: np.ndarray
    theta: np.ndarray
    s: np.ndarray

    def load(self) -> np.ndarray:
        """Bring the parameters into the step's form; return the resting threshold."""
        raise NotImplementedError

    def step(self, arrived: np.ndarray, k: int) -> tuple[Any, Any, Any]:
        """Return Θ, V and S after step k."""
        raise NotImplementedError

    def begin(self) -> None:
        self.te_at = self.proc_params["te_form"].generator(self.te, self.te_wave, self.te_phase)
        self.theta[:] = self.load()
        self.v[:] = 0
        self.s[:] = 0

    def advance(self, arrived: np.ndarray, k: int) -> np.ndarray:
        self.theta, self.v, self.s = self.step(arrived, k)
        return self.s

    def record(self, sample: int, k: int) -> None:
        self.probe.write((sample, k), v=self.v, theta=self.theta, s=self.s)


@model_of(CELIF, FLOAT)
class PyCELIFModelFloat(FloatSums, AbstractCELIFModel):
    """Computes in float32, bit for bit what PyTorch computes with the dequantised parameters."""

    v: np.ndarray = LavaPyType(np.ndarray, np.float32)
    theta: np.ndarray = LavaPyType(np.ndarray, np.float32)
    s: np.ndarray = LavaPyType(np.ndarray, bool)

    def load(self) -> np.ndarray:
        # Powers of two: every quotient and product here is exact.
        unit = np.ldexp(np.float32(1), -self.fraction_bits)
        self.scale = np.ldexp(np.float32(1), -self.weight_exp - self.proc_params["dense_exp"])
        self.bias = np.ldexp(self.bias_mant.astype(np.float32), self.bias_exp) * unit
        self.p = dynamics.Params(
            alpha=(self.alpha_mant / DECAY_ONE).astype(np.float32),
            beta=(self.beta_mant / DECAY_ONE).astype(np.float32),
            theta0=self.theta0_int.astype(np.float32) * unit,
        )
        return self.p.theta0

    def step(self, arrived: np.ndarray, k: int) -> tuple[Any, Any, Any]:
        # The sum of integers is exact; adding the bias last rounds once, as PyTorch does.
        x = arrived.astype(np.float32) * self.scale + self.bias
        te = np.ldexp(self.te_at(k).astype(np.float32), -self.te_exp)
        state = dynamics.State(self.theta, self.v, self.s)
        return dynamics.step(x, te, state, self.p, np.greater_equal)


@model_of(CELIF, FIXED)
class PyCELIFModelFixed(FixedSums, AbstractCELIFModel):
    """Computes in Loihi's integers, with 64 bits for intermediate results."""

    compiles = False
    compiled_step: Any = None
    v: np.ndarray = LavaPyType(np.ndarray, np.int64, precision=STATE_BITS)
    theta: np.ndarray = LavaPyType(np.ndarray, np.int64, precision=STATE_BITS)
    s: np.ndarray = LavaPyType(np.ndarray, np.int64, precision=1)

    def load(self) -> np.ndarray:
        self.p = celif.IntParams(
            alpha_mant=self.alpha_mant,
            beta_mant=self.beta_mant,
            theta0_int=self.theta0_int,
            te_exp=self.te_exp,
            shift=self.fraction_bits - self.weight_exp,
            bias=self.bias_mant << self.bias_exp,
        )
        self.compiled_step = None
        if self.compiles:
            from export.twin.one_step import CelifStep  # imports numba

            self.compiled_step = CelifStep(self.v.size, self.p)
        return self.theta0_int

    def step(self, arrived: np.ndarray, k: int) -> tuple[Any, Any, Any]:
        state = celif.State(self.theta, self.v, self.s)
        if self.compiled_step is not None:
            return self.compiled_step(arrived, self.te_at(k), state)
        return celif.step(arrived.astype(np.int64), self.te_at(k), state, self.p)

    def in_one_process(self, steps: int) -> None:
        """Use the compiled step from the next sample on, if that saves time.

        The inline runtime calls this before it runs ``steps`` steps. In Lava's own runtime every
        process would have to import numba, which takes longer than most runs save.
        """
        pays = compiled.is_loaded() or steps >= STEPS_THAT_PAY_FOR_NUMBA
        self.compiles = compiled.AVAILABLE and pays
