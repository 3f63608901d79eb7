"""Files of tensors and plain values: safetensors with a JSON document in their header.

The document has the shape of the content that was written; each tensor in it is replaced by
``{"$tensor": name}``. A SHA-256 over the document and all tensors is kept in the document, so that
damage is noticed wherever it is. Reading executes nothing: the header is JSON, the rest is numbers.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load as load_tensors
from safetensors.torch import save as save_tensors

from training.support.atomic import atomic_file

KEY = "celif"
"""Name of the document in the metadata of the safetensors header."""

_TENSOR, _SUM = "$tensor", "sha256"
_HDF5 = int.from_bytes(b"\x89HDF\r\n\x1a\n", "little")
"""The first eight bytes of an HDF5 file, where a checkpoint has the size of its header."""

_HEADER_MAX = 2 << 20
"""Largest header that is read; parsing the worst JSON of that size takes half a second."""


class TensorFileError(ValueError):
    """A file that :func:`write` did not write, or that was damaged since."""


def write(path: str | os.PathLike[str], content: dict[str, Any]) -> None:
    """Write ``content`` to ``path``, whole or not at all.

    Content is a tree of dictionaries with string keys and lists, whose leaves are tensors, strings,
    numbers, booleans and None.
    """
    tensors: dict[str, torch.Tensor] = {}
    document = _without_tensors(content, "", tensors)
    document[_SUM] = _digest(document, tensors)
    data = save_tensors(tensors, {KEY: _text(document)})
    if (size := int.from_bytes(data[:8], "little")) > _HEADER_MAX:
        raise ValueError(
            f"{path}: expected names and plain values of up to {_HEADER_MAX} bytes, got {size}; "
            "keep long lists of numbers in tensors"
        )
    with atomic_file(path) as draft:
        draft.write_bytes(data)


def read(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the content of a file; raise :class:`TensorFileError` unless it is whole."""
    data = _bytes(Path(path))
    document = _document(data)
    try:
        tensors = load_tensors(data)
    except (SafetensorError, ValueError, KeyError, TypeError, RuntimeError, OverflowError) as error:
        raise TensorFileError(f"damage ({_first_line(error)})") from None
    stated = document.pop(_SUM, None)
    if stated != _digest(document, tensors):
        raise TensorFileError("damage (its checksum is not that of its content)")
    unused = set(tensors)
    content = _with_tensors(document, tensors, unused)
    if unused:
        raise TensorFileError(f"a tensor {min(unused)!r} that its document does not name")
    return content


def _bytes(path: Path) -> bytes:
    """Return the bytes of a file, once its header shows that it needs all of them."""
    try:
        found = path.stat()
        if not stat.S_ISREG(found.st_mode):
            raise TensorFileError("something that is not a regular file")
        with path.open("rb") as file:
            size = int.from_bytes(file.read(8), "little")
            if size == _HDF5:
                raise TensorFileError("a netx (HDF5) file; name the checkpoint behind it")
            if not 2 <= size <= min(found.st_size - 8, _HEADER_MAX):
                raise TensorFileError("another or half a file")
            head = file.read(size)
            if 8 + size + _extent(head) != found.st_size:
                raise TensorFileError("another or half a file")
            return size.to_bytes(8, "little") + head + file.read()
    except FileNotFoundError as error:
        raise TensorFileError("no such file") from error
    except OSError as error:
        raise TensorFileError(f"a file that cannot be read ({error.strerror})") from error


def _extent(head: bytes) -> int:
    """Return how many bytes the tensors take that a header names."""
    header = _parsed(head)
    entries = [entry for name, entry in header.items() if name != "__metadata__"]
    try:
        ends = [entry["data_offsets"][1] for entry in entries]
    except (KeyError, TypeError, IndexError):
        ends = [None]
    if not all(type(end) is int for end in ends):
        raise TensorFileError("damage (a tensor without its place)")
    return max(ends, default=0)


def _parsed(text: str | bytes) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        raise TensorFileError("damage (its header is not JSON)") from None
    if not isinstance(found, dict):
        raise TensorFileError("damage (its header is not an object)")
    return found


def _document(data: bytes) -> dict[str, Any]:
    """Parse the JSON document in the header."""
    size = int.from_bytes(data[:8], "little")
    try:
        text = _parsed(data[8 : 8 + size])["__metadata__"][KEY]
    except (KeyError, TypeError):
        raise TensorFileError(
            "a safetensors file that celif did not write; "
            "save a module of your own with celif.save(path, net)"
        ) from None
    if not isinstance(text, str):
        raise TensorFileError("damage (its document is not text)")
    return _parsed(text)


def _text(document: Any) -> str:
    return json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def _digest(document: dict[str, Any], tensors: dict[str, torch.Tensor]) -> str:
    """Hash a document, without its own hash, and the tensors by name, type, shape and bytes."""
    digest = hashlib.sha256(_text(document).encode("utf-8", "surrogatepass"))
    for name in sorted(tensors):
        tensor = tensors[name]
        digest.update(f"\n{name} {tensor.dtype} {tuple(tensor.shape)}\n".encode())
        digest.update(tensor.reshape(-1).view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()


def _without_tensors(value: Any, place: str, tensors: dict[str, torch.Tensor]) -> Any:
    """Return a copy of ``value`` with names for its tensors, which go into ``tensors``."""
    if isinstance(value, torch.Tensor):
        if place in tensors:
            raise TypeError(f"{place}: expected one tensor of that name, got two")
        # A copy: safetensors refuses tensors that share memory, as those of tied layers do.
        tensors[place] = value.detach().cpu().clone(memory_format=torch.contiguous_format)
        return {_TENSOR: place}
    if isinstance(value, dict):
        return {
            key: _without_tensors(each, f"{place}/{key}" if place else key, tensors)
            for key, each in _checked_items(value, place)
        }
    if isinstance(value, (list, tuple)):
        return [_without_tensors(each, f"{place}/{i}", tensors) for i, each in enumerate(value)]
    if value is None or type(value) in (str, int, float, bool):
        return value
    raise TypeError(
        f"{place}: expected a tensor, string, number, boolean, list or dictionary, got "
        f"{type(value).__name__}; convert it before saving"
    )


def _checked_items(value: dict[Any, Any], place: str) -> Iterator[tuple[str, Any]]:
    for key, each in value.items():
        if not isinstance(key, str) or key in (_TENSOR, _SUM):
            raise TypeError(f"{place or 'content'}: expected names as keys, got {key!r}")
        yield key, each


def _with_tensors(value: Any, tensors: dict[str, torch.Tensor], unused: set[str]) -> Any:
    if isinstance(value, list):
        return [_with_tensors(each, tensors, unused) for each in value]
    if not isinstance(value, dict):
        return value
    if _TENSOR not in value:
        return {key: _with_tensors(each, tensors, unused) for key, each in value.items()}
    name = value[_TENSOR]
    if not isinstance(name, str) or name not in unused or len(value) > 1:
        raise TensorFileError(f"a reference to a tensor {name!r}, which it does not have once")
    unused.remove(name)
    return tensors[name]


def _first_line(error: Exception) -> str:
    lines = str(error).splitlines() or [""]
    return f"{type(error).__name__}: {lines[0][:120]}"
