"""What the Processes of our leaky integrate-and-fire neurons share, and their models.

A kind of neuron adds its constants, its states and the two steps; see
:mod:`lava_procs.processes.lif.process`. CELIF, whose temporal encoding needs more, has its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from lava.magma.core.model.py.ports import PyOutPort
from lava.magma.core.model.py.type import LavaPyType
from numpy.typing import ArrayLike

from export.loihi2 import (
    BIAS_EXP_BITS,
    BIAS_MANT_BITS,
    DECAY_BITS,
    DECAY_ONE,
    STATE_BITS,
    WEIGHT_BITS,
)
from export.model.lif import DECAY, LeakyLayer
from lava_procs.sampled import SampledModel, SampledProcess, Timing, per_row
from training import dynamics

if TYPE_CHECKING:
    from typing_extensions import Unpack


class LeakyProcess(SampledProcess):
    """A row of leaky integrate-and-fire neurons, silent between samples.

    Parameters
    ----------
    shape
        ``(neurons,)``.
    steps
        Steps of a sample.
    fraction_bits
        Fractional bits of the registers.
    weight_exp
        The synapse's sum stands for sum · 2^−weight_exp; one for all neurons, or one each.
    bias_mant, bias_exp
        Bias, one mantissa for all neurons or one each, and its exponent, in units of
        2^−fraction_bits.
    constants
        The integers of the kind, as ``constants`` of its layer lists them; a decay may be one for
        all neurons, or one each.
    timing
        See :class:`lava_procs.sampled.Timing`.

    Notes
    -----
    The Vars are the states of the kind and all of the above constants.
    """

    state_names: ClassVar[tuple[str, ...]] = ("v", "s")
    """The registers of a neuron, the last of which is its spike."""

    def __init__(
        self,
        *,
        shape: tuple[int, ...],
        steps: int,
        fraction_bits: int,
        weight_exp: int | np.ndarray,
        constants: dict[str, int | np.ndarray],
        bias_mant: ArrayLike = 0,
        bias_exp: int = 0,
        **timing: Unpack[Timing],
    ):
        registers: dict[str, Any] = {
            **constants,
            "fraction_bits": fraction_bits,
            "weight_exp": weight_exp,
            "bias_mant": per_row(bias_mant, shape[0] if shape else 0),
            "bias_exp": bias_exp,
        }
        self.checked(shape, timing.get("name"), weight_bits=WEIGHT_BITS, **registers)
        super().__init__(shape=shape, steps=steps, **timing)
        self.states(*self.state_names)
        self.registers(**registers)

    @classmethod
    def layer_fields(cls, layer: LeakyLayer) -> dict[str, Any]:
        exps = layer.weight_exp
        each = layer.per_neuron(exps) if isinstance(exps, np.ndarray) else exps
        return {
            "constants": {
                name: layer.decay(name) if rounding == DECAY else getattr(layer, name)
                for name, (_, rounding) in layer.constants.items()
            },
            "fraction_bits": layer.fraction_bits,
            # Sums of graded messages, and what the synapse shifts them by.
            "weight_exp": each + layer.input_exp - layer.sum_right_shift,
            "bias_mant": layer.per_neuron(layer.bias_mant),
            "bias_exp": layer.bias_exp,
        }


class LeakyModel(SampledModel):
    """The part of a model that does not depend on the arithmetic."""

    alpha_mant: np.ndarray = LavaPyType(np.ndarray, np.int64, precision=DECAY_BITS)
    theta0_int: np.ndarray = LavaPyType(np.ndarray, np.int64, precision=STATE_BITS)
    fraction_bits: np.ndarray = LavaPyType(np.ndarray, np.int64)
    weight_exp: np.ndarray = LavaPyType(np.ndarray, np.int64)
    bias_mant: np.ndarray = LavaPyType(np.ndarray, np.int64, precision=BIAS_MANT_BITS)
    bias_exp: np.ndarray = LavaPyType(np.ndarray, np.int64, precision=BIAS_EXP_BITS)
    s_out: PyOutPort = LavaPyType(PyOutPort.VEC_DENSE, np.int8, precision=1)
    v: np.ndarray
    s: np.ndarray

    process: ClassVar[type[LeakyProcess]]

    def load(self) -> None:
        """Bring the constants into the step's form."""
        raise NotImplementedError

    def step(self, arrived: np.ndarray) -> tuple[Any, ...]:
        """Return the states after one step, in the order of the Process's ``state_names``."""
        raise NotImplementedError

    def rest(self) -> np.ndarray:
        """Return the resting threshold."""
        raise NotImplementedError

    def begin(self) -> None:
        self.load()
        for name in self.process.state_names:
            getattr(self, name)[:] = self.rest() if name == "theta" else 0

    def advance(self, arrived: np.ndarray, k: int) -> np.ndarray:
        for name, value in zip(self.process.state_names, self.step(arrived), strict=True):
            setattr(self, name, value)
        return self.s

    def record(self, sample: int, k: int) -> None:
        values = {name: getattr(self, name) for name in self.process.state_names}
        self.probe.write((sample, k), **values)


class LeakyFloatModel(LeakyModel):
    """Computes in float32, bit for bit what PyTorch computes with the dequantised constants."""

    v: np.ndarray = LavaPyType(np.ndarray, np.float32)
    s: np.ndarray = LavaPyType(np.ndarray, bool)

    def load(self) -> None:
        # Powers of two: every quotient and product here is exact.
        unit = np.ldexp(np.float32(1), -self.fraction_bits)
        self.scale = np.ldexp(np.float32(1), -self.weight_exp - self.proc_params["dense_exp"])
        self.bias = np.ldexp(self.bias_mant.astype(np.float32), self.bias_exp) * unit
        layer: type[LeakyLayer] = self.process.layer_type  # type: ignore[assignment]
        self.floats = {
            name: getattr(self, field).astype(np.float32)
            * (np.float32(1 / DECAY_ONE) if rounding == DECAY else unit)
            for field, (name, rounding) in layer.constants.items()
        }
        zero = np.zeros_like(self.floats["alpha"])
        self.gamma = self.floats.get("gamma", zero)
        beta = self.floats.get("beta", zero)
        self.p = dynamics.Params(self.floats["alpha"], beta, self.floats["theta0"])

    def rest(self) -> np.ndarray:
        return self.p.theta0

    def step(self, arrived: np.ndarray) -> tuple[Any, ...]:
        # The sum of integers is exact; adding the bias last rounds once, as PyTorch does.
        x = arrived.astype(np.float32) * self.scale + self.bias
        theta = getattr(self, "theta", np.broadcast_to(self.p.theta0, self.v.shape))
        before = dynamics.State(theta, self.v, self.s)
        new = dynamics.advance(x, self.gamma * self.s, before, self.p, np.greater_equal)
        return tuple(getattr(new, name) for name in self.process.state_names)


class LeakyFixedModel(LeakyModel):
    """Computes in Loihi's integers, with 64 bits for intermediate results."""

    v: np.ndarray = LavaPyType(np.ndarray, np.int64, precision=STATE_BITS)
    s: np.ndarray = LavaPyType(np.ndarray, np.int64, precision=1)

    def rest(self) -> np.ndarray:
        return self.theta0_int

    @property
    def shift(self) -> np.ndarray:
        """Left shift of the synaptic sums."""
        return self.fraction_bits - self.weight_exp

    @property
    def bias(self) -> np.ndarray:
        """What the bias adds to V."""
        return self.bias_mant << self.bias_exp
