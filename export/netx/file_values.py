"""Values of an open netx file, each checked for presence, type and shape."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import h5py
import numpy as np

from export.checks import ModelError
from export.model.network import KINDS
from export.netx.names import AGAIN, NetxError

# Where in its layer's group a field stands that is in no table of :mod:`export.model.fields`.
_PLACES = {
    "te_form": "neuron/te", "te_wave": "neuron/teWave", "te_hold": "neuron/teHold",
    "delay_shift": "delayShift", "input_exp": "inExp", "input_shape": "inShape",
}  # fmt: skip


def _place(make: object, field: str) -> str:
    """Where ``field`` stands below its group; ``make`` is the layer's class, or the network's."""
    tables = [make.netx] if hasattr(make, "netx") else [kind.netx for kind in KINDS.values()]
    entries = {entry.field: entry.dataset for table in tables for entry in table}
    return entries.get(field, _PLACES.get(field, field))


class Values:
    """Reads one open file; remembers its name for the errors."""

    def __init__(self, path: str | os.PathLike[str], f: h5py.File):
        self.path, self.f = str(path), f
        self.groups: dict[str, str] = {}
        """Where each layer stands, by its name."""

    def checked(self, make: Callable[..., Any], **fields: Any) -> Any:
        """Construct an object, and turn an error about a field into one about its dataset."""
        try:
            return make(**fields)
        except ModelError as error:
            known = {
                "network": "celif",
                "input": "celif/input",
                "task": "celif/task",
                **self.groups,
            }
            owner = known.get(error.owner, error.owner.replace(" ", "/"))
            place = f"{owner}/{_place(make, error.field)}" if owner else ""
            found = error.found or str(error)
            raise self.error(place, error.expected or "a consistent network", found) from None

    def error(self, name: str, expected: str, found: str, remedy: str = "") -> NetxError:
        return NetxError(self.path, f"/{name}", expected, found, remedy)

    def equal(self, name: str, found: object, expected: object) -> None:
        if found != expected:
            raise self.error(name, str(expected), str(found))

    def dataset(self, name: str, kinds: str) -> h5py.Dataset:
        """The dataset of that name, whose dtype kind must be among ``kinds``."""
        found = self.f.get(name)
        if not isinstance(found, h5py.Dataset):
            what = "a group" if found is not None else "nothing"
            raise self.error(name, "a dataset", what, AGAIN)
        if found.dtype.kind not in kinds:
            raise self.error(name, f"a dtype of kind {kinds!r}", f"{found.dtype}")
        return found

    def group(self, name: str) -> h5py.Group:
        found = self.f.get(name)
        if not isinstance(found, h5py.Group) or len(found) == 0:
            raise self.error(name, "a group with members", "none")
        return found

    def scalar(self, name: str, kinds: str) -> Any:
        found = self.dataset(name, kinds)
        if found.shape not in ((), (1,)):
            raise self.error(name, "one value", f"shape {found.shape}")
        return found[()] if found.shape == () else found[0]

    def text(self, name: str) -> str:
        value = self.scalar(name, "SO")
        return value.decode(errors="replace") if isinstance(value, bytes) else str(value)

    def integer(self, name: str) -> int:
        return int(self.scalar(name, "iu"))

    def array(self, name: str, ndim: int) -> np.ndarray:
        """Return integers as int64; stock netx stores them as floats, which must be whole."""
        value = self.dataset(name, "iuf")[()]
        if np.ndim(value) != ndim:
            raise self.error(name, f"{ndim} axes", f"shape {np.shape(value)}")
        if not np.isfinite(value).all():
            remedy = f"the file is damaged, {AGAIN}"
            raise self.error(name, "whole numbers", "NaN or infinity", remedy)
        with np.errstate(invalid="ignore"):  # of more than 64 bits, which is no whole number here
            whole = value.astype(np.int64)
        if not np.array_equal(whole, value):
            raise self.error(name, "whole numbers", "fractions")
        return whole

    def one_or_array(self, name: str) -> int | np.ndarray:
        """One whole number for all, or an array of them."""
        found = self.dataset(name, "iu")
        return self.array(name, 1) if found.ndim else self.integer(name)
