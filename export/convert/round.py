"""From float values to the integers of a layer, once its formats are known.

Every rounding of the project is here: weights, TE, biases, thresholds and decays go to the nearest
integer, halves to the even one, and are clipped to their bits. Which formats to take is the
business of :mod:`export.convert.choose`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from export import loihi2
from export.checks import ModelError
from export.convert.float_network import FloatLayer, FloatNetwork
from export.convert.formats import LayerFormat
from export.model import te
from export.model.input_coding import Encoding
from export.model.lif import DECAY, LeakyLayer
from export.model.network import CelifLayer, FixedNetwork, ReadoutLayer
from export.model.te import CosineTable, Form, Table
from training.slayer.mantissa import EXPONENT_MAX, mantissa_max


def scales(exp: int | np.ndarray, ndim: int) -> np.ndarray:
    """2^exp for all, or for each of the first of ``ndim`` axes."""
    powers = 2.0 ** np.asarray(exp, np.float64)
    return powers.reshape(-1, *(1,) * (ndim - 1)) if powers.ndim else powers


def mantissas(values: np.ndarray, exp: int | np.ndarray, bits: int) -> np.ndarray:
    """Integers nearest to values · 2^exp, clipped to ``bits`` bits; exp for all or per row."""
    limit = mantissa_max(bits)
    scaled = values * scales(exp, values.ndim)
    return np.clip(np.rint(scaled), -limit, limit).astype(np.int64)


def encode_te(values: FloatLayer, form: LayerFormat) -> tuple[np.ndarray, Form]:
    """Mantissas (row, step) of a layer's TE, and the form that keeps them."""
    steps = values.te.shape[1]
    if not isinstance(form.te_form, Table):
        if values.turns is None:
            raise ModelError.about(values.name, "te", "cosines, as its format generates", "a table")
        cosine = CosineTable(te.increments(values.turns), form.te_form)
        return cosine.decode(cosine.increment, steps), cosine
    means = te.block_means(values.te, form.te_form.hold)
    columns = mantissas(means, form.te_exp, form.te_bits)
    return form.te_form.held(columns, steps), form.te_form


def bias_mantissas(bias: np.ndarray, fraction_bits: int, bias_exp: int) -> np.ndarray:
    """Integers nearest to bias · 2^(F − bias_exp), clipped to Loihi's 13 bits."""
    whole = np.rint(bias * 2.0 ** (fraction_bits - bias_exp))
    return np.clip(whole, loihi2.BIAS_MANT_MIN, loihi2.BIAS_MANT_MAX).astype(np.int64)


def decay_mantissa(owner: str, name: str, value: float) -> int:
    """12-bit mantissa of a decay below one."""
    if not isinstance(value, float):
        raise ModelError(
            f"{owner} {name}: expected one number, which a file can express, got a value per neuron"
        )
    mant = round(value * loihi2.DECAY_ONE)
    if not 0 <= mant < loihi2.DECAY_ONE:
        largest = 1 - 0.5 / loihi2.DECAY_ONE
        raise ModelError(f"{owner} {name}: expected 0 up to {largest:.5f}, got {value}")
    return mant


def constants(values: FloatLayer, fraction_bits: int) -> dict[str, int]:
    """Integers of the layer's constants, each rounded as the table of its kind says."""
    found = {}
    for field, (name, rounding) in values.kind.constants.items():
        value = getattr(values, name)
        if rounding == DECAY:
            found[field] = decay_mantissa(values.name, name, value)
        else:
            found[field] = round(value * 2.0**fraction_bits)
    return found


def integer_layer(values: FloatLayer, form: LayerFormat) -> LeakyLayer:
    """Integers of a layer in given formats."""
    own = values.weight_rec
    encoded: dict[str, Any] = {}
    if issubclass(values.kind, CelifLayer):
        table, te_form = encode_te(values, form)
        encoded = {
            "te": table, "te_form": te_form, "te_exp": form.te_exp, "te_bits": form.te_bits
        }  # fmt: skip
    return values.kind(
        name=values.name,
        weight=mantissas(values.folded_weight(form.input_exp), form.weight_exp, form.weight_bits),
        input_exp=form.input_exp,
        geometry=values.geometry,
        weight_rec=None if own is None else mantissas(own, form.weight_exp, form.weight_bits),
        lag=values.lag,
        delay_shift=values.delay_shift,
        delay=values.delay,
        weight_exp=form.weight_exp,
        weight_bits=form.weight_bits,
        fraction_bits=form.fraction_bits,
        bias_mant=bias_mantissas(values.bias, form.fraction_bits, form.bias_exp),
        bias_exp=form.bias_exp,
        **constants(values, form.fraction_bits),
        **encoded,
    )


