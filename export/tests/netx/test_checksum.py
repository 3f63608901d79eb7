"""The checksum of a file: as the format specifies it, and verified whatever the version."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np
import pytest

from export import read_netx, write_netx
from export.netx import integrity
from export.tests.netx.test_hostile_files import refusal
from export.tests.strategies import assert_same, cosine_network, kinds_networks, rich_network


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "net.net"
    write_netx(rich_network(), path)
    return path


def by_the_specification(path: Path) -> str:
    """The checksum, written from FORMAT.md alone."""
    import hashlib

    found = {}

    def look(group: h5py.Group, name: str) -> None:
        for key in group:
            member = group[key]
            if isinstance(member, h5py.Group):
                look(member, f"{name}/{key}")
            else:
                found[f"{name}/{key}"] = member[()]

    with h5py.File(path) as f:
        look(f, "")
    stored = found.pop("/celif/checksum").decode()
    text = b""
    for name in sorted(found, key=str.encode):
        value = np.array(found[name])
        text += b"\0".join(
            [name.encode(), value.dtype.str.encode(), str(value.shape).encode(), b""]
        )
        text += value.tobytes()
    assert hashlib.sha256(text).hexdigest() == stored
    return stored


def test_checksum_is_the_one_that_the_format_specifies(path):
    first = by_the_specification(path)
    write_netx(cosine_network(), path)
    assert by_the_specification(path) != first


@pytest.mark.parametrize(
    ("name", "index"), [("layer/0/weight", (0, 0)), ("celif/gap", ()), ("te/0", (1, 1))]
)
def test_changed_value_is_noticed(path, name, index):
    with h5py.File(path, "a") as f:
        f[name][index] = f[name][index] + 1
    error = refusal(path)
    assert error.dataset == integrity.CHECKSUM
    assert "the file is damaged" in error.remedy


@pytest.mark.parametrize("version", [1, 2])
def test_changed_version_does_not_switch_the_checksum_off(path, version):
    with h5py.File(path, "a") as f:
        f["celif/version"][()] = version
    assert refusal(path).dataset == integrity.CHECKSUM


def test_file_without_its_checksum_is_refused(path):
    with h5py.File(path, "a") as f:
        del f["celif/checksum"]
    error = refusal(path)
    assert (error.dataset, error.found) == (integrity.CHECKSUM, "none")


def test_file_of_version_3_is_still_read():
    """Made from ``kinds_networks`` when version 3 was the newest; to be kept as it is."""
    kept = Path(__file__).parents[1] / "data" / "version-3.net"
    assert_same(read_netx(kept), kinds_networks()[-1])
