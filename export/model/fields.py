"""How the fields of a layer stand in a netx file: a table per layer class.

:mod:`export.netx` reads and writes every kind of layer by these tables. Datasets are written in
the table's order, which is part of the file's bytes.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

INTEGER = "integer"
"""One whole number."""
ONE_OR_ROWS = "one or rows"
"""One whole number for all output channels, or an array with one for each."""
ROWS = "rows"
"""An array with one whole number for each output channel."""
SPARSE_ROWS = "sparse rows"
"""As :data:`ROWS`, but left out of the file where all are 0."""
CONSTANT = "constant"
"""A value that stock netx expects and that can only have this one value; no field of the layer."""
TE = "te"
"""The temporal encoding: ``te``, ``teEncoding``, ``teHold``, ``teSteps`` and ``teWave``."""


class NetxField(NamedTuple):
    """One entry of a layer's table.

    Attributes
    ----------
    dataset
        Path below the layer's group.
    field
        Name of the layer's attribute; empty for a :data:`CONSTANT`.
    form
        One of the forms above.
    dtype
        Type in the file of the arrays of :data:`ROWS`, :data:`SPARSE_ROWS` and
        :data:`ONE_OR_ROWS`.
    offset
        The file holds the field's value plus this.
    limits
        Smallest and largest value in the file, where an offset makes the layer's own check of the
        field speak of other numbers.
    value
        The value of a :data:`CONSTANT`.
    rows_since
        File version since which a field of the form :data:`ONE_OR_ROWS` may be an array.
    """

    dataset: str
    field: str = ""
    form: str = INTEGER
    dtype: Any = np.int16
    offset: int = 0
    limits: tuple[int, int] | None = None
    value: Any = None
    rows_since: int = 1


def neuron_fields(
    names: dict[str, str], form: str = INTEGER, dtype: Any = np.int16, rows_since: int = 1
) -> tuple[NetxField, ...]:
    """Entries ``neuron/<dataset>`` for a dictionary from dataset to field."""
    return tuple(
        NetxField(f"neuron/{dataset}", field, form, dtype, rows_since=rows_since)
        for dataset, field in names.items()
    )


def exponent_fields(names: dict[str, str]) -> tuple[NetxField, ...]:
    """Entries of exponents, each one for all output channels or one for each."""
    return neuron_fields(names, ONE_OR_ROWS, np.int8)


def decay_fields(names: dict[str, str]) -> tuple[NetxField, ...]:
    """Entries of decay mantissas: one for all output channels or, since version 3, one for each."""
    return neuron_fields(names, ONE_OR_ROWS, np.int16, rows_since=3)
