"""One block as a layer: CE-LIF in float, SLAYER's in the integers it exports."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import h5py
import numpy as np

from export.checks import ModelError
from export.convert.float_network import (
    FloatLayer,
    decay_values,
    encoding_values,
    layer_kind,
)
from export.graph.blocks import is_convolution, synapses_of
from export.loihi2 import DELAY_MAX
from export.model.geometry import Geometry, Shape
from export.model.slayer import CubaLayer, SigmaDeltaLayer, SlayerLayer
from export.netx.names import NetxError
from export.netx.read import read_layer
from training.slayer.neuron import Neuron

EXPECTED = "a CELIF block, or a CUBA or sigma-delta Dense, Conv or Recurrent block"
SLAYER_KINDS = (CubaLayer.kind, SigmaDeltaLayer.kind)
"""SLAYER's neurons that the twin and Lava run as SLAYER does."""
REMEDIES = {"type": "pool with training.block.Pool, or a Conv with a stride"}


@dataclass
class BlockReader:
    """Reads one block after another, and keeps track of what the next one receives, and when."""

    input_shape: Shape
    layers: list[FloatLayer | SlayerLayer] = field(default_factory=list)
    steps: int = 0
    lag: int = 1
    unit: int = 0
    tables: dict[int, int] = field(default_factory=dict)

    def read(self, module: Any, name: str) -> None:
        """Add a block."""
        layer: FloatLayer | SlayerLayer
        if isinstance(module.neuron, Neuron):
            layer = self.celif(module, name)
            self.steps = max(self.steps, layer.te.shape[1])
            self.unit = 0
        else:
            layer = self.slayer(module, name)
            self.unit = layer.output_exp
        self.layers.append(layer)
        self.lag += 1 - layer.delay_shift
        rows = len(layer.weight)
        geometry = layer.geometry
        self.input_shape = (
            Shape(rows, 1, 1) if geometry is None else geometry.output_shape(layer.weight)
        )

    def celif(self, module: Any, name: str) -> FloatLayer:
        """Float values of a block of this package, as its forward pass uses them."""
        neuron: Neuron = module.neuron
        te, turns = encoding_values(neuron.te_table if neuron.te is None else neuron.te)
        rows = neuron.num_neurons
        table = self.tables.setdefault(id(neuron.te), len(self.tables))
        return FloatLayer(
            name=name,
            kind=layer_kind(neuron.kind.name),
            te=te[:rows],
            turns=None if turns is None else turns[:rows],
            table=table,
            alpha=decay_values(neuron.alpha),
            beta=decay_values(neuron.beta),
            theta0=neuron.theta0,
            gamma=neuron.gamma,
            lag=self.lag,
            delay_shift=bool(module.delay_shift),
            delay=_delay(module, name),
            weight_bits=neuron.weight_bits,
            **self.weights(module),
            bias=_bias(module),
            input_scale=2.0**-self.unit,
        )

    def weights(self, module: Any) -> dict[str, Any]:
        """Weights of a CE-LIF block, recurrent ones too, and their geometry."""
        if not synapses_of(module):
            factor = module.weight
            factor = 1.0 if factor is None else module.neuron.quantize_weight(factor).item()
            rows = module.neuron.num_neurons
            return {
                "weight": np.full((rows, 1, 1, 1), factor),
                "geometry": Geometry(self.input_shape, groups=rows),
            }
        weight, *own = (_used(synapse) for synapse in synapses_of(module))
        if is_convolution(module):
            return {"weight": weight[..., 0], "geometry": self.geometry(module.synapse)}
        found: dict[str, Any] = {"weight": weight.reshape(len(weight), -1)}
        if own:
            found["weight_rec"] = own[0].reshape(len(own[0]), -1)
        return found

    def geometry(self, synapse: Any) -> Geometry:
        """Geometry of a SLAYER convolution, whose third axis is time."""
        pairs = {
            name: tuple(int(value) for value in getattr(synapse, name)[:2])
            for name in ("stride", "padding", "dilation")
        }
        return Geometry(self.input_shape, groups=int(synapse.groups), **pairs)  # type: ignore[arg-type]

    def slayer(self, module: Any, name: str) -> SlayerLayer:
        """Return the integers of a SLAYER block, from its own export."""
        if module.neuron.shape is None or _delay_is_unknown(module):
            raise ModelError(
                f"{name}: run a forward pass, or pass calibration data, before exporting"
            )
        with h5py.File("block", "w", driver="core", backing_store=False) as f:
            group = f.create_group("layer/0")
            module.export_hdf5(group)
            group["lag"], group["delayShift"] = self.lag, bool(module.delay_shift)
            if self.unit:
                group["inExp"] = self.unit
            if is_convolution(module):
                group["inShape"] = np.array(self.input_shape)
            kind = group["neuron/type"].asstr()[()]
            if kind not in SLAYER_KINDS:
                # SLAYER's ALIF, for example, is another neuron than the ALIF of our files.
                raise ModelError(
                    f"{name} neuron/type: expected {' or '.join(SLAYER_KINDS)} of a SLAYER block, "
                    f"got {kind!r}; expected {EXPECTED}"
                )
            if "weight_exp" in group["neuron"]:
                raise ModelError(
                    f"{name} norm: expected none that scales weights, got "
                    f"{type(module.neuron.norm).__name__}; netx never reads its scale"
                )
            try:
                layer = read_layer(f, 0, name)
            except NetxError as error:
                field = error.dataset.removeprefix("/layer/0/")
                raise ModelError(
                    f"{name} {field}: expected {error.expected}, got {error.found}; "
                    + REMEDIES.get(field, f"expected {EXPECTED}")
                ) from None
        if not isinstance(layer, SlayerLayer):
            raise ModelError(f"{name}: expected {EXPECTED}, got a {layer.kind} block")
        return layer


def _used(synapse: Any) -> np.ndarray:
    """Weights as the forward pass uses them."""
    weight = synapse.weight.detach()
    if synapse.pre_hook_fx is not None:
        weight = synapse.pre_hook_fx(weight)
    return weight.cpu().numpy().astype(np.float64)


def _bias(module: Any) -> np.ndarray:
    neuron: Neuron = module.neuron
    bias = np.zeros(neuron.num_neurons)
    # That of an Input block is one for all of its neurons.
    for each in (neuron.bias, None if synapses_of(module) else module.bias):
        if each is not None:
            bias = bias + each.detach().cpu().double().numpy()
    return bias


def _delay_is_unknown(module: Any) -> bool:
    """Whether a block's delays are not drawn yet; SLAYER draws them in the first forward pass."""
    delay = getattr(module, "delay", None)
    return delay is not None and not delay.init


def _delay(module: Any, name: str) -> np.ndarray | None:
    """Axonal delays in whole steps, as SLAYER uses them; None if there are none."""
    delay = getattr(module, "delay", None)
    if delay is None:
        return None
    if not delay.init:
        raise ModelError(f"{name}: run a forward pass, or pass calibration data, before exporting")
    steps = np.floor(delay.delay.detach().cpu().numpy()).clip(0, DELAY_MAX).astype(np.int64)
    return steps if steps.any() else None
