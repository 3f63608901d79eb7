"""Whether a file may be read at all: what it holds, how much, and whether it is undamaged.

HDF5 can make a reader open other files (external links and storage, virtual datasets), follow
links in circles, or allocate far more memory than the file has bytes (fill values, filters). A
netx file needs none of that, so it is refused by name.

The checksum covers every dataset's name, type, shape and bytes: what the file says, not how HDF5
lays it out. Since version 3 every file has one, in ``/celif/checksum``; where there is one, it is
verified, whatever the version.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator, Mapping

import h5py
import numpy as np

from export.netx.names import AGAIN, NetxError

CHECKSUM = "/celif/checksum"
"""The dataset that holds the checksum."""

FILE_BYTES_MAX = 1 << 30
"""Size of the largest file that is read."""
OBJECTS_MAX = 1 << 12
"""Number of links in a file: every layer has some twenty datasets. Each takes 0.1 ms."""
CONTENT_BYTES_MAX = 1 << 29
"""Bytes under all names together, or four times the file's size if that is more: a dataset can have
many names, and the checksum covers it under each of them."""
SLACK_BYTES_MAX = 1 << 24
"""Bytes of a file that belong to no array, where it has strings of any length: HDF5 does not tell
how long these are before it has read them."""
DEPTH_MAX = 8
"""Depth of groups; a netx file has four."""
STRING_BYTES_MAX = 1 << 12
"""Length of a string, which is a name or a checksum."""


_BEGINNINGS = (
    (b"\x89HDF\r\n\x1a\n", "a file that is damaged or cut off", f"copy it again, or {AGAIN}"),
    (
        b"PK\x03\x04",
        "a zip archive (such as .npz, or what torch.save writes)",
        "unpack the netx file in it, or export a checkpoint with celif export",
    ),
    (b"\x93NUMPY", "a numpy array (.npy)", "pass the netx file here, and samples as the input"),
    (b"\x1f\x8b", "a gzip archive", "unpack it first"),
)
"""How other files begin, what they are and what to do with them; a cut HDF5 file comes first."""


def open_netx(path: str | os.PathLike[str]) -> h5py.File:
    """Open a file for reading, or raise :class:`NetxError`; it must be regular and not too large.

    A FIFO or a device is never opened: that might wait for ever.
    """
    try:
        found = os.stat(path)
    except OSError:
        found = None
    if found is None:
        raise NetxError(path, "/", "a netx HDF5 file", "no such file; export one with to_netx")
    if not stat.S_ISREG(found.st_mode):
        kind = "a folder" if stat.S_ISDIR(found.st_mode) else "a device, FIFO or socket"
        raise NetxError(path, "/", "a netx HDF5 file", f"{kind}; export one with to_netx")
    if found.st_size > FILE_BYTES_MAX:
        expected = f"a netx HDF5 file of up to {FILE_BYTES_MAX} bytes"
        raise NetxError(path, "/", expected, f"{found.st_size} bytes")
    try:
        return h5py.File(path, "r")
    except (OSError, RuntimeError, ValueError) as error:
        what, remedy = _other_file(path)
        found_text = f"{what}, unreadable as HDF5 ({error})"
        raise NetxError(path, "/", "a netx HDF5 file", found_text, remedy) from None


def _other_file(path: str | os.PathLike[str]) -> tuple[str, str]:
    """What a file that is no sound HDF5 begins like, and what to do instead."""
    try:
        with open(path, "rb") as f:
            head = f.read(64)
    except OSError:
        return "a file that cannot be opened", "see who may read it"
    for begin, *found in _BEGINNINGS:
        if head.startswith(begin):
            return found[0], found[1]
    if head[8:9] == b"{":  # after the length of its JSON
        return "a checkpoint (safetensors)", "export it with celif export, or with to_netx"
    if head.lstrip().startswith(b"<"):
        remedy = "a download may have saved a page instead of the file: download it again"
        return "a web page (HTML or XML)", remedy
    if not head:
        return "an empty file", f"copy it again, or {AGAIN}"
    return "a file of another kind", "export one with to_netx"


def datasets(path: str | os.PathLike[str], f: h5py.File) -> dict[str, h5py.Dataset]:
    """Every dataset of the file by its name, once all of them have been found harmless."""
    found = dict(_look(str(path), f, "", [], [0]))
    _check_sizes(path, f.id.get_filesize(), found)
    return found


def _check_sizes(
    path: str | os.PathLike[str], size: int, found: Mapping[str, h5py.Dataset]
) -> None:
    """Refuse a file that is small itself, and takes long or much memory to read."""
    fixed = [each for each in found.values() if each.dtype.kind != "O"]
    total, most = sum(each.nbytes for each in fixed), max(CONTENT_BYTES_MAX, 4 * size)
    if total > most:
        raise NetxError(path, "/", f"up to {most} bytes under all names", f"{total}", AGAIN)
    held = sum({h5py.h5o.get_info(each.id).addr: each.nbytes for each in fixed}.values())
    if len(fixed) < len(found) and size - held > SLACK_BYTES_MAX:
        expected = f"up to {SLACK_BYTES_MAX} bytes besides its arrays"
        raise NetxError(path, "/", expected, f"{size - held}", AGAIN)


def _look(
    path: str, group: h5py.Group, name: str, above: list[int], count: list[int]
) -> Iterator[tuple[str, h5py.Dataset]]:
    """Go through a group; ``above`` are the addresses of the groups that it is in."""
    for key in group:
        place = f"{name}/{key}"
        count[0] += 1
        if count[0] > OBJECTS_MAX:
            raise NetxError(path, "/", f"up to {OBJECTS_MAX} objects", "more", AGAIN)
        link = group.get(key, getlink=True)
        if not isinstance(link, h5py.HardLink):
            kind = "an external link" if isinstance(link, h5py.ExternalLink) else "a soft link"
            raise NetxError(path, place, "what is in this file itself", kind, AGAIN)
        member = group[key]
        address = h5py.h5o.get_info(member.id).addr
        if isinstance(member, h5py.Group):
            if address in above or len(above) >= DEPTH_MAX:
                found = "a group inside itself" if address in above else "more"
                raise NetxError(path, place, f"up to {DEPTH_MAX} groups in each other", found)
            yield from _look(path, member, place, [*above, address], count)
        elif isinstance(member, h5py.Dataset):
            _harmless(path, place, member)
            yield place, member
        else:
            raise NetxError(path, place, "groups and datasets", type(member).__name__, AGAIN)


def _harmless(path: str, place: str, found: h5py.Dataset) -> None:
    """Refuse a dataset that would read another file, or more memory than it has in this one."""
    if found.is_virtual or found.external:
        kind = "a virtual dataset" if found.is_virtual else "external storage"
        raise NetxError(path, place, "values in this file itself", kind, AGAIN)
    if found.chunks is not None:
        raise NetxError(path, place, "values as they are", "chunks or filters", AGAIN)
    if found.shape is None:
        raise NetxError(path, place, "values", "an empty dataspace", AGAIN)
    if found.dtype.kind == "O":
        if h5py.check_string_dtype(found.dtype) is None or found.size != 1:
            raise NetxError(path, place, "numbers or one string", str(found.dtype), AGAIN)
        return
    if found.dtype.kind not in "biufS":
        raise NetxError(path, place, "numbers or one string", f"dtype {found.dtype}", AGAIN)
    if found.dtype.kind == "S" and found.dtype.itemsize > STRING_BYTES_MAX:
        expected = f"strings of up to {STRING_BYTES_MAX} bytes"
        raise NetxError(path, place, expected, str(found.dtype.itemsize))
    held = found.id.get_storage_size()
    if held != found.nbytes:
        expected = f"{found.nbytes} bytes, as its shape {found.shape} needs"
        raise NetxError(path, place, expected, f"{held} in the file", AGAIN)


def content(found: Mapping[str, h5py.Dataset]) -> str:
    """SHA-256, in hexadecimal, of all datasets but the checksum itself, in the order of names."""
    digest = hashlib.sha256()
    for name in sorted(found):
        if name == CHECKSUM:
            continue
        values = np.asarray(found[name][()])
        if values.dtype.kind == "O":  # a string of any length
            values = np.asarray(values.item())
        head = f"{name}\0{values.dtype.str}\0{values.shape}\0"
        digest.update(head.encode() + np.ascontiguousarray(values).tobytes())
    return digest.hexdigest()


def stored_in(path: str | os.PathLike[str]) -> str | None:
    """The checksum that a file has, or None for one of an earlier version."""
    with open_netx(path) as f:
        value = f[CHECKSUM][()] if CHECKSUM in f else None
    return value.decode() if isinstance(value, bytes) else None


def sign(f: h5py.File) -> None:
    """Write the checksum of an open file's present content."""
    if CHECKSUM in f:
        del f[CHECKSUM]
    f[CHECKSUM] = np.bytes_(content(datasets(f.filename, f)))


def verify(path: str | os.PathLike[str], found: Mapping[str, h5py.Dataset]) -> bool:
    """Whether the file has a checksum; :class:`NetxError` if it is not that of the content."""
    if CHECKSUM not in found:
        return False
    value = found[CHECKSUM][()]
    stored = value.decode(errors="replace") if isinstance(value, bytes) else str(value)
    expected = content(found)
    if stored != expected:
        remedy = f"the file is damaged, {AGAIN}"
        raise NetxError(path, CHECKSUM, f"{expected}, that of the content", repr(stored), remedy)
    return True
