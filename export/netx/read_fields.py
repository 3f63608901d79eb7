"""Reading the fields of a layer by the table of its class, whatever its kind."""

from __future__ import annotations

from typing import Any

import numpy as np

from export.model.fields import CONSTANT, INTEGER, ONE_OR_ROWS, ROWS, SPARSE_ROWS, TE, NetxField
from export.model.layer import Layer
from export.netx.file_values import Values
from export.netx.read_te import Tables, read_te


def read_fields(
    values: Values, at: str, kind: type[Layer], tables: Tables, owner: str, rows: int
) -> dict[str, Any]:
    """Fields of a layer of ``kind`` in the group ``at``, with ``rows`` output channels."""
    fields: dict[str, Any] = {}
    for entry in kind.netx:
        place = f"{at}/{entry.dataset}"
        if entry.form == TE:
            form, table = read_te(values, f"{at}/neuron", tables, owner, rows)
            fields |= {"te_form": form, "te": table}
        elif entry.form == CONSTANT:
            values.equal(place, _constant(values, place, entry.value), entry.value)
        else:
            fields[entry.field] = _value(values, place, entry, rows, tables.version)
    return fields


def _constant(values: Values, place: str, expected: object) -> object:
    if isinstance(expected, str):
        return values.text(place)
    return bool(values.scalar(place, "b")) if isinstance(expected, bool) else values.integer(place)


def _value(values: Values, place: str, entry: NetxField, rows: int, version: int | None) -> Any:
    """One field; ``version`` is that of the file, or None for blocks that wrote themselves."""
    if entry.form == SPARSE_ROWS and place not in values.f:
        return np.zeros(rows, np.int64)
    if entry.form in (ROWS, SPARSE_ROWS):
        return values.array(place, 1)
    if entry.form == ONE_OR_ROWS and (version is None or version >= entry.rows_since):
        return values.one_or_array(place)
    assert entry.form in (INTEGER, ONE_OR_ROWS)
    number = values.integer(place)
    if entry.limits is not None and not entry.limits[0] <= number <= entry.limits[1]:
        low, high = entry.limits
        raise values.error(place, f"{low}..{high}", str(number))
    return number - entry.offset
