"""Reading a layer's synapses, of the types ``dense``, ``dense_rec``, ``conv`` and ``input``."""

from __future__ import annotations

from typing import Any

import numpy as np

from export.model.geometry import Geometry, Shape
from export.netx.file_values import Values
from export.netx.names import CONV, DENSE_REC, FLATTEN, INPUT, PAIRS, TYPES


def read_synapses(values: Values, at: str) -> dict[str, Any]:
    """Fields of a layer that :func:`export.netx.write.write_layer` writes for its synapses."""
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
