"""Repairs of what fails, or is silently wrong, on a newer Python or numpy."""

from __future__ import annotations

import dataclasses
import functools
import multiprocessing
import warnings
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np


def fails(action: Callable[[], Any]) -> bool:
    """Whether an action raises or warns that it will."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            action()
        except Exception:
            return True
    return False


def unhashable_defaults_are_refused() -> bool:
    """Python 3.11 and later refuse a dataclass's default if its class has no hash."""

    @dataclasses.dataclass
    class Default:
        value: int = 0

    def declare() -> None:
        dataclasses.make_dataclass("Owner", [("field", Default, Default())])

    return fails(declare)


def hashable_byte_encoder(module: ModuleType, execute: Callable[[], None]) -> None:
    """Give ``ByteEncoder``, a default of eight fields, a hash while its module is executed."""
    original = dataclasses.dataclass

    @functools.wraps(original)
    def dataclass(cls: Any = None, /, **options: Any) -> Any:
        if getattr(cls, "__name__", "") == "ByteEncoder" and cls.__module__ == module.__name__:
            options["unsafe_hash"] = True
        return original(cls, **options)

    dataclasses.dataclass = dataclass
    try:
        execute()
    finally:
        dataclasses.dataclass = original
    if getattr(module, "dataclass", None) is dataclass:
        module.dataclass = original  # type: ignore[attr-defined]


def newshape_is_refused() -> bool:
    """Numpy 2.1 and later warn of ``reshape``'s argument ``newshape``; 2.4 does not know it."""
    return fails(lambda: np.reshape(np.zeros(1), newshape=(1,)))


def _reshaped(shape: tuple[int, ...], data: Any) -> Any:
    return np.reshape(data, shape)


def reshape_by_place(ports: ModuleType, execute: Callable[[], None]) -> None:
    """Let ``ReshapePort`` give numpy the new shape by its place instead of by its name."""
    execute()

    def forward(self: Any) -> Any:
        return functools.partial(_reshaped, self.shape)

    def backward(self: Any) -> Any:
        return functools.partial(_reshaped, self.old_shape)

    port: Any = ports.ReshapePort
    port.get_transform_func_fwd, port.get_transform_func_bwd = forward, backward


def arrays_are_no_integers() -> bool:
    """Numpy 1.25 and later warn of ``int`` of an array with one axis; 2.4 refuses it."""
    return fails(lambda: int(np.zeros(1)))


def one_integer(value: Any) -> int:
    """Return ``int(value)``, also of an array that holds one number."""
    return int(np.asarray(value).item()) if isinstance(value, np.ndarray) else int(value)


def integers_of_arrays(hdf5: ModuleType, execute: Callable[[], None]) -> None:
    """Let netx read a weight or bias of an input layer, stored as an array of one number."""
    execute()
    hdf5.int = one_integer  # type: ignore[attr-defined]


def scalars_keep_their_width() -> bool:
    """Numpy 2 computes with a 16-bit scalar in 16 bits, where numpy 1 took 64."""
    return (np.int16(1) << 6).dtype.itemsize < 8


def wide_scalars(utils: ModuleType, execute: Callable[[], None]) -> None:
    """Let ``NetDict`` read single integers in 64 bits, so that shifted thresholds cannot wrap."""
    execute()
    net_dict: Any = utils.NetDict
    original = net_dict.__getitem__

    @functools.wraps(original)
    def read(self: Any, key: Any) -> Any:
        value = original(self, key)
        return np.int64(value) if isinstance(value, np.signedinteger | np.bool_) else value

    if not hasattr(original, "__wrapped__"):
        net_dict.__getitem__ = read


def start_method_is_set() -> bool:
    """Lava sets multiprocessing's start method, and fails if anybody has done so before."""
    return multiprocessing.get_start_method(allow_none=True) is not None


def start_method_kept(module: ModuleType, execute: Callable[[], None]) -> None:
    """Let Lava set ``fork``, then put back the method that was set before it.

    :func:`lava_procs.run` starts Lava's own runtime in a process in which ``fork`` is set.
    """
    method = multiprocessing.get_start_method(allow_none=True)
    multiprocessing.set_start_method(None, force=True)
    try:
        execute()
    finally:
        multiprocessing.set_start_method(method, force=True)
