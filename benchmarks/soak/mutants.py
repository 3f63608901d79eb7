"""Mutants of any file's bytes, and of what a netx file holds."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from export.netx import integrity

CANARY = "canary"
"""A file next to the mutant that nobody may read."""

Rng = np.random.Generator


def pick(rng: Rng, values: Any) -> Any:
    """Return one of ``values`` as it is."""
    return values[int(rng.integers(len(values)))]


def flipped(data: bytes, rng: Rng) -> bytes:
    """Return ``data`` with one byte changed."""
    changed = bytearray(data)
    changed[int(rng.integers(len(data)))] ^= int(rng.integers(1, 256))
    return bytes(changed)


def rearranged(data: bytes, rng: Rng) -> bytes:
    """Return ``data`` cut, extended, or with a part removed, zeroed, doubled or noisy."""
    start, length = int(rng.integers(len(data))), int(rng.integers(1, 200))
    noise = rng.bytes(length)
    head, part, tail = data[:start], data[start : start + length], data[start + length :]
    return bytes(
        pick(
            rng,
            (
                head,
                head + noise + part + tail,
                head + tail,
                head + bytes(len(part)) + tail,
                head + part + part + tail,
                head + noise[: len(part)] + tail,
                data + noise,
                noise + data,
            ),
        )
    )


def _values(rng: Rng) -> Any:
    """Return something that is not likely to be right."""
    numbers: tuple[Any, ...] = (-1, 0, 1, 255, 1 << 20, (1 << 31) - 1, -(1 << 63), (1 << 63) - 1)
    others: tuple[Any, ...] = (
        np.nan, np.inf, -0.5, True, np.uint64((1 << 64) - 1), np.bytes_(b""), np.bytes_(b"\x1b[2J"),
        np.bytes_(b"x" * 70000)[:9000], "text", "\x1b]0;x\x07", np.complex64(1), np.zeros(0),
        np.zeros((2, 3, 4)), np.arange(7), np.full(3, np.nan),
        np.zeros((1, 1), np.int8), h5py.Empty("i4"),
    )  # fmt: skip
    return pick(rng, numbers) if rng.random() < 0.5 else pick(rng, others)


def _names(f: h5py.File) -> tuple[list[str], list[str]]:
    groups: list[str] = []
    sets: list[str] = []
    f.visititems(lambda name, o: (groups if isinstance(o, h5py.Group) else sets).append(name))
    return groups, [name for name in sets if f"/{name}" != integrity.CHECKSUM]


def _replace(f: h5py.File, name: str, rng: Rng) -> None:
    del f[name]
    f[name] = _values(rng)


def _retype(f: h5py.File, name: str, rng: Rng) -> None:
    values = np.asarray(f[name][()])
    kinds = ("i1", "u1", "i2", ">i4", "u8", "f2", "f8", ">f4", "c8", "?", "S3")
    del f[name]
    with np.errstate(all="ignore"):
        try:
            f[name] = values.astype(pick(rng, kinds))
        except (ValueError, TypeError):
            f[name] = np.zeros(values.shape, "i1")


def _reshape(f: h5py.File, name: str, rng: Rng) -> None:
    values = np.asarray(f[name][()])
    if values.dtype.kind == "O":
        values = np.zeros(3)
    shapes = (
        values[None],
        values.reshape(-1),
        values.reshape(-1)[:-1],
        values.T,
        values[..., None],
    )
    tiled = np.concatenate([values.reshape(-1)] * 2)
    del f[name]
    f[name] = np.ascontiguousarray(pick(rng, (*shapes, tiled)))


def _element(f: h5py.File, name: str, rng: Rng) -> None:
    values = np.array(f[name][()])
    if values.size == 0 or values.dtype.kind not in "iuf":
        _replace(f, name, rng)
        return
    info = np.iinfo(values.dtype) if values.dtype.kind in "iu" else None
    one = values.reshape(-1)
    i = int(rng.integers(one.size))
    ends: tuple[Any, ...] = (
        (info.min, info.max, 0, 1) if info else (np.nan, np.inf, 0.0, -1.0, 1e300)
    )
    one[i] = pick(rng, ends) if rng.random() < 0.7 else one[i] ^ 1 if info else one[i] * 2
    f[name][()] = one.reshape(values.shape)


def _huge(f: h5py.File, name: str, rng: Rng) -> None:
    shape = pick(rng, ((1 << 40,), (1 << 20, 1 << 14), (1 << 31, 2), (60000, 8700)))
    options: dict[str, Any] = pick(rng, ({}, {"chunks": True}, {"compression": "gzip"}))
    del f[name]
    f.create_dataset(name, shape, pick(rng, ("i1", "i8", "f8")), **options)


def _filtered(f: h5py.File, name: str, rng: Rng) -> None:
    values = np.atleast_1d(np.asarray(f[name][()]))
    del f[name]
    if values.dtype.kind == "O" or not values.size:
        values = np.zeros(9)
    options: Any = (
        {"compression": "gzip"},
        {"shuffle": True},
        {"fletcher32": True},
        {"maxshape": None},
    )
    extra = pick(rng, options)
    if "maxshape" in extra:
        extra = {"maxshape": (None,) * values.ndim}
    f.create_dataset(name, data=values, chunks=True, **extra)


def _elsewhere(f: h5py.File, name: str, rng: Rng) -> None:
    """Let a name lead out of the file, or to another place in it."""
    old = f[name]
    shape = getattr(old, "shape", (3,)) or (3,)
    dtype = (
        old.dtype if isinstance(old, h5py.Dataset) and old.dtype.kind in "iuf" else np.dtype("i1")
    )
    del f[name]
    kind = int(rng.integers(6))
    if kind == 0:
        f[name] = h5py.ExternalLink(CANARY, f"/{name}")
    elif kind == 1:
        f[name] = h5py.SoftLink(
            pick(rng, ("/", f"/{name}", "/celif", "/nowhere", "/layer/0/weight"))
        )
    elif kind == 2:
        size = int(np.prod(shape)) * dtype.itemsize
        f.create_dataset(name, shape, dtype, external=[(CANARY, 0, size)])
    elif kind == 3:
        layout = h5py.VirtualLayout(shape=shape, dtype=dtype)
        layout[...] = h5py.VirtualSource(CANARY, name, shape=shape)
        f.create_virtual_dataset(name, layout)
    elif kind == 4:
        f[name] = f[pick(rng, ("/", "/celif", "/layer"))]
    else:
        f[name] = np.dtype([("a", "i4"), ("b", "S4")]) if rng.random() < 0.5 else np.dtype("f4")


def _delete(f: h5py.File, name: str, rng: Rng) -> None:
    del f[name]


def _duplicate(f: h5py.File, name: str, rng: Rng) -> None:
    """Copy, link or move a member to a new name or another one's."""
    groups, sets = _names(f)
    target = pick(
        rng, (*sets, *groups, f"{name}2", "extra/member", "layer/9", "layer/00", "te/x\x1b[2J")
    )
    if name.startswith(target) or target.startswith(name + "/"):
        target = f"{name}2"
    if target in f:
        del f[target]
    action = pick(rng, (f.copy, f.move, lambda a, b: f.__setitem__(b, f[a])))
    action(name, target)


