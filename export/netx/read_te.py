"""Reading the temporal encoding: each table stands once in a file, and layers link to it."""

from __future__ import annotations

from typing import Any

import h5py
import numpy as np

from export.loihi2 import HOLD_MAX, STEPS_MAX
from export.model.te import DENSE, ENCODINGS, CosineTable, Form, Table
from export.netx.file_values import Values
from export.netx.names import AGAIN

TE_VALUES_MAX = 1 << 25
"""Largest number of mantissas in the decoded tables of a file: 256 MB of memory."""


class Tables:
    """The tables that were read from a file; hard links to one dataset give one array."""

    def __init__(self, values: Values, version: int | None) -> None:
        self.values = values
        self.version = version
        """None for a block that wrote itself; its datasets then show the version."""
        self.stored: dict[Any, np.ndarray] = {}
        self.decoded: dict[Any, np.ndarray] = {}
        self.values_read = 0

    def make_room(self, place: str, values: int) -> None:
        """Refuse a file whose tables would take more memory than :data:`TE_VALUES_MAX` values."""
        self.values_read += values
        if self.values_read > TE_VALUES_MAX:
            expected = f"TE of up to {TE_VALUES_MAX} mantissas in all layers"
            raise self.values.error(place, expected, f"{self.values_read}")

    def address(self, name: str) -> Any:
        """Where the dataset stands in the file, whatever its name."""
        return h5py.h5o.get_info(self.values.dataset(name, "iu").id).addr

    def table(self, name: str, ndim: int) -> np.ndarray:
        """Return what the file holds of TE under ``name``."""
        key = self.address(name)
        if key not in self.stored:
            self.stored[key] = self.values.array(name, ndim)
        return self.stored[key]


def read_te(
    values: Values, at: str, tables: Tables, owner: str, rows: int
) -> tuple[Form, np.ndarray]:
    """Return how a layer's TE is stored, and its mantissas (row, step)."""
    if tables.version == 1 or (tables.version is None and f"{at}/teEncoding" not in values.f):
        return DENSE, tables.table(f"{at}/te", 2)[:rows]
    encoding, steps = values.text(f"{at}/teEncoding"), values.integer(f"{at}/teSteps")
    hold = values.integer(f"{at}/teHold")
    if encoding not in ENCODINGS:
        remedy = f"the file is damaged, {AGAIN}"
        raise values.error(f"{at}/teEncoding", ", ".join(ENCODINGS), repr(encoding), remedy)
    for name, value, high in (("teHold", hold, HOLD_MAX), ("teSteps", steps, STEPS_MAX)):
        if not 1 <= value <= high:
            raise values.error(f"{at}/{name}", f"1..{high}", str(value))
    if encoding == CosineTable.encoding:
        values.equal(f"{at}/teHold", hold, CosineTable.hold)
        cosine = CosineTable(tables.table(f"{at}/te", 1)[:rows], values.array(f"{at}/teWave", 1))
        values.checked(cosine.check_generator, owner=owner, rows=rows)
        tables.make_room(f"{at}/teSteps", rows * steps)
        return cosine, cosine.decode(cosine.increment, steps)
    form = Table(hold, encoding == "packed")
    stored = tables.table(f"{at}/te", 2)
    width = form.stored_columns(steps)
    if stored.shape[1] != width or not stored.size:
        expected = f"a non-empty array of {width} columns, for {steps} steps"
        raise values.error(f"{at}/te", expected, f"shape {stored.shape}")
    key = (tables.address(f"{at}/te"), form.hold, form.packed, steps)
    if key not in tables.decoded:  # layers that share a table share its mantissas
        tables.make_room(f"{at}/teSteps", len(stored) * steps)
        tables.decoded[key] = form.decode(stored, steps)
        if not np.array_equal(form.stored(tables.decoded[key]), stored):
            raise values.error(f"{at}/te", "bytes of two mantissas each", "others")
    return form, tables.decoded[key][:rows]
