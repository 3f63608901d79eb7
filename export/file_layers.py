"""A file's layers as a module: the floats that its integers stand for, layer by layer."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import torch
from torch import nn

from export.checks import ModelError
from export.loihi2 import DECAY_ONE
from export.model import CelifLayer, FixedNetwork
from export.qat_layer import Part
from export.quantization import FloatLayer, scales
from export.stacks import Stack, encoding_values
from export.te import PHASE_ONE
from export.te import Cosine as CosineForm
from training import encodings
from training.encodings import Cosine
from training.functional import WIDTH


class FileLayer(nn.Module):
    """Weights, biases and temporal encoding of one CE-LIF layer."""

    def __init__(self, layer: CelifLayer, scale: float) -> None:
        super().__init__()
        unit = scales(layer.weight_exp, layer.weight.ndim) * scale
        self.weight = _parameter(layer.weight / unit)
        self.bias = _parameter(layer.bias * 2.0**-layer.fraction_bits)
        self.te = _encoding(layer)


class FileLayers(nn.Module):
    """CE-LIF layers and readout of a file.

    A :class:`training.Network` can be less than a file: its layers share one encoding, and one α,
    β and Θ0.
    """

    def __init__(self, fixed: FixedNetwork) -> None:
        super().__init__()
        plain = fixed.readout is not None and all(
            isinstance(layer, CelifLayer)
            and not layer.late.any()
            and layer.weight_rec is None
            and layer.geometry is None
            for layer in fixed.layers
        )
        if not plain:
            expected = "unshifted CELIF layers, dense and without feedback, and a readout"
            raise ModelError.about("network", "layers", expected, "others")
        scale = fixed.encoding.scale
        self.layers = nn.ModuleList()
        for layer in fixed.layers:
            assert isinstance(layer, CelifLayer)
            self.layers.append(FileLayer(layer, scale))
            scale = 1.0
        last = fixed.readout
        assert last is not None
        self.readout = nn.Linear(last.inputs, last.neurons)
        self.readout.weight = _parameter(last.weight * 2.0**-last.weight_exp)
        self.readout.bias = _parameter(last.bias * 2.0**-last.weight_exp)

    def parts(self, scale: float) -> Iterator[Part]:
        """The float tensors of every layer, for inputs in units of ``scale``."""
        for layer in self.layers:
            yield Part(layer.weight, layer.bias, encodings.table(layer.te), scale, WIDTH)
            scale = 1.0

    @torch.no_grad()
    def stack(self, formats: FixedNetwork) -> Stack:
        """The layers' values, with the dynamics that their formats have."""
        layers = []
        for i, (layer, form) in enumerate(zip(self.layers, formats.layers, strict=True)):
            assert isinstance(form, CelifLayer)
            te, turns = encoding_values(layer.te)
            layers.append(
                FloatLayer(
                    name=form.name,
                    weight=_numbers(layer.weight),
                    bias=_numbers(layer.bias),
                    te=te,
                    turns=turns,
                    table=i,
                    alpha=form.alpha_mant / DECAY_ONE,
                    beta=form.beta_mant / DECAY_ONE,
                    theta0=form.theta0_int * 2.0**-form.fraction_bits,
                    lag=form.lag,
                    delay_shift=form.delay_shift,
                )
            )
        readout = _numbers(self.readout.weight), _numbers(self.readout.bias)
        tensors = {name: p.detach() for name, p in self.named_parameters()}
        return Stack(layers, readout, formats.steps, tensors, formats.encoding.permutation)


def _encoding(layer: CelifLayer) -> nn.Parameter | Cosine:
    if not isinstance(layer.te_form, CosineForm):
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
