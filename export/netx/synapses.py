"""Synapses in a netx file: types ``dense``, ``dense_rec``, ``conv``, ``input`` and ``flatten``."""

from __future__ import annotations

from typing import Any

import h5py
import numpy as np

from export.model.geometry import Geometry, Shape
from export.model.layer import Layer
from export.netx.names import CONV, DENSE, DENSE_REC, FLATTEN, INPUT, TYPES
from export.netx.values import Values

PAIRS = ("stride", "padding", "dilation")


def layer_type(layer: Layer) -> str:
    """Netx's name for the layer's synapses."""
    if layer.geometry is None:
        return DENSE if layer.weight_rec is None else DENSE_REC
    alike = bool((layer.weight == layer.weight.flat[0]).all())
    return INPUT if alike and layer.geometry.one_to_one(layer.weight) else CONV


def _write_type(group: h5py.Group, name: str) -> None:
    group.create_dataset("type", (1,), "S10", [name.encode()])


def write_flatten(group: h5py.Group, before: Layer) -> None:
    """Write that the images of ``before`` become vectors."""
    _write_type(group, FLATTEN)
    group["shape"] = np.array([before.neurons, 1, 1])


def write_synapses(group: h5py.Group, layer: Layer) -> None:
    """Write the weights of a layer, and how its output is delayed."""
    kind = layer_type(layer)
    _write_type(group, kind)
    weight = layer.weight.ravel()[:1] if kind == INPUT else layer.weight
    group["weight"] = weight.astype(layer.weight_type)
    if layer.geometry is None:
        group["shape"] = np.array([layer.neurons])
        group["inFeatures"], group["outFeatures"] = layer.inputs, layer.neurons
    else:
        group["shape"] = np.array(layer.output_shape)
    if kind == CONV:
        _write_geometry(group, layer.geometry, layer.weight)
    if layer.weight_rec is not None:
        group["weight_rec"] = layer.weight_rec.astype(layer.weight_type)
    if layer.delay is not None:
        group["delay"] = layer.delay.astype(np.int8)
    if layer.input_exp:
        group["inExp"] = layer.input_exp


def _write_geometry(group: h5py.Group, geometry: Geometry | None, weight: np.ndarray) -> None:
    assert geometry is not None  # of a convolution
    group["inShape"] = np.array(geometry.input_shape)
    group["inChannels"], group["outChannels"] = geometry.input_shape.channels, len(weight)
    group["kernelSize"] = np.array(weight.shape[2:])
    for name in PAIRS:
        group[name] = np.array(getattr(geometry, name))
    group["groups"] = geometry.groups


def read_synapses(values: Values, at: str) -> dict[str, Any]:
    """Fields of a layer that :func:`write_synapses` writes."""
    kind = values.text(f"{at}/type")
    if kind not in TYPES:
        raise values.error(f"{at}/type", ", ".join((*TYPES, FLATTEN)), kind)
    shape = values.array(f"{at}/shape", 1).tolist()
    fields: dict[str, Any] = {}
    if kind == INPUT:
        fields |= _one_to_one(values, at, shape)
    elif kind == CONV:
        fields |= _convolution(values, at, shape)
    else:
        weight = values.array(f"{at}/weight", 2)
        values.equal(f"{at}/shape", shape, [len(weight)])
        values.equal(f"{at}/outFeatures", values.integer(f"{at}/outFeatures"), weight.shape[0])
        values.equal(f"{at}/inFeatures", values.integer(f"{at}/inFeatures"), weight.shape[1])
        fields["weight"] = weight
    if kind == DENSE_REC:
        fields["weight_rec"] = values.array(f"{at}/weight_rec", 2)
    if f"{at}/delay" in values.f:
        fields["delay"] = values.array(f"{at}/delay", 1)
    if f"{at}/inExp" in values.f:
        fields["input_exp"] = values.integer(f"{at}/inExp")
    return fields


def _one_to_one(values: Values, at: str, shape: list[int]) -> dict[str, Any]:
    image = _image(values, f"{at}/shape", shape)
    factor = values.array(f"{at}/weight", 1)
    values.equal(f"{at}/weight", factor.shape, (1,))
    weight = np.broadcast_to(factor, (image.channels, 1, 1, 1)).copy()
    return {"weight": weight, "geometry": Geometry(image, groups=image.channels)}


def _convolution(values: Values, at: str, shape: list[int]) -> dict[str, Any]:
    weight = values.array(f"{at}/weight", 4)
    pairs = {}
    for name in PAIRS:
        pair = values.array(f"{at}/{name}", 1)
        values.equal(f"{at}/{name}", pair.shape, (2,))
        pairs[name] = (int(pair[0]), int(pair[1]))
    place = f"{at}/inShape"
    image = _image(values, place, values.array(place, 1).tolist())
    geometry = Geometry(image, groups=values.integer(f"{at}/groups"), **pairs)
    values.checked(geometry.check, owner=at, weight=weight)
    claims: tuple[tuple[str, object, object], ...] = (
        ("shape", shape, list(geometry.output_shape(weight))),
        ("inChannels", values.integer(f"{at}/inChannels"), image.channels),
        ("outChannels", values.integer(f"{at}/outChannels"), len(weight)),
        ("kernelSize", values.array(f"{at}/kernelSize", 1).tolist(), list(weight.shape[2:])),
    )
    for name, found, expected in claims:
        values.equal(f"{at}/{name}", found, expected)
    return {"weight": weight, "geometry": geometry}


def _image(values: Values, name: str, shape: list[int]) -> Shape:
    if len(shape) != 3 or min(shape) < 1:
        raise values.error(name, "channels, height and width", str(shape))
    return Shape(*shape)
