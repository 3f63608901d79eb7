"""Files made by hand to run code, to reach other files, to hang a reader or to exhaust memory.

Every attack is written as the file ``mutant``. What runs code would make a file ``owned`` next to
it, and what reads elsewhere would open the file ``canary``.
"""

from __future__ import annotations

import functools
import io
import json
import os
import pickle
import socket
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch

from benchmarks.soak import netx_attacks
from training.support import tensor_file

Make = Callable[[Path], Any]


class _Runs:
    """Pickled, it is a call."""

    def __init__(self, function: Any, *values: Any) -> None:
        self.call = (function, values)

    def __reduce__(self) -> Any:
        return self.call


def _calls(folder: Path) -> dict[str, _Runs]:
    owned = str(folder / "owned")
    return {
        "open": _Runs(open, owned, "w"),
        "system": _Runs(os.system, f"touch {owned}"),
        "exec": _Runs(exec, f"open({owned!r}, 'w')"),
    }


def _torch_file(value: Any, zipped: bool) -> bytes:
    file = io.BytesIO()
    torch.save(value, file, _use_new_zipfile_serialization=zipped)
    return file.getvalue()


class _Scripted(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + 1


def _torchscript() -> bytes:
    file = io.BytesIO()
    torch.jit.save(torch.jit.script(_Scripted()), file)
    return file.getvalue()


def _tar(members: dict[str, bytes]) -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as tar:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return file.getvalue()


def _zip(members: dict[str, bytes], method: int = zipfile.ZIP_STORED) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as made:
        for name, data in members.items():
            made.writestr(name, data)
    return file.getvalue()


def _payloads(folder: Path, old: bytes) -> dict[str, bytes]:
    """Return whole files that run code when the wrong reader gets them."""
    made: dict[str, bytes] = {"TorchScript": _torchscript()}
    for name, call in _calls(folder).items():
        for protocol in (0, 2, 4):
            made[f"pickle {protocol} {name}"] = pickle.dumps(call, protocol)
        weights = {"celif": 2, "network": {}, "weights": {"w": call}}
        made[f"torch zip {name}"] = _torch_file(weights, True)
        made[f"torch legacy {name}"] = _torch_file(weights, False)
        pickled = pickle.dumps(weights, 2)
        made[f"tar {name}"] = _tar(dict.fromkeys(("sys_info", "pickle", "storages"), pickled))
        made[f"zip with code {name}"] = _zip(
            {"m/data.pkl": pickled, "m/constants.pkl": pickled, "m/code/__torch__.py": b"x = 1"}
        )
    sound = {"archive/data.pkl": pickle.dumps({"celif": 2}, 2), "archive/version": b"3\n"}
    made["zip climbing out"] = _zip({**sound, "../owned": b"x", "/tmp/owned": b"x"})
    made["zip compressed"] = _zip(sound, zipfile.ZIP_DEFLATED)
    bomb = {"archive/data.pkl": bytes(64 << 20)}
    made["zip bomb"] = _zip(bomb, zipfile.ZIP_DEFLATED)
    made["zip with a comment"] = old[:-2] + b"\x04\0" + b"note"
    made["zip cut"] = old[:-1]
    middle = len(old) // 2
    made["zip with another CRC"] = old[:middle] + bytes([old[middle] ^ 1]) + old[middle + 1 :]
    lists: Any = []
    for _ in range(60):  # 2 ** 60 values, each list twice in the next
        lists = [lists, lists]
    made["doubled pickle"] = _zip({**sound, "archive/data.pkl": pickle.dumps(lists, 2)})
    deep = b"\x80\x02" + b"]" * 200_000 + b"a" * 199_999 + b"."
    made["deep pickle"] = _zip({**sound, "archive/data.pkl": deep})
    return made


def _polyglots(payloads: dict[str, bytes], good: dict[str, bytes]) -> dict[str, bytes]:
    """Return files that begin as one thing and end as another."""
    starts = {
        **good, "shell": b"#!/bin/sh\n", "PNG": b"\x89PNG\r\n\x1a\n", "ELF": b"\x7fELF" + bytes(60),
        "length": (64).to_bytes(8, "little") + b"{" + b" " * 63,
    }  # fmt: skip
    ends = {
        name: payloads[name]
        for name in (
            "TorchScript",
            "pickle 2 open",
            "torch zip open",
            "torch legacy exec",
            "tar open",
        )
    }
    ends |= good
    return {
        f"{start} then {end}": head + tail
        for start, head in starts.items()
        for end, tail in ends.items()
    }


def _headers(good: bytes) -> dict[str, bytes]:
    """Return safetensors files whose JSON is hostile."""

    def file(text: bytes, rest: bytes = b"") -> bytes:
        return len(text).to_bytes(8, "little") + text + rest

    def document(text: str) -> bytes:
        return file(json.dumps({"__metadata__": {tensor_file.KEY: text}}).encode())

    return {
        "JSON of depth 100,000": file(b'{"a":' + b"[" * 100_000),
        "document of depth 100,000": document('{"a":' * 100_000),
        "closed document of depth 900": document('{"a":' * 900 + "1" + "}" * 900),
        "number of a million digits": document('{"celif":' + "9" * 1_000_000 + "}"),
        "document with NaN": document('{"celif":NaN}'),
        "document of surrogates": document('{"celif":"\\ud800"}'),
        "doubled names": file(b'{"__metadata__":{},"__metadata__":{"celif":"{}"}}'),
        "2 MB of empty lists": file(b'{"a":[' + b"[]," * 690_000 + b"[]]}"),
        "document of 2 MB of empty lists": document('{"a":[' + "[]," * 690_000 + "[]]}"),
        "overlapping tensors": file(
            b'{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},'
            b'"b":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}',
            bytes(8),
        ),
        "tensors of 8-bit floats": file(
            b'{"a":{"dtype":"F8_E4M3","shape":[8],"data_offsets":[0,8]}}', bytes(8)
        ),
        "tensor at a negative place": file(
            b'{"a":{"dtype":"F32","shape":[2],"data_offsets":[-8,0]}}'
        ),
        "metadata of numbers": file(b'{"__metadata__":{"celif":5}}'),
        "header of 32 MB": file(b'{"a":"' + b" " * (32 << 20) + b'"}'),
        "header that is not text": file(b"{" + b"\xff" * 100),
        "length beyond the end": (1 << 63).to_bytes(8, "little") + good[8:],
        "no bytes": b"",
        "eight bytes": bytes(8),
    }


def _write(path: Path, data: bytes) -> None:
    path.write_bytes(data)


def _socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        here = os.getcwd()
        os.chdir(path.parent)  # the path of a socket has at most 107 characters
        try:
            made.bind(path.name)
        finally:
            os.chdir(here)


def _sparse(path: Path, start: bytes, size: int) -> None:
    path.write_bytes(start)
    os.truncate(path, size)


def _odd_files(good: dict[str, bytes]) -> Iterator[tuple[str, Make]]:
    yield "FIFO", os.mkfifo
    yield "folder", Path.mkdir
    yield "socket", _socket
    for device in ("zero", "full", "null", "tty", "random"):
        yield f"/dev/{device}", functools.partial(Path.symlink_to, target=f"/dev/{device}")
    yield "link to itself", lambda path: path.symlink_to(path.name)
    yield "link to nothing", lambda path: path.symlink_to("nothing")
    yield "memory of the process", lambda path: path.symlink_to("/proc/self/mem")
    for name, start in {
        **good,
        "nothing": b"",
        "header": (2).to_bytes(8, "little") + b"{}",
    }.items():
        for size in (600 << 20, 3 << 30):
            what = f"{name} in a sparse file of {size >> 20} MB"
            yield what, functools.partial(_sparse, start=start, size=size)


def attacks(folder: Path, good: dict[str, bytes]) -> Iterator[tuple[str, Make]]:
    """Yield every attack by name; ``good`` has the bytes of a netx, checkpoint and old file."""
    payloads = _payloads(folder, good["old checkpoint"])
    files = {**payloads, **_polyglots(payloads, good), **_headers(good["checkpoint"])}
    for name, data in files.items():
        yield name, functools.partial(_write, data=data)
    yield from netx_attacks.attacks(good["netx"])
    yield from _odd_files(good)
