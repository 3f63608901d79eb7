"""Reading and writing the fields of a layer by the table of its class, whatever its kind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import h5py
import numpy as np

from export.model.celif import CelifLayer
from export.model.fields import CONSTANT, EXPONENT, INTEGER, ROWS, SPARSE_ROWS, TE, NetxField
from export.model.layer import Layer
from export.netx import te
from export.netx.values import Values

StoreTe = Callable[[CelifLayer], h5py.Dataset]
"""Returns the dataset that holds a layer's TE."""


def write_fields(group: h5py.Group, layer: Layer, store_te: StoreTe) -> None:
    """Write every field of ``layer`` below its group, in the order of its table."""
    for entry in layer.netx:
        if entry.form == TE:
            assert isinstance(layer, CelifLayer)  # the one kind that has an encoding
            te.write(group["neuron"], layer, store_te(layer))
        elif entry.form == CONSTANT:
            fixed = entry.value
            group[entry.dataset] = np.bytes_(fixed) if isinstance(fixed, str) else fixed
        else:
            _write_value(group, entry, getattr(layer, entry.field))


def _write_value(group: h5py.Group, entry: NetxField, value: Any) -> None:
    if entry.form in (ROWS, SPARSE_ROWS):
        if entry.form == ROWS or value.any():
            group[entry.dataset] = value.astype(entry.dtype)
    elif isinstance(value, np.ndarray):
        group[entry.dataset] = value.astype(np.int8)
    else:
        group[entry.dataset] = int(value) + entry.offset


def read_fields(
    values: Values, at: str, kind: type[Layer], tables: te.Tables, owner: str, rows: int
) -> dict[str, Any]:
    """Fields of a layer of ``kind`` in the group ``at``, with ``rows`` output channels."""
    fields: dict[str, Any] = {}
    for entry in kind.netx:
        place = f"{at}/{entry.dataset}"
        if entry.form == TE:
            form, table = te.read(values, f"{at}/neuron", tables, owner, rows)
            fields |= {"te_form": form, "te": table}
        elif entry.form == CONSTANT:
            values.equal(place, _constant(values, place, entry.value), entry.value)
        else:
            fields[entry.field] = _value(values, place, entry, rows)
    return fields


def _constant(values: Values, place: str, expected: object) -> object:
    if isinstance(expected, str):
        return values.text(place)
    return bool(values.scalar(place, "b")) if isinstance(expected, bool) else values.integer(place)


def _value(values: Values, place: str, entry: NetxField, rows: int) -> Any:
    if entry.form == SPARSE_ROWS and place not in values.f:
        return np.zeros(rows, np.int64)
    if entry.form in (ROWS, SPARSE_ROWS):
        return values.array(place, 1)
    if entry.form == EXPONENT:
        return values.exponent(place)
    assert entry.form == INTEGER
    number = values.integer(place)
    if entry.limits is not None and not entry.limits[0] <= number <= entry.limits[1]:
        low, high = entry.limits
        raise values.error(place, f"{low}..{high}", str(number))
    return number - entry.offset