def require_relays(values: FloatLayer, layer: LeakyLayer) -> None:
    """Raise ModelError unless the relays of a layer fire whenever their one input does."""
    if values.relays:
        own = layer.weight[-values.relays :].max(1) >> layer.sum_right_shift
        least = int((own << layer.shift[-values.relays :]).min())
        if not 0 < layer.theta0_int <= least:
            expected = f"relays with weights of at least Θ0 = {layer.theta0_int}"
            remedy = 'use rule="max" or more weight bits'
            raise ModelError.about(layer.name, "weight", expected, least, remedy)


def requantise(net: FloatNetwork, formats: FixedNetwork) -> FixedNetwork:
    """Integers of a network's present values, in the formats that ``formats`` has."""
    net = net.with_input_scale(formats.encoding.scale)
    layers: list[Any] = [
        integer_layer(values, LayerFormat.of(form))
        if isinstance(values, FloatLayer) and isinstance(form, LeakyLayer)
        else values  # whose integers are SLAYER's own
        for values, form in zip(net.layers, formats.layers, strict=True)
    ]
    readout = None
    if net.readout is not None and formats.readout is not None:
        readout = requantise_readout(*net.readout, formats.readout)
    return replace(formats, layers=tuple(layers), readout=readout)


def requantise_readout(weight: np.ndarray, bias: np.ndarray, layer: ReadoutLayer) -> ReadoutLayer:
    """Integers of a readout's new values in the formats that ``layer`` has."""
    return replace(
        layer,
        weight=mantissas(weight, layer.weight_exp, layer.weight_bits),
        bias=np.rint(bias * 2.0**layer.weight_exp).astype(np.int64),
    )


def integer_readout(
    name: str,
    weight: np.ndarray,
    bias: np.ndarray,
    lag: int,
    bits: int,
    steps: int,
    best: int,
) -> ReadoutLayer:
    """Integers of the linear readout; the bias has the exponent of the weights.

    That exponent is ``best`` or, if it is too large, the largest whose sums stay within the
    readout's register for ``steps`` steps.
    """
    for exp in range(best, -EXPONENT_MAX - 1, -1):
        whole = np.rint(bias * 2.0**exp)
        if np.abs(whole).max() > loihi2.READOUT_MAX:
            continue
        readout = ReadoutLayer(
            name=name,
            weight=mantissas(weight, exp, bits),
            lag=lag,
            delay_shift=False,
            weight_exp=exp,
            weight_bits=bits,
            bias=whole.astype(np.int64),
        )
        if readout.worst_case(steps) <= loihi2.READOUT_MAX:
            return readout
    raise ModelError.about(
        name, "bias", "sums that fit into 32 bits", f"|b| up to {np.abs(bias).max():g}"
    )


def choose_encoding(
    x: np.ndarray, bits: int, permutation: np.ndarray | None = None, whole: bool = False
) -> Encoding:
    """Encoding of inputs like ``x`` with at most ``bits`` bits; exact where x lies on a grid.

    With ``whole``, x must be whole numbers, and stays what it is.
    """
    if not 1 <= bits <= loihi2.MESSAGE_BITS_MAX:
        raise ModelError(f"input_bits: expected 1..{loihi2.MESSAGE_BITS_MAX}, got {bits}")
    signed, largest = bool(x.min() < 0), float(np.abs(x).max()) or 1.0
    levels = (1 << bits) - 1
    if whole:
        if largest > levels or not np.array_equal(x, np.rint(x)):
            raise ModelError(
                f"calibration: expected whole numbers up to {levels}, because the first block is a "
                f"CUBA one, got {x.min():g}..{x.max():g}; encode the data as spikes"
            )
        levels = int(largest)
    else:
        levels = _grid(np.unique(x) / largest, levels)
    return Encoding(x.shape[1], largest / levels, levels.bit_length(), signed, permutation)


def _grid(values: np.ndarray, levels: int) -> int:
    """Fewest levels that hold all of ``values`` in −1..1, or ``levels`` if none up to it do."""
    # 0, 1/16, … becomes 16 levels, not 255. Most grids are ruled out by a few of the values.
    few = values[:: -(-len(values) // 64)]

    def holds(grid: int, some: np.ndarray) -> bool:
        return bool(np.abs(some * grid - np.rint(some * grid)).max() < 1e-4)

    fits = (g for g in range(1, levels + 1) if holds(g, few) and holds(g, values))
    return next(fits, levels)
