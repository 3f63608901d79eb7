"""What a file may hold at most, as FORMAT.md says, and files that are older than the checksum."""

from __future__ import annotations

from pathlib import Path

import pytest

from export import read_netx
from export.netx import integrity


def test_limits_are_those_of_the_page() -> None:
    page = (Path(__file__).parents[2] / "FORMAT.md").read_text(encoding="utf-8")
    assert "files above 1 GiB, files of more than 4,096 objects" in page
    assert "more than 512 MiB" in page
    assert (integrity.FILE_BYTES_MAX, integrity.OBJECTS_MAX) == (2**30, 4096)
    assert integrity.CONTENT_BYTES_MAX == 512 * 2**20
    assert (integrity.DEPTH_MAX, integrity.STRING_BYTES_MAX) == (8, 4096)
    assert integrity.SLACK_BYTES_MAX == 16 * 2**20


@pytest.mark.parametrize("version", [1, 2])
def test_files_of_versions_without_a_checksum_are_read(version: int) -> None:
    path = Path(__file__).parents[1] / "data" / f"version-{version}.net"
    assert integrity.stored_in(path) is None
    assert read_netx(path).layers
