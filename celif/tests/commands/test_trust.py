"""What commands say, and how they end, where a file is hostile or a disk is full."""

from __future__ import annotations

import errno
import os
import pickle
from pathlib import Path

import numpy as np
import pytest
import torch

from celif import exits
from celif.tests.run_command import answer, run_celif
from export import write_netx
from hw_tests.golden import write_kit
from hw_tests.golden.kit import MANIFEST, random_input
from hw_tests.networks.random_nets import random_network

VERSIONS = Path(__file__).parents[3] / "export" / "tests" / "data"


@pytest.fixture
def netx(tmp_path: Path) -> Path:
    path = tmp_path / "small.net"
    write_netx(random_network(np.random.default_rng(0), (3,), 6, channels=2), path)
    return path


@pytest.mark.parametrize("version", [1, 2])
def test_file_of_an_older_version_is_said_to_have_no_checksum(version):
    path = VERSIONS / f"version-{version}.net"
    assert answer("inspect", path)["checksum"] is None
    assert "no checksum: export it again for one" in run_celif("inspect", path).output


def test_file_with_a_checksum_is_said_to_be_verified(netx):
    stored = answer("inspect", netx)["checksum"]
    assert f"checksum {stored[:16]}, verified" in run_celif("inspect", netx).output


def test_disk_that_is_full_ends_in_code_2_and_keeps_the_former_kit(end_of, netx, monkeypatch):
    monkeypatch.setattr("hw_tests.golden.kit.unit_cases", list)
    kit = netx.with_name("kit")
    net = random_network(np.random.default_rng(1), (2,), 4)
    write_kit(net, random_input(net, 1), kit)
    before = (kit / MANIFEST).read_bytes()

    def fsync(handle: int) -> None:
        raise OSError(errno.ENOSPC, "from below")

    monkeypatch.setattr(os, "fsync", fsync)
    ending = end_of("golden", netx, "-o", kit)
    assert ending.code == exits.BAD_INPUT
    assert f"{kit}: could not be written (No space left on device)" in ending.error
    assert "what was there before is unchanged; free some space" in ending.error
    assert (kit / MANIFEST).read_bytes() == before
    assert sorted(path.name for path in kit.parent.iterdir()) == ["kit", "small.net"]


class Writes:
    """Writes a file of its choice when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = str(path)

    def __reduce__(self):
        return open, (self.path, "w")


@pytest.mark.parametrize("command", ["evaluate", "convert", "inspect"])
def test_checkpoint_that_would_run_code_ends_in_code_2_and_runs_none(end_of, command, tmp_path):
    evil, victim = tmp_path / "evil.pt", tmp_path / "victim"
    if command == "convert":
        torch.save({"celif": 1, "network": Writes(victim)}, evil)
    else:
        evil.write_bytes(pickle.dumps(Writes(victim)))
    ending = end_of(command, evil)
    assert ending.code == exits.BAD_INPUT
    assert "evil.pt" in ending.error
    assert "defect in celif" not in ending.error
    assert [path.name for path in tmp_path.iterdir()] == ["evil.pt"]
