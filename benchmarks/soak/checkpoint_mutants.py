"""Mutants of what a checkpoint holds: its fields, its tensors and its header."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import torch

from benchmarks.soak.mutants import Rng, pick
from training.support import tensor_file

_PLAIN: tuple[Any, ...] = (
    None, -1, 0, 1, 1 << 31, 1 << 70, 1e308, float("nan"), float("inf"), True, "x", "", "\x1b[2J",
    [], {}, [[]], ["x"], {"a": 1}, [1] * 1000,
)  # fmt: skip


def _paths(value: Any, before: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value)
    found: list[tuple[Any, ...]] = []
    for key, each in items:
        found.append((*before, key))
        if isinstance(each, (dict, list)):
            found += _paths(each, (*before, key))
    return found


def _tensor(old: Any, rng: Rng) -> torch.Tensor:
    like = old if isinstance(old, torch.Tensor) else torch.zeros(3)
    whole = like.float()
    poisoned = whole.clone().reshape(-1)
    if len(poisoned):
        poisoned[int(rng.integers(len(poisoned)))] = pick(rng, (torch.nan, torch.inf, -1e38, 0.0))
    made: Any = (
        poisoned.reshape(like.shape), whole.double(), whole.half(), whole.to(torch.int64),
        whole[None], whole.reshape(-1)[:-1], torch.zeros(0), torch.zeros(()), whole.bool(),
        torch.zeros(2, 0, 5),
    )  # fmt: skip
    return pick(rng, made)


def change_fields(content: dict[str, Any], path: Path, rng: Rng) -> str:
    """Write ``content`` with one to three fields changed, with a right checksum; return how."""
    changed, done = copy.deepcopy(content), []
    for _ in range(int(rng.choice([1, 1, 2, 3]))):
        place = pick(rng, _paths(changed))
        inner = changed
        for key in place[:-1]:
            inner = inner[key]
        action = pick(rng, ("delete", "plain", "plain", "tensor", "tensor", "other"))
        old = inner[place[-1]]
        if action == "delete":
            del inner[place[-1]]
        elif action == "plain":
            inner[place[-1]] = copy.deepcopy(pick(rng, _PLAIN))
        elif action == "tensor":
            inner[place[-1]] = _tensor(old, rng)
        elif isinstance(inner, dict):
            inner[f"{place[-1]}2"] = copy.deepcopy(old)
        done.append(f"{action} {'/'.join(map(str, place))}")
    tensor_file.write(path, changed)
    return ", ".join(done)


def change_header(data: bytes, rng: Rng) -> bytes:
    """Change the JSON header of a safetensors file: types, shapes, offsets, names, its length."""
    size = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + size])
    names = [name for name in header if name != "__metadata__"]
    entry = header[name := pick(rng, names)]
    field = pick(rng, ("dtype", "shape", "data_offsets", "rename", "drop", "metadata", "length"))
    if field == "dtype":
        entry["dtype"] = pick(rng, ("F64", "I8", "U8", "BF16", "BOOL", "F8_E4M3", "X", 3, None))
    elif field == "shape":
        entry["shape"] = pick(
            rng, ([], [-1], [1 << 62, 4], [0], [1 << 40], ["x"], None, [[1]], [1, *entry["shape"]])
        )
    elif field == "data_offsets":
        entry["data_offsets"] = pick(
            rng, ([0, 1], [-1, 5], [0, 1 << 62], [5, 1], [], None, [0, len(data)])
        )
    elif field == "rename":
        header["../" + name] = header.pop(name)
    elif field == "drop":
        del header[name]
    elif field == "metadata":
        document = pick(
            rng,
            (
                {},
                {"celif": "[" * 100000},
                {"celif": 3},
                {"celif": "{}"},
                [],
                None,
                {"celif": "null"},
            ),
        )
        header["__metadata__"] = document
    text = json.dumps(header).encode()
    told = pick(rng, (0, 1, 1 << 62, len(data), size - 1)) if field == "length" else len(text)
    return told.to_bytes(8, "little") + text + data[8 + size :]
