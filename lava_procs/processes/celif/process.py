"""The CE-LIF neuron as a Lava Process; its parameters are the integers of a netx file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from export import ModelError
from export.loihi2 import PACKED_BITS, TE_BITS_MAX, WEIGHT_BITS
from export.model.network import CelifLayer, Layer
from export.model.te import DENSE, CosineTable, Form
from lava_procs.sampled import SampledProcess, Timing, per_row

if TYPE_CHECKING:
    from typing_extensions import Unpack


class CELIF(SampledProcess):
    """A layer of CE-LIF neurons.

    One model computes in integers (``fixed_pt``, see :mod:`export.steps.celif`), the other in the
    float32 values that the integers stand for (``floating_pt``, see :mod:`training.dynamics`).

    Parameters
    ----------
    shape
        ``(N,)``.
    te
        TE mantissas (N, T); TE = te · 2^−te_exp.
    te_exp
        Exponent of TE; one for all, or one per neuron.
    te_form
        How the Process keeps ``te``, see :mod:`export.model.te`: its models read, unpack or
        generate the mantissas of a step from that.
    alpha_mant, beta_mant
        Decays of V and of Θ − Θ0, in 1/4096; each one for all, or one per neuron.
    theta0_int
        Resting threshold, in units of 2^−fraction_bits.
    fraction_bits
        Fractional bits of V and Θ.
    weight_exp
        The synapse's sum stands for sum · 2^−weight_exp; V receives sum « (fraction_bits −
        weight_exp). One for all, or one per neuron.
    bias_mant, bias_exp
        Bias, one mantissa for all neurons or one each, and its exponent, in units of
        2^−fraction_bits.
    steps
        Steps of a sample; by default those of ``te``, which may not be fewer.
    timing
        See :class:`lava_procs.sampled.Timing`.

    Notes
    -----
    The Vars are ``v`` (before the reset), ``theta``, ``s`` and the parameters. ``te`` holds what is
    stored: a table (N, columns), bytes of two mantissas each, or a cosine's phase increments (N,),
    which come with ``te_wave`` and the accumulator ``te_phase``; these are single zeros otherwise.
    Parameters that are set while running take effect with the next sample.
    """

    layer_type: ClassVar[type[Layer]] = CelifLayer

    def __init__(
        self,
        *,
        shape: tuple[int, ...],
        te: ArrayLike,
        te_exp: int | np.ndarray,
        alpha_mant: int | np.ndarray,
        beta_mant: int | np.ndarray,
        theta0_int: int,
        fraction_bits: int,
        weight_exp: int | np.ndarray,
        te_form: Form = DENSE,
        bias_mant: ArrayLike = 0,
        bias_exp: int = 0,
        steps: int | None = None,
        **timing: Unpack[Timing],
    ):
        registers: dict[str, Any] = {
            "te_exp": te_exp,
            "alpha_mant": alpha_mant,
            "beta_mant": beta_mant,
            "theta0_int": theta0_int,
            "fraction_bits": fraction_bits,
            "weight_exp": weight_exp,
            "bias_mant": per_row(bias_mant, shape[0] if shape else 0),
            "bias_exp": bias_exp,
        }
        layer = self.checked(
            shape,
            timing.get("name"),
            te=np.asarray(te),
            te_bits=PACKED_BITS if te_form.encoding == "packed" else TE_BITS_MAX,
            te_form=te_form,
            weight_bits=WEIGHT_BITS,
            **registers,
        )
        table_steps = layer.te.shape[1]
        steps = table_steps if steps is None else steps
        if steps > table_steps:
            raise ModelError(
                f"{layer.name} steps: expected at most {table_steps}, the steps of its TE table, "
                f"got {steps}"
            )
        super().__init__(shape=shape, steps=steps, te_form=te_form, **timing)
        self.states("v", "theta", "s")
        self.registers(te=te_form.stored(layer.te), **registers)
        cosine = te_form.wave if isinstance(te_form, CosineTable) else None
        self.registers(
            te_wave=0 if cosine is None else cosine,
            te_phase=0 if cosine is None else np.zeros(self.shape, np.int64),
        )

    @classmethod
    def layer_fields(cls, layer: CelifLayer) -> dict[str, Any]:
        def per_neuron(value: int | np.ndarray) -> int | np.ndarray:
            # In a convolution, what a channel has is for all of its pixels.
            return layer.per_neuron(value) if isinstance(value, np.ndarray) else value

        return {
            "te": layer.per_neuron(layer.te),
            "te_exp": per_neuron(layer.te_exp),
            "te_form": layer.te_form.repeated(layer.positions),
            "alpha_mant": layer.decay("alpha_mant"),
            "beta_mant": layer.decay("beta_mant"),
            "theta0_int": layer.theta0_int,
            "fraction_bits": layer.fraction_bits,
            # Sums of graded messages, and what the synapse shifts them by.
            "weight_exp": per_neuron(layer.weight_exp) + layer.input_exp - layer.sum_right_shift,
            "bias_mant": layer.per_neuron(layer.bias_mant),
            "bias_exp": layer.bias_exp,
        }
