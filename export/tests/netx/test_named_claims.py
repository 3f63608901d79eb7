"""Claims of a file that contradict each other are named; numbers count, not how they are stored."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np
import pytest

from export import read_netx, write_netx
from export.netx import integrity
from export.tests.netx.test_hostile_files import put, refusal
from export.tests.strategies import assert_same, kinds_networks, rich_network

CLAIMS = ("shape", "inChannels", "outChannels", "kernelSize", "inFeatures", "outFeatures")


def convolution(path: Path) -> str:
    """Write a network with a convolution; return where that is in the file."""
    for net in kinds_networks():
        write_netx(net, path)
        with h5py.File(path) as f:
            for i in f["layer"]:
                if f[f"layer/{i}/type"][0] == b"conv":
                    return f"layer/{i}"
    raise AssertionError("no network with a convolution")


@pytest.mark.parametrize("name", CLAIMS)
def test_claim_that_its_weights_contradict_is_named(name, tmp_path):
    path = tmp_path / "net.net"
    dense = name.endswith("Features")
    at = "layer/0" if dense else convolution(path)
    if dense:
        write_netx(rich_network(), path)
    with h5py.File(path) as f:
        value = f[f"{at}/{name}"][()]
    put(path, f"/{at}/{name}", value + 1)
    error = refusal(path)
    assert error.dataset == f"/{at}/{name}"
    assert str(np.array(value).tolist()) in error.expected


def test_version_that_is_older_than_the_checksum_may_lack_it(tmp_path):
    """A file of version 2 has none, and is read; one that says version 3 must have it."""
    path = tmp_path / "net.net"
    write_netx(rich_network(), path)
    with h5py.File(path, "a") as f:
        del f["celif/checksum"]
        f["celif/version"][()] = 2
    assert_same(read_netx(path), rich_network())
    with h5py.File(path, "a") as f:
        f["celif/version"][()] = 3
    assert refusal(path).dataset == integrity.CHECKSUM


def stored_as(path: Path, turn) -> int:
    """Store every number of a file as another type, and sign it; return how many have changed."""
    count = 0
    with h5py.File(path, "a") as f:
        names: list[str] = []
        f.visititems(lambda name, at: names.append(name) if isinstance(at, h5py.Dataset) else None)
        for name in names:
            value = f[name][()]
            if np.asarray(value).dtype.kind not in "iuf" or name.startswith("te/"):
                continue
            dtype = turn(np.asarray(value).dtype)
            if dtype is not None:
                del f[name]
                f.create_dataset(name, data=np.asarray(value).astype(dtype))
                count += 1
        integrity.sign(f)
    return count


def big_endian(dtype: np.dtype) -> np.dtype | None:
    return dtype.newbyteorder(">") if dtype.itemsize > 1 else None


def long_double(dtype: np.dtype) -> np.dtype | None:
    return np.dtype(np.longdouble) if dtype.kind == "f" else None


def half(dtype: np.dtype) -> np.dtype | None:
    return np.dtype(np.float16) if dtype.kind == "f" else None


def floats(dtype: np.dtype) -> np.dtype | None:
    return np.dtype(np.float64) if dtype.kind in "iu" else None


@pytest.mark.parametrize("turn", [big_endian, long_double, half], ids=lambda f: f.__name__)
def test_numbers_stored_in_another_type_are_the_same_integers(turn, tmp_path):
    """Whole numbers of any byte order and width, signed by whoever stored them so."""
    path, net = tmp_path / "net.net", rich_network()
    write_netx(net, path)
    assert stored_as(path, turn) > 0
    assert_same(read_netx(path), net)


@pytest.mark.parametrize("turn", [big_endian, long_double, floats], ids=lambda f: f.__name__)
def test_numbers_stored_in_another_type_do_not_have_the_former_checksum(turn, tmp_path):
    path = tmp_path / "net.net"
    write_netx(rich_network(), path)
    with h5py.File(path) as f:
        former = f["celif/checksum"][()]
    stored_as(path, turn)
    with h5py.File(path, "a") as f:
        assert f["celif/checksum"][()] != former
        f["celif/checksum"][()] = former
    assert refusal(path).dataset == integrity.CHECKSUM


def test_integer_stored_as_a_float_is_refused_where_one_is_meant(tmp_path):
    path = tmp_path / "net.net"
    write_netx(rich_network(), path)
    assert stored_as(path, floats) > 0
    error = refusal(path)
    assert error.dataset == "/celif/version"
    assert "dtype of kind 'iu'" in error.expected


@pytest.mark.parametrize(
    ("value", "found"),
    [("1e19", "fractions"), ("0.5", "fractions"), ("nan", "NaN or infinity"), ("inf", "NaN or")],
)
def test_long_double_that_is_no_whole_number_of_64_bits_is_refused(value, found, tmp_path):
    path = tmp_path / "net.net"
    write_netx(rich_network(), path)
    weight = np.array(rich_network().layers[0].weight, np.longdouble)
    weight[1, 1] = np.longdouble(value)
    put(path, "/layer/0/weight", weight)
    error = refusal(path)
    assert error.dataset == "/layer/0/weight"
    assert found in error.found
