"""JSON and arrays of others: what claims more than it has, or is ambiguous, is refused in words."""

from __future__ import annotations

import io
import pickle
import zipfile
from pathlib import Path

import numpy as np
import pytest

from training.support import plain_files

HOSTILE_JSON = {
    "deep list": (b'{"a":' + b"[" * 100_000, "nested too deeply"),
    "deep object": (b'{"a":' * 100_000, "nested too deeply"),
    "not text": (b"\xff\xfe{", "utf-8"),
    "NaN": (b'{"a": NaN}', "NaN"),
    "infinity": (b'{"a": -Infinity}', "Infinity"),
    "doubled name": (b'{"a": 1, "a": 2}', "'a' twice"),
    "number without end": (b'{"a": ' + b"9" * 10_000 + b"}", "limit|digits"),
    "too much": (b'{"a": "' + b"x" * (1 << 20) + b'"}', "more than"),
}


@pytest.mark.parametrize("name", HOSTILE_JSON)
def test_hostile_json_is_refused_in_words(name, tmp_path):
    if name == "number without end" and not hasattr(__import__("sys"), "get_int_max_str_digits"):
        pytest.skip("this Python has no limit of digits")
    data, match = HOSTILE_JSON[name]
    (tmp_path / "a.json").write_bytes(data)
    with pytest.raises(ValueError, match=match):
        plain_files.read_json(tmp_path / "a.json")


def test_plain_json_is_read(tmp_path):
    (tmp_path / "a.json").write_text('{"a": [1, 2.5, "ü", null, {"b": true}]}')
    assert plain_files.read_json(tmp_path / "a.json") == {"a": [1, 2.5, "ü", None, {"b": True}]}
    with pytest.raises(ValueError, match="no such file"):
        plain_files.read_json(tmp_path / "none.json")


def npy(shape: str, descr: str = "<f4", data: bytes = b"") -> bytes:
    header = f"{{'descr': {descr!r}, 'fortran_order': False, 'shape': {shape}, }}".encode()
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + data


HOSTILE_ARRAYS = {
    "terabytes": (npy("(1048576, 1048576, 1)", data=bytes(64)), "needs 4398046511104"),
    "negative": (npy("(-1, 1, 1)", data=bytes(64)), "shape"),
    "less": (npy("(1, 1, 17)", data=bytes(64)), "needs 68"),
    "more": (npy("(1, 1, 15)", data=bytes(64)), "needs 60"),
    "pickle": (npy("(1,)", "|O", pickle.dumps(print)), "Object arrays"),
    "version": (b"\x93NUMPY\x09\x00" + bytes(64), "version"),
}


@pytest.mark.parametrize("name", HOSTILE_ARRAYS)
@pytest.mark.parametrize("packed", [False, True], ids=["npy", "npz"])
def test_arrays_that_claim_something_else_are_refused(name, packed, tmp_path):
    data, match = HOSTILE_ARRAYS[name]
    if not packed:
        with pytest.raises(ValueError, match=match):
            plain_files.check_npy(io.BytesIO(data), len(data))
        return
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("x.npy", data)
    with pytest.raises(ValueError, match=match):
        plain_files.check_npz(tmp_path / "a.npz")


def test_archives_that_unfold_or_hold_other_things_are_refused(tmp_path):
    def written(members: list[tuple[str, bytes]], method: int = zipfile.ZIP_DEFLATED) -> Path:
        with zipfile.ZipFile(tmp_path / "a.npz", "w", method) as archive:
            for name, data in members:
                archive.writestr(name, data)
        return tmp_path / "a.npz"

    bomb = npy(f"({300 << 20},)", "|i1", bytes(300 << 20))
    with pytest.raises(ValueError, match="packed into"):
        plain_files.check_npz(written([("x.npy", bomb)]))
    with pytest.raises(ValueError, match="is no array"):
        plain_files.check_npz(written([("x", b"hello")]))
    with pytest.warns(UserWarning, match="Duplicate"):
        twice = written([("x.npy", npy("(0,)")), ("x.npy", npy("(0,)"))])
    with pytest.raises(ValueError, match="two arrays"):
        plain_files.check_npz(twice)


def test_arrays_of_numpy_pass(tmp_path):
    arrays = {
        "x": np.arange(6.0).reshape(1, 2, 3),
        "none": np.zeros((0, 2)),
        "f": np.ones((2, 2)).T,
    }
    for save in (np.savez, np.savez_compressed):
        save(tmp_path / "a.npz", **arrays)
        assert plain_files.check_npz(tmp_path / "a.npz") == list(arrays)
