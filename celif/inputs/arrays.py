"""A user's ``.npy`` and ``.npz`` files: nothing in them is executed."""

from __future__ import annotations

import zipfile
import zlib
from pathlib import Path

import numpy as np

from training.support.atomic import atomic_file
from training.support.plain_files import check_npy, check_npz
from training.tasks.labels import class_labels

_MAGIC = b"\x93NUMPY"
_AGAIN = "write it with numpy.save(file, array)"
_CONVERT = "convert with array.astype(numpy.float32)"
_KEYS = ("x", "y", "x_test", "y_test")


def read_samples(file: Path, option: str = "--input") -> np.ndarray:
    """Read numbers of three axes from an ``.npy`` file, or ``x`` from an ``.npz`` archive."""
    if file.suffix == ".npz":
        return read_archive(file, option)["x"]
    expected = "a .npy file of numbers, (batch, channel, time)"
    return _three_axes(_read(file, option, expected), file, option, expected)


def read_labels(
    file: Path, samples: int, classes: int | None = None, option: str = "--labels"
) -> np.ndarray:
    """Read one class for each sample from an ``.npy`` file, or ``y`` from an ``.npz`` archive.

    ``classes`` is the number of a network's outputs, if it is known.
    """
    name = f"{option} {file}"
    if file.suffix == ".npz":
        return class_labels(
            f"{name} y", read_archive(file, option, needed="y")["y"], samples, classes
        )
    labels = _read(file, option, f"a .npy file of {samples} classes as integers")
    return class_labels(name, labels, samples, classes)


def read_outputs(file: Path, option: str = "--teacher") -> np.ndarray:
    """Read a model's outputs (sample, class) from an ``.npy`` file, in float32."""
    expected = "a .npy file of numbers, (sample, class)"
    found = _read(file, option, expected)
    if found.dtype.kind not in "iuf" or found.ndim != 2:
        raise ValueError(
            f"{option} {file}: expected {expected}, found {found.dtype} of shape {found.shape}"
        )
    with np.errstate(over="ignore"):
        outputs = found.astype(np.float32)
    if not np.isfinite(outputs).all():
        raise ValueError(
            f"{option} {file}: expected {expected}, finite in float32, found numbers that are not"
        )
    return outputs


def write_outputs(file: Path, outputs: np.ndarray) -> None:
    """Write a model's outputs, whole or not at all."""
    with atomic_file(file) as draft, draft.open("wb") as stream:
        np.save(stream, outputs)


def read_archive(file: Path, option: str, needed: str = "x") -> dict[str, np.ndarray]:
    """Read ``x`` and, if they are there, ``y``, ``x_test`` and ``y_test`` from an archive."""
    if not file.is_file():
        raise ValueError(f"{option} {file}: expected an .npz archive, found {_missing(file)}")
    if not zipfile.is_zipfile(file):
        raise ValueError(
            f"{option} {file}: expected an .npz archive, found something else; write it with "
            "numpy.savez(file, x=x, y=y)"
        )
    try:
        names = check_npz(file)
        with np.load(file, allow_pickle=False) as archive:
            arrays = {key: archive[key] for key in _KEYS if key in names}
    except (ValueError, EOFError, zipfile.BadZipFile, zlib.error, NotImplementedError) as reason:
        raise ValueError(
            f"{option} {file}: expected arrays of numbers, found {reason}; {_CONVERT}"
        ) from None
    if needed not in arrays:
        raise ValueError(
            f"{option} {file}: expected an array {needed}, found {', '.join(names[:8]) or 'none'}; "
            "write it with numpy.savez(file, x=x, y=y)"
        )
    expected = "numbers, (batch, channel, time)"
    for key in ("x", "x_test"):
        if key in arrays:
            _three_axes(arrays[key], file, option, f"{key} of {expected}")
    return arrays


def _missing(file: Path) -> str:
    return "a folder" if file.is_dir() else "no such file"


def _read(file: Path, option: str, expected: str) -> np.ndarray:
    def error(found: str, remedy: str) -> ValueError:
        return ValueError(f"{option} {file}: expected {expected}, found {found}; {remedy}")

    if not file.is_file():
        raise error(_missing(file), _AGAIN)
    with file.open("rb") as f:
        start = f.read(len(_MAGIC))
    if start.startswith(b"PK"):
        raise error("an .npz archive", "give it the ending .npz, with an array x in it")
    if start != _MAGIC:
        raise error("something else", _AGAIN)
    try:
        with file.open("rb") as f:
            check_npy(f, file.stat().st_size)
        return np.load(file, allow_pickle=False)
    except (ValueError, EOFError) as reason:
        if "pickle" in str(reason) or "Object arrays" in str(reason):
            raise error("Python objects", _CONVERT) from None
        raise error(f"damage ({reason})", _AGAIN) from None


def _three_axes(x: np.ndarray, file: Path, option: str, expected: str) -> np.ndarray:
    remedy = None
    if x.dtype.kind not in "biuf":
        found, remedy = f"values of type {x.dtype}", _CONVERT
        if x.dtype.kind == "c":
            remedy = "store real and imaginary parts as channels, or the magnitudes"
    elif x.ndim != 3:
        found = f"shape {x.shape}"
        remedy = "give it the missing axes, of length 1 where there is one sample or channel"
        remedy = remedy if x.ndim < 3 else "reshape it"
    elif x.size == 0:
        found, remedy = f"none, in shape {x.shape}", "give it at least one sample"
    if remedy is not None:
        raise ValueError(f"{option} {file}: expected {expected}, found {found}; {remedy}")
    return x