def _attribute(f: h5py.File, name: str, rng: Rng) -> None:
    f[name].attrs[pick(rng, ("shape", "CLASS", "x", "\x1b[2J"))] = pick(rng, ("y", 3, np.zeros(50)))


def _many(f: h5py.File, name: str, rng: Rng) -> None:
    """Add very many or very deep members."""
    if rng.random() < 0.5:
        f.create_group("/".join("d" * int(rng.integers(5, 60))))
    else:
        for i in range(300):
            f[f"celif/source/n{i}"] = i


CHANGES: tuple[Callable[[h5py.File, str, Rng], None], ...] = (
    _replace, _replace, _retype, _reshape, _element, _element, _element, _huge, _filtered,
    _elsewhere, _elsewhere, _delete, _delete, _duplicate, _attribute, _many,
)  # fmt: skip


def change_netx(path: Path, rng: Rng) -> tuple[str, bool]:
    """Change one to three members of a file; return how, and whether it was signed again.

    Half of the mutants get a right checksum, so that what stands behind it is tested as well.
    """
    done: list[str] = []
    with h5py.File(path, "r+") as f:
        for _ in range(int(rng.choice([1, 1, 2, 3]))):
            groups, sets = _names(f)
            change = pick(rng, CHANGES)
            name = pick(rng, sets if rng.random() < 0.9 or not groups else groups)
            if isinstance(f.get(name), h5py.Group) and change not in (
                _elsewhere,
                _delete,
                _duplicate,
            ):
                change = _attribute
            try:
                change(f, name, rng)
            except (ValueError, TypeError, KeyError, RuntimeError, OSError) as error:
                done.append(f"{change.__name__} {name} half ({type(error).__name__})")
                break
            done.append(f"{change.__name__} {name}")
        signed = False
        if rng.random() < 0.5:
            try:
                integrity.sign(f)
                signed = True
            except Exception:
                done.append("unsigned")
    return ", ".join(done), signed
