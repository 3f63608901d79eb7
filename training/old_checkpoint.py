"""Checkpoints of versions 1 and 2, which torch pickled: read without running what is in them.

Only the form that celif wrote is accepted: a zip file from its first byte on, with stored (never
compressed) members of known names, whose sizes and checksums are right. The pickle inside is read
by an unpickler that knows five names, each of which stands for a harmless function of this module;
torch's own loader, which also runs TorchScript and older forms, is never called.
"""

from __future__ import annotations

import io
import itertools
import os
import pickle
import re
import zipfile
from collections import OrderedDict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

from training import checkpoint
from training.checkpoint import CheckpointError
from training.support import tensor_file

_MEMBER = re.compile(
    r"[^/]+/(data\.pkl|version|byteorder|\.data/serialization_id|\.format_version|"
    r"\.storage_alignment|data/\d+)"
)
_END_BYTES = 22
"""Length of the record at the end of a zip file without a comment."""
_PICKLE_MAX = 64 << 20

_TYPES = {
    "FloatStorage": (np.float32, torch.float32),
    "DoubleStorage": (np.float64, torch.float64),
    "LongStorage": (np.int64, torch.int64),
    "IntStorage": (np.int32, torch.int32),
    "ByteStorage": (np.uint8, torch.uint8),
    "BoolStorage": (np.bool_, torch.bool),
}


_NODES_MAX = 200_000
"""Values in a checkpoint: a pickle can name a few so often that nobody lives to see the last."""


class _Storage(NamedTuple):
    values: torch.Tensor


class _Value(NamedTuple):
    """A tensor that the pickle cannot touch any more."""

    tensor: torch.Tensor


def _rebuilt(
    storage: Any, offset: Any, shape: Any, stride: Any, requires_grad: Any, hooks: Any, *rest: Any
) -> _Value:
    """Make a tensor as torch._utils._rebuild_tensor_v2 does, inside its storage."""
    numbers = (offset, *shape, *stride)
    if not isinstance(storage, _Storage) or len(shape) != len(stride):
        raise CheckpointError("a tensor without its storage")
    if any(type(n) is not int or not 0 <= n < 1 << 40 for n in numbers):
        raise CheckpointError("a tensor of impossible shape")
    last = offset + sum((n - 1) * step for n, step in zip(shape, stride, strict=True))
    if 0 not in shape and last >= len(storage.values):
        raise CheckpointError("a tensor that is larger than its storage")
    if hooks:
        raise CheckpointError("a tensor with hooks")
    return _Value(torch.as_strided(storage.values, shape, stride, offset).clone())


def _parameter(data: Any, requires_grad: Any, hooks: Any) -> _Value:
    if not isinstance(data, _Value) or hooks:
        raise CheckpointError("a parameter that is not a tensor")
    return data


_KNOWN: dict[tuple[str, str], Callable[..., Any]] = {
    ("collections", "OrderedDict"): OrderedDict,
    ("torch._utils", "_rebuild_tensor_v2"): _rebuilt,
    ("torch._utils", "_rebuild_parameter"): _parameter,
}


class _Unpickler(pickle.Unpickler):
    """Builds plain values and tensors, and nothing else."""

    def __init__(self, data: bytes, storages: dict[str, bytes]) -> None:
        super().__init__(io.BytesIO(data))
        self._storages = storages

    def find_class(self, module: str, name: str) -> Any:
        if module == "torch" and name in _TYPES:
            return name
        if (module, name) not in _KNOWN:
            raise CheckpointError(f"the name {module}.{name}, which no checkpoint has")
        return _KNOWN[module, name]

    def persistent_load(self, pid: Any) -> Any:
        if not (isinstance(pid, tuple) and len(pid) == 5 and pid[0] == "storage"):
            raise CheckpointError("an unknown reference")
        _, kind, key, _, count = pid
        if kind not in _TYPES or key not in self._storages or type(count) is not int:
            raise CheckpointError("a reference to a storage that is not there")
        dtype, _ = _TYPES[kind]
        data = self._storages[key]
        if len(data) != count * np.dtype(dtype).itemsize:
            raise CheckpointError(f"a storage of {len(data)} bytes for {count} values")
        return _Storage(torch.from_numpy(np.frombuffer(data, dtype).copy()))


