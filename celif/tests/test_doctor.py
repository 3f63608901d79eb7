"""celif doctor: what it finds here, and what it says where something is missing."""

from __future__ import annotations

import importlib
import shutil
from collections import namedtuple
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

import lava_procs
from celif import doctor
from celif.tests.run_command import answer, raising, run_celif
from hw_tests.ladder import RUNGS
from hw_tests.tests import loihi_standin
from lava_procs.mends import lava_command


@pytest.fixture(autouse=True)
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines are not to be broken."""
    monkeypatch.setenv("COLUMNS", "400")


def state(checks: Any, name: str) -> str:
    [found] = [check for check in checks if check["name"].startswith(name)]
    return found["state"]


def test_doctor_is_content_here_and_tells_what_the_chip_would_need() -> None:
    said = answer("doctor")
    assert said["well"]
    checks = said["checks"]
    assert state(checks, "a small run") == "ok"
    ladder = [check for check in checks if check["group"] == "ladder"]
    assert [check["state"] for check in ladder] == ["ok"] * (len(RUNGS) - 1) + ["note"]
    chip = [check for check in checks if check["group"] == "Loihi 2"]
    assert chip
    assert all(check["remedy"] for check in chip if check["state"] != "ok")


@pytest.fixture
def small_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Spare the run, which others test."""
    monkeypatch.setattr(doctor, "_lava", lambda: iter(()))


@pytest.mark.usefixtures("small_run")
def test_doctor_counts_a_missing_chip_only_if_asked_for_it(tmp_path: Path) -> None:
    result = run_celif("doctor", "--target", "loihi2")
    assert result.exit_code == 2
    assert "missing: Intel's extension of Lava" in " ".join(result.stderr.split())
    with loihi_standin.installed(tmp_path, model=False):
        assert run_celif("doctor", "--target", "loihi2", "--hybrid").exit_code == 0
        said = run_celif("doctor", "--target", "loihi2").stdout
        assert "the microcode for ours (NcCELIF): missing; name the microcode's file" in said


def test_doctor_without_lava_says_so_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib, "import_module", raising(ImportError("no lava-nc here")))
    result = run_celif("doctor")
    assert result.exit_code == 2
    [line] = [line for line in result.stdout.splitlines() if "import:" in line]
    assert f"ImportError: no lava-nc here; install it again: {lava_command()}" in line


def test_doctor_tells_of_a_lava_that_does_not_run(monkeypatch: pytest.MonkeyPatch) -> None:
    failure = lava_procs.LavaRunError("Lava run: OSError: no space in /dev/shm\n\nTraceback ...")
    monkeypatch.setattr(lava_procs, "run", raising(failure))
    result = run_celif("doctor")
    assert result.exit_code == 2
    assert "a small run: Lava run: OSError: no space in /dev/shm; see" in result.stdout
    assert "Traceback" not in result.stdout


@pytest.mark.usefixtures("small_run")
def test_doctor_names_what_is_short_and_other_versions(monkeypatch: pytest.MonkeyPatch) -> None:
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda place: usage(1, 1, 1_000_000))
    monkeypatch.setattr(doctor.resource, "getrlimit", lambda kind: (256, 256))

    def version(name: str) -> str:
        if name == "numba":
            raise metadata.PackageNotFoundError(name)
        return "0.11.0"

    monkeypatch.setattr(metadata, "version", version)
    result = run_celif("doctor")
    assert result.exit_code == 2
    for words in (
        "shared memory: 0.0 GB free in /dev/shm; Lava's messages go there: in a container",
        "open files: up to 256; Lava's networks open hundreds: ulimit -n 4096",
        "numba: not installed; pip install 'numba",
        "lava-nc: 0.11.0; celif is tested with 0.10.x",
        "missing: numba",
    ):
        assert words in result.stdout + result.stderr
