"""A file's layers as a module: the floats that its integers stand for, layer by layer."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import torch
from torch import nn

from export.convert.float_network import Stack, encoding_values
from export.convert.round import FloatLayer, scales
from export.loihi2 import DECAY_ONE
from export.model.layer import SpikingLayer
from export.model.network import CelifLayer, FixedNetwork
from export.model.te import PHASE_ONE, CosineTable
from export.qat.layer import Part
from training.functional import WIDTH
from training.network import temporal_encoding
from training.network.temporal_encoding import Cosine


class FileLayer(nn.Module):
    """Weights, biases and temporal encoding of one CE-LIF layer, for inputs worth ``scale``."""

    def __init__(self, layer: CelifLayer, scale: float) -> None:
        super().__init__()
        self.scale = scale
        unit = scales(layer.weight_exp, layer.weight.ndim) * scale * 2.0**layer.input_exp
        self.weight = _parameter(layer.weight / unit)
        own = layer.weight_rec
        self.weight_rec = None if own is None else _parameter(own / scales(layer.weight_exp, 2))
        self.bias = _parameter(layer.bias * 2.0**-layer.fraction_bits)
        self.te = _encoding(layer)

    def part(self) -> Part:
        """The float tensors."""
        te = temporal_encoding.table(self.te)
        return Part(self.weight, self.bias, te, self.scale, WIDTH, self.weight_rec)


class FileLayers(nn.Module):
    """CE-LIF layers and readout of a file; SLAYER's layers keep their integers.

    A :class:`training.Network` can be less than a file: its layers share one encoding, and one α,
    β and Θ0.
    """

    def __init__(self, fixed: FixedNetwork) -> None:
        super().__init__()
        scale = fixed.encoding.scale
        self.layers = nn.ModuleList()
        for layer in fixed.layers:
            made = FileLayer(layer, scale) if isinstance(layer, CelifLayer) else nn.Identity()
            self.layers.append(made)
            scale = 2.0**-layer.output_exp
        last = fixed.readout
        self.readout = None if last is None else nn.Linear(last.inputs, last.neurons)
        if last is not None and self.readout is not None:
            self.readout.weight = _parameter(last.weight * 2.0**-last.weight_exp)
            self.readout.bias = _parameter(last.bias * 2.0**-last.weight_exp)

    def parts(self) -> Iterator[Part | None]:
        """The float tensors of every layer; None for one of SLAYER's."""
        for layer in self.layers:
            yield layer.part() if isinstance(layer, FileLayer) else None

    @torch.no_grad()
    def stack(self, formats: FixedNetwork) -> Stack:
        """The layers' values, with the dynamics that their formats have."""
        layers: list[FloatLayer | SpikingLayer] = []
        for i, (layer, form) in enumerate(zip(self.layers, formats.layers, strict=True)):
            if not isinstance(form, CelifLayer):
                layers.append(form)
                continue
            te, turns = encoding_values(layer.te)
            own = layer.weight_rec
            layers.append(
                FloatLayer(
                    name=form.name,
                    weight=_numbers(layer.weight),
                    weight_rec=None if own is None else _numbers(own),
                    geometry=form.geometry,
                    bias=_numbers(layer.bias),
                    te=te,
                    turns=turns,
                    table=i,
                    alpha=form.alpha_mant / DECAY_ONE,
                    beta=form.beta_mant / DECAY_ONE,
                    theta0=form.theta0_int * 2.0**-form.fraction_bits,
                    lag=form.lag,
                    delay_shift=form.delay_shift,
                    delay=form.delay,
                    input_unit=layer.scale if i else 1.0,
                )
            )
        readout = None
        if self.readout is not None:
            readout = _numbers(self.readout.weight), _numbers(self.readout.bias)
        tensors = {name: p.detach() for name, p in self.named_parameters()}
        return Stack(layers, readout, formats.steps, tensors, formats.encoding.permutation)


def _encoding(layer: CelifLayer) -> nn.Parameter | Cosine:
    if not isinstance(layer.te_form, CosineTable):
        return _parameter(layer.te / scales(layer.te_exp, 2))
    wave = Cosine(*layer.te.shape)
    turns = torch.from_numpy(layer.te_form.increment / PHASE_ONE)
    # In float32 a frequency is within a quarter of the 2^−22 turns that phases are counted in.
    wave.omega = nn.Parameter((turns * 2 * math.pi / wave.delta.double()).float())
    return wave


def _parameter(values: np.ndarray) -> nn.Parameter:
    return nn.Parameter(torch.from_numpy(values.astype(np.float32)))


def _numbers(tensor: torch.Tensor) -> np.ndarray:
    return tensor.detach().double().numpy()