def _members(path: Path) -> dict[str, bytes]:
    """Read the members of the zip file, each without the name of its folder."""
    with path.open("rb") as file:
        start = file.read(4)
        file.seek(-min(_END_BYTES, path.stat().st_size), os.SEEK_END)
        end = file.read(4)
    if start != b"PK\x03\x04" or end != b"PK\x05\x06":
        raise CheckpointError("a file that is not a zip file from its first byte to its last")
    with zipfile.ZipFile(path) as archive:
        infos = archive.infolist()
        if archive.comment or not infos or min(i.header_offset for i in infos) != 0:
            raise CheckpointError("a zip file with something around it")
        if len({i.filename for i in infos}) != len(infos):
            raise CheckpointError("a member twice")
        if sum(i.file_size for i in infos) > path.stat().st_size:
            raise CheckpointError("members larger than the file")
        for info in infos:
            if not _MEMBER.fullmatch(info.filename):
                raise CheckpointError(f"a member {info.filename[:60]!r}, which no checkpoint has")
            if info.compress_type != zipfile.ZIP_STORED or info.flag_bits & 1:
                raise CheckpointError("compressed or encrypted members")
        # Reading a member whole checks its CRC.
        return {i.filename.partition("/")[2]: archive.read(i) for i in infos}


def read(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the content of an old checkpoint in the form of the present version."""
    path = Path(path)
    if not path.is_file():
        raise CheckpointError(f"{path}: expected a checkpoint, found no regular file")
    try:
        content = _unpickled(_members(path))
        return _modern(content)
    except CheckpointError as error:
        raise CheckpointError(f"{path}: expected a checkpoint of celif, found {error}") from None
    except Exception as error:  # a damaged pickle can raise anything
        first = (str(error).splitlines() or [""])[0][:120]
        raise CheckpointError(
            f"{path}: expected a checkpoint of celif, found damage "
            f"({type(error).__name__}: {first})"
        ) from None


def _unpickled(members: dict[str, bytes]) -> Any:
    if members.get("byteorder", b"little") != b"little":
        raise CheckpointError("numbers in another byte order")
    data = members.get("data.pkl", b"")
    if not 0 < len(data) <= _PICKLE_MAX:
        raise CheckpointError("no pickle, or one that is far too large")
    storages = {n.removeprefix("data/"): d for n, d in members.items() if n.startswith("data/")}
    return _plain(_Unpickler(data, storages).load(), itertools.count())


def _plain(value: Any, seen: Iterator[int]) -> Any:
    """Return ``value`` with its tensors unwrapped; refuse what is neither data nor a container."""
    if next(seen) > _NODES_MAX:
        raise CheckpointError("more values than a checkpoint can have")
    if isinstance(value, _Value):
        return value.tensor
    if isinstance(value, dict):
        return {key: _plain(each, seen) for key, each in value.items()}
    if type(value) in (list, tuple):
        return [_plain(each, seen) for each in value]
    if value is None or type(value) in (str, int, float, bool):
        return value
    raise CheckpointError(f"a value of type {type(value).__name__}")


def _modern(content: Any) -> dict[str, Any]:
    """Bring the content of versions 1 and 2 into the form of version 3."""
    if not isinstance(content, dict) or not {"celif", "network", "weights"} <= set(content):
        raise CheckpointError(
            "another file of torch; save a module of your own with celif.save(path, net)"
        )
    version = content["celif"]
    if type(version) is not int or version not in (1, 2):
        raise CheckpointError(f"version {version!r}; versions 1 and 2 can be converted")
    modern = {"kind": "Network", **content, "celif": checkpoint.VERSION}
    if isinstance(modern.get("random"), torch.Tensor):  # version 1: the state of one process
        modern["random"] = [modern["random"]]
    if "optimizer" in modern:
        optimizer = modern["optimizer"]
        state = {str(key): value for key, value in optimizer["state"].items()}
        modern["optimizer"] = {"state": state, "param_groups": optimizer["param_groups"]}
    modern["weights"] = dict(modern["weights"])
    checkpoint.check_fields(modern)
    return modern


def convert(path: str | os.PathLike[str], out: str | os.PathLike[str] | None = None) -> Path:
    """Write the content of an old checkpoint as a present one and return its path.

    Without ``out``, it gets the same name with the present suffix.
    """
    target = Path(path).with_suffix(checkpoint.SUFFIX) if out is None else Path(out)
    tensor_file.write(target, read(path))
    return target
