"""Netx files made by hand that it would take a careless reader to fall for."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from benchmarks.soak.mutants import CANARY
from export.netx import integrity

Make = Callable[[Path], Any]
"""Makes a file."""


def attacks(good: bytes) -> Iterator[tuple[str, Make]]:
    """Yield changes of a netx file that it would take a careless reader to fall for."""
    place = "layer/0/weight"

    def changed(change: Callable[[h5py.File], Any], sign: bool = False) -> Make:
        def make(path: Path) -> None:
            path.write_bytes(good)
            with h5py.File(path, "r+") as f:
                change(f)
                if sign:
                    integrity.sign(f)

        return make

    def instead(value: Any) -> Callable[[h5py.File], None]:
        def change(f: h5py.File) -> None:
            del f[place]
            f[place] = value

        return change

    def dataset(*values: Any, **named: Any) -> Callable[[h5py.File], None]:
        def change(f: h5py.File) -> None:
            del f[place]
            f.create_dataset(place, *values, **named)

        return change

    def inside(name: str, f: h5py.File) -> None:
        instead(f[name])(f)

    for target in (CANARY, f"./{CANARY}", "/etc/passwd", "/dev/zero", "/proc/self/mem"):
        yield f"external link to {target}", changed(instead(h5py.ExternalLink(target, "/w")))
        yield f"storage in {target}", changed(dataset((8, 2), "i1", external=[(target, 0, 16)]))
    yield "soft link to itself", changed(instead(h5py.SoftLink(f"/{place}")))
    yield "soft link to the root", changed(instead(h5py.SoftLink("/")))
    for name in ("/", "layer", "layer/0"):
        yield f"{name} inside itself", changed(functools.partial(inside, name))
    yield "gzip bomb", changed(dataset((1 << 28,), "i1", compression="gzip", fillvalue=1))
    yield "4 TB that are not there", changed(dataset((1 << 20, 1 << 22), "i1"))
    yield "4 TB in chunks", changed(dataset((1 << 20, 1 << 22), "i1", chunks=(1 << 10, 1 << 10)))
    yield "references", changed(dataset((2,), h5py.ref_dtype))
    yield "lists of any length", changed(dataset((2,), h5py.vlen_dtype(np.int32)))
    yield "records", changed(dataset((2,), [("a", "i4"), ("b", "f8")]))
    yield "a string of 20 MB of any length", changed(instead("x" * (20 << 20)))
    yield "4,096 names of one value", changed(functools.partial(_names, 4096, 1))
    yield "600 names of 1 MB", changed(functools.partial(_names, 600, 1 << 20))
    yield "groups six times in each other", changed(_nested)
    yield "a committed type", changed(lambda f: f.__setitem__("more", np.dtype("i8")))
    yield "region references", changed(dataset((2,), h5py.regionref_dtype))
    yield "opaque values", changed(dataset((2,), "V16"))
    yield "arrays as values", changed(dataset((2,), np.dtype(("i4", (1000,)))))
    yield "attributes of 8 MB", changed(_attributes)
    yield "a string of 1 MB", changed(instead(np.bytes_(b"x" * (1 << 20))))
    for shape in ((0, 2), (2, 0), (0, 0), (0,), ()):
        yield f"weights of shape {shape}", changed(instead(np.zeros(shape, np.int8)), sign=True)
    yield "no checksum", changed(lambda f: f.__delitem__(integrity.CHECKSUM))
    yield "version 99", changed(functools.partial(_set, "celif/version", 99), sign=True)
    for name in ("steps", "gap", "input/channels", "input/bits"):
        for value in (-1, 0, (1 << 62)):
            what = f"celif/{name} is {value}"
            yield what, changed(functools.partial(_set, f"celif/{name}", value), True)
    for size in (512, 1024, 4096):
        front = (b"#!/bin/sh\ntouch owned\n" + bytes(size))[:size]
        yield (
            f"netx after {size} other bytes",
            functools.partial(Path.write_bytes, data=front + good),
        )


def _names(count: int, size: int, f: h5py.File) -> None:
    f["more/0"] = np.zeros(size, np.int8)
    for i in range(1, count):
        f[f"more/{i}"] = f["more/0"]


def _nested(f: h5py.File) -> None:
    f.create_group("x0")["value"] = 1
    for depth in range(1, 6):
        for i in range(6):
            f[f"x{depth}/{i}"] = f[f"x{depth - 1}"]


def _attributes(f: h5py.File) -> None:
    for i in range(1000):
        f.attrs[f"a{i}"] = np.zeros(1000)


def _set(name: str, value: int, f: h5py.File) -> None:
    f[name][()] = value
