"""Layers of CE-LIF neurons in integers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from export import checks, loihi2
from export.checks import ModelError
from export.model.fields import TE, NetxField, decay_fields, exponent_fields, neuron_fields
from export.model.layer import SHIFT_BITS
from export.model.lif import BIAS_FIELD, DECAY, FORMAT_FIELDS, Constants, LeakyLayer
from export.model.te import DENSE, CosineTable, Form
from export.steps import celif
from export.steps.celif import IntParams, State
from training.slayer.mantissa import mantissa_max


@dataclass(frozen=True, eq=False, kw_only=True)
class CelifLayer(LeakyLayer):
    """CE-LIF neurons: a leaky membrane, and a threshold that TE and the membrane move.

    TE · 2^−te_exp and β = beta_mant / 4096 are the float values. The exponent of TE is one for
    all, or one per output channel. ``te`` holds every mantissa, (row, step), however ``te_form``
    says that it is kept.
    """

    te: np.ndarray
    te_exp: int | np.ndarray
    te_bits: int
    te_form: Form = DENSE
    beta_mant: int | np.ndarray

    kind: ClassVar[str] = "CELIF"
    multiplications: ClassVar[int] = 3  # α·V, β·(Θ−Θ0), TE·V
    constants: ClassVar[Constants] = {
        **LeakyLayer.constants,
        "beta_mant": ("beta", DECAY),
    }
    states: ClassVar[int] = 2
    registers: ClassVar[dict[str, str]] = {"V": "v", "Θ": "theta"}
    netx: ClassVar[tuple[NetxField, ...]] = (
        BIAS_FIELD,
        *decay_fields({"alphaMant": "alpha_mant", "betaMant": "beta_mant"}),
        *neuron_fields({"vThMant": "theta0_int"}),
        *exponent_fields({"teExp": "te_exp"}),
        *neuron_fields({"teBits": "te_bits"}),
        *FORMAT_FIELDS,
        NetxField("neuron/te", "te", TE),
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.integer(self.name, "te_bits", self.te_bits, loihi2.TE_BITS_MIN, loihi2.TE_BITS_MAX)
        self._one_or_each("te_exp", 0, loihi2.TE_EXP_MAX)
        checks.per_neuron(self.name, "te", self.te, 2, self.rows)
        self.te_form.check(self.name, self.te, self.te_bits)
        te_max = mantissa_max(self.te_bits)
        checks.integers(self.name, "te", self.te, -te_max, te_max)

    def check_place(self, unit: int, steps: int) -> None:
        """Refuse a TE that is not as long as the network's samples."""
        if self.te.shape[1] != steps:
            expected = f"{steps} steps, as the network has"
            raise ModelError.about(self.name, "te", expected, self.te.shape[1])

    @property
    def te_shift(self) -> np.ndarray:
        """Right shifts (row,) of TE · V."""
        return np.broadcast_to(np.asarray(self.te_exp, np.int64), self.rows)

    @property
    def params(self) -> IntParams:
        """The constants, as :func:`export.steps.celif.step` takes them."""
        return IntParams(
            self.decay("alpha_mant"),
            self.decay("beta_mant"),
            self.theta0_int,
            self.per_neuron(self.te_shift),
            self.per_neuron(self.shift),
            self.per_neuron(self.bias),
        )

    def start(self, rest: np.ndarray) -> State:
        """V and S are 0, and Θ is Θ0."""
        return State(rest + self.theta0_int, rest, rest)

    def advance(self, acc: np.ndarray, k: int, state: State) -> State:
        """Take :func:`export.steps.celif.step` with TE of step k."""
        te = self.per_neuron(self.te[:, k]).astype(np.int64)
        return celif.step(acc, te, state, self.params)

    @property
    def state_bits(self) -> int:
        """Bits of the registers, of a cosine's phase and increment, and of an exponent."""
        phase = 2 * loihi2.PHASE_BITS if isinstance(self.te_form, CosineTable) else 0
        return super().state_bits + phase + SHIFT_BITS * (np.ndim(self.te_exp) > 0)
