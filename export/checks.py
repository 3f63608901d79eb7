"""Checks of integers and arrays of integers, with errors that name the place in a file."""

from __future__ import annotations

from typing import Any

import numpy as np


class ModelError(ValueError):
    """A value that does not fit Loihi's registers, or does not fit the other values.

    An error that :meth:`about` makes also holds the name of the value, what was expected and what
    was found.
    """

    owner = field = expected = found = ""

    @classmethod
    def about(
        cls, owner: str, field: str, expected: str, found: object, remedy: str = ""
    ) -> ModelError:
        """Return an error about ``field`` of ``owner``, such as "layer 0"."""
        error = cls(
            f"{owner} {field}: expected {expected}, got {found}" + (f"; {remedy}" if remedy else "")
        )
        error.owner, error.field, error.expected = owner, field, expected
        error.found = f"{found}; {remedy}" if remedy else str(found)
        return error


def integer(owner: str, field: str, value: Any, low: int, high: int) -> None:
    """Require an integer in ``low``..``high``."""
    if not isinstance(value, (int, np.integer)):
        raise ModelError.about(owner, field, "an integer", repr(value))
    if not low <= value <= high:
        raise ModelError.about(owner, field, f"{low}..{high}", value)


def array(owner: str, field: str, value: np.ndarray, ndim: int) -> None:
    """Require a non-empty array of ``ndim`` axes."""
    if value.ndim != ndim or value.size == 0:
        raise _of_another_shape(owner, field, value, ndim)


def _of_another_shape(owner: str, field: str, value: np.ndarray, ndim: int) -> ModelError:
    expected = f"a non-empty array of {ndim} axes"
    return ModelError.about(owner, field, expected, f"shape {value.shape}")


def integers(owner: str, field: str, value: np.ndarray, low: int, high: int) -> None:
    """Require integers in ``low``..``high``."""
    if not np.issubdtype(value.dtype, np.integer):
        raise ModelError.about(owner, field, "integers", value.dtype)
    if value.min() < low or value.max() > high:
        raise ModelError.about(owner, field, f"{low}..{high}", f"{value.min()}..{value.max()}")


def per_neuron(owner: str, field: str, value: np.ndarray, ndim: int, neurons: int) -> None:
    """Require an array of ``ndim`` axes, the first of which counts neurons."""
    if value.ndim != ndim or value.size == 0:
        raise _of_another_shape(owner, field, value, ndim)
    if len(value) != neurons:
        expected = f"{neurons} {'values' if ndim == 1 else 'rows'}, one per neuron"
        raise ModelError.about(owner, field, expected, len(value))
