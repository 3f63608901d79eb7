"""Reading and writing a model's variables as ``Var.get`` and ``Var.set`` do: in 64-bit floats."""

from __future__ import annotations

from typing import Any

import numpy as np
from lava.magma.core.model.py.model import PyLoihiProcessModel
from lava.utils.sparse import find
from scipy.sparse import csr_matrix


def read(name: str, value: Any, shape: tuple[int, ...]) -> np.ndarray:
    """A variable's value, as Lava delivers it.

    Parameters
    ----------
    name
        Of the variable, for errors.
    value
        What the model holds.
    shape
        Of the Var.
    """
    if isinstance(value, str):
        return np.frombuffer(value.encode("ascii"), np.uint8).astype(np.float64)
    if isinstance(value, csr_matrix):
        return np.asarray(find(value, explicit_zeros=True)[2], np.float64)
    values = np.asarray(value)
    if values.dtype.kind not in "buif":
        raise TypeError(f"{name}: expected numbers or text, got {values.dtype} in the model")
    if values.size != np.prod(shape):
        raise ValueError(
            f"{name}: expected {shape} as its Var says, got {values.shape} in the model"
        )
    return values.astype(np.float64).reshape(shape)


def write(model: PyLoihiProcessModel, name: str, attribute: str, values: np.ndarray) -> None:
    """Set a variable and tell the model.

    Parameters
    ----------
    name
        Of the variable, for errors.
    attribute
        Where the model holds it.
    values
        Numbers, or the codes of a text's characters; of a sparse matrix, what is stored.
    """
    now = getattr(model, attribute)
    given = np.asarray(values, np.float64).ravel()
    if isinstance(now, str):
        setattr(model, attribute, bytes(given.astype(np.uint8)).decode("ascii"))
    elif isinstance(now, csr_matrix):
        rows, columns, stored = find(now, explicit_zeros=True)
        _check_size(name, given.size, stored.size)
        data = given.astype(now.dtype)
        setattr(model, attribute, csr_matrix((data, (rows, columns)), now.shape))
    elif isinstance(now, np.ndarray):
        _check_size(name, given.size, now.size)
        now[...] = given.astype(now.dtype).reshape(now.shape)
    elif isinstance(now, int | float | np.number | np.bool_):
        _check_size(name, given.size, 1)
        number = given[0].item()
        # Lava's models are given whatever number a Var holds, also where they say int.
        whole = isinstance(now, int | np.integer) and not number.is_integer()
        setattr(model, attribute, number if whole else type(now)(number))
    else:
        raise TypeError(f"{name}: expected numbers or text, got {type(now).__name__} in the model")
    model.on_var_update()


def _check_size(name: str, given: int, expected: int) -> None:
    if given != expected:
        raise ValueError(f"{name}: expected {expected} values, got {given}")
