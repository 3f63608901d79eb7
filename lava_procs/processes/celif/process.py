"""The CE-LIF neuron as a Lava Process; its parameters are the integers of a netx file."""

from __future__ import annotations

from typing import Any

import numpy as np
from lava.magma.core.process.ports.ports import InPort, OutPort
from lava.magma.core.process.process import AbstractProcess, LogConfig
from lava.magma.core.process.variable import Var
from numpy.typing import ArrayLike

from export import ModelError
from export.loihi2 import PACKED_BITS, TE_BITS_MAX
from export.model.network import CelifLayer
from export.model.te import DENSE, CosineTable, Form
from lava_procs.clock import Clock


def _one_or_each(value: ArrayLike) -> Var:
    """A Var of one value for all neurons, or of one each."""
    values = np.atleast_1d(value)
    return Var(shape=values.shape, init=values)


class CELIF(AbstractProcess):
    """A layer of CE-LIF neurons.

    Integers (``fixed_pt``, see :mod:`export.steps.celif`) or the float32 that they stand for
    (``floating_pt``, see :mod:`training.dynamics`).

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
        Decays of V and of Θ − Θ0, in 1/4096.
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
    lag, steps, period
        Time index, see :mod:`lava_procs.clock`; ``steps`` defaults to TE's, ``period`` to
        ``steps``.
    ignore_first
        Discard what arrives at k = 0: for a layer after a shifted block, whose first input is
        zero by construction.
    dense_exp
        The float model divides its input by 2^dense_exp. netx synapses hold weights twice their
        mantissas with ``weight_exp=-1``, which Lava's float Dense ignores.
    probe
        Prefix of trace files, see :mod:`lava_procs.probes`.

    Notes
    -----
    Vars: ``v`` (before the reset), ``theta``, ``s`` and the parameters. ``te`` is what is kept: a
    table (N, columns), bytes of two mantissas each, or a cosine's phase increments (N,), which
    come with ``te_wave`` and the accumulator ``te_phase``; these are single zeros otherwise.
    Parameters that are set while running take effect with the next sample.
    """

    # Lava stops a Process when it is deleted, also one whose arguments were refused.
    _runtime: Any = None

    def __init__(
        self,
        *,
        shape: tuple[int, ...],
        te: ArrayLike,
        te_exp: int | np.ndarray,
        alpha_mant: int,
        beta_mant: int,
        theta0_int: int,
        fraction_bits: int,
        weight_exp: int | np.ndarray,
        te_form: Form = DENSE,
        bias_mant: ArrayLike = 0,
        bias_exp: int = 0,
        lag: int = 1,
        steps: int | None = None,
        period: int | None = None,
        ignore_first: bool = False,
        dense_exp: int = 0,
        probe: str | None = None,
        name: str | None = None,
        log_config: LogConfig | None = None,
    ):
        owner = name or "CELIF"
        if len(shape) != 1 or shape[0] < 1:
            raise ModelError(f"{owner} shape: expected (neurons,), got {tuple(shape)}")
        neurons = int(shape[0])
        bias = np.asarray(bias_mant)
        # Checks every range; the synapse is not ours, so its weight is a stand-in.
        layer = CelifLayer(
            name=owner,
            weight=np.zeros((neurons, 1), np.int64),
            lag=1,
            delay_shift=False,
            te=np.asarray(te),
            te_exp=te_exp,
            te_bits=PACKED_BITS if te_form.encoding == "packed" else TE_BITS_MAX,
            te_form=te_form,
            weight_exp=weight_exp,
            weight_bits=8,
            fraction_bits=fraction_bits,
            alpha_mant=alpha_mant,
            beta_mant=beta_mant,
            theta0_int=theta0_int,
            bias_mant=np.full(neurons, bias) if bias.ndim == 0 else bias,
            bias_exp=bias_exp,
        )
        table_steps = layer.te.shape[1]
        steps = table_steps if steps is None else steps
        if steps > table_steps:
            raise ModelError(
                f"{owner} steps: expected at most {table_steps}, the steps of its TE table, "
                f"got {steps}"
            )
        if dense_exp < 0:
            raise ModelError(f"{owner} dense_exp: expected 0 or more, got {dense_exp}")
        super().__init__(
            shape=(neurons,),
            clock=Clock(lag, steps, steps if period is None else period),
            ignore_first=ignore_first,
            dense_exp=dense_exp,
            te_form=te_form,
            probe=probe,
            name=name,
            log_config=log_config,
        )
        self.shape = (neurons,)
        self.a_in = InPort(shape=self.shape)
        self.s_out = OutPort(shape=self.shape)
        self.v = Var(shape=self.shape, init=0)
        self.theta = Var(shape=self.shape, init=0)
        self.s = Var(shape=self.shape, init=0)
        stored = te_form.stored(layer.te)
        self.te = Var(shape=stored.shape, init=stored)
        cosine = isinstance(te_form, CosineTable)
        wave = te_form.wave if isinstance(te_form, CosineTable) else np.zeros(1, np.int64)
        self.te_wave = Var(shape=wave.shape, init=wave)
        self.te_phase = Var(shape=self.shape if cosine else (1,), init=0)
        self.bias_mant = Var(shape=self.shape, init=layer.bias_mant)
        # Arrays of one, although scalars: Lava's get hangs on a model's Python floats.
        self.te_exp = _one_or_each(te_exp)
        self.alpha_mant = Var(shape=(1,), init=alpha_mant)
        self.beta_mant = Var(shape=(1,), init=beta_mant)
        self.theta0_int = Var(shape=(1,), init=theta0_int)
        self.fraction_bits = Var(shape=(1,), init=fraction_bits)
        self.weight_exp = _one_or_each(weight_exp)
        self.bias_exp = Var(shape=(1,), init=bias_exp)

    @classmethod
    def from_layer(cls, layer: CelifLayer, **timing: Any) -> CELIF:
        """The neurons of a layer of a netx file.

        ``timing`` are the arguments that a layer does not know, or overrides of those that it
        does: steps, period, ignore_first, dense_exp, probe, lag, name.
        """

        def per_neuron(value: int | np.ndarray) -> int | np.ndarray:
            # In a convolution, what a channel has is for all of its pixels.
            return layer.per_neuron(value) if isinstance(value, np.ndarray) else value

        fields = {
            "te": layer.per_neuron(layer.te),
            "te_exp": per_neuron(layer.te_exp),
            "te_form": layer.te_form.repeated(layer.positions),
            "alpha_mant": layer.alpha_mant,
            "beta_mant": layer.beta_mant,
            "theta0_int": layer.theta0_int,
            "fraction_bits": layer.fraction_bits,
            # Sums of graded messages, and what the synapse shifts them by.
            "weight_exp": per_neuron(layer.weight_exp) + layer.input_exp - layer.sum_right_shift,
            "bias_mant": layer.per_neuron(layer.bias_mant),
            "bias_exp": layer.bias_exp,
            "lag": layer.lag,
            "name": layer.name,
        }
        return cls(shape=(layer.neurons,), **{**fields, **timing})
