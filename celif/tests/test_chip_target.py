"""``--target loihi2`` on the command line: explained without a chip, walked with a stand-in."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import celif
import lava_procs
from celif.commands import chip_options
from celif.tests.run_command import answer
from export import read_netx, simulate, write_netx
from hw_tests.networks.random_nets import random_network
from hw_tests.tests import loihi_standin
from hw_tests.tests.loihi_calls import calls

NO_CHIP = "no Loihi 2: Intel's extension of Lava (lava.utils.loihi2_profiler) is missing; install"


@pytest.fixture
def files(tmp_path: Path, rng: np.random.Generator) -> list[Any]:
    """A network and samples, as arguments."""
    write_netx(random_network(rng, (5, 4), 6), tmp_path / "net.net")
    np.save(tmp_path / "x.npy", rng.integers(0, 16, (2, 2, 6)))
    return [tmp_path / "net.net", "--input", tmp_path / "x.npy"]


@pytest.mark.parametrize(
    ("command", "options", "code", "words"),
    [
        ("run", ["--target", "loihi2"], 2, NO_CHIP),
        ("run", ["--target", "loihi2", "--hybrid", "--host", "10.1.23.175"], 2, NO_CHIP),
        ("run", ["--target", "loihi2", "--partition", "og", "--board", "og-01"], 2, NO_CHIP),
        ("run", ["--target", "loihi2", "--host", "a", "--board", "b"], 2, "expected no partition"),
        ("run", ["--target", "loihi2", "--generation", "N9"], 2, "generation: expected one of"),
        ("run", ["--target", "loihi2", "--adapter-steps", "1"], 2, "two numbers such as 0,0"),
        ("run", ["--target", "loihi2", "--precision", "float"], 2, "all that Loihi has"),
        ("run", ["--partition", "og", "--hybrid"], 2, "--partition, --hybrid: expected with"),
        ("verify", ["--target", "loihi2"], 4, NO_CHIP),
        ("verify", ["--target", "loihi2", "--board", "og-01", "--hybrid"], 4, NO_CHIP),
        ("verify", ["--target", "twin", "--host", "a"], 2, "--host: expected with --target loihi2"),
        ("verify", ["--target", "loihi2", "--generation", "N9"], 2, "generation: expected one of"),
    ],
)
def test_every_way_to_the_chip_ends_in_its_explanation(
    end_of: Any, files: list[Any], command: str, options: list[str], code: int, words: str
) -> None:
    ending = end_of(command, *files, *options)
    assert ending.code == code
    assert words in " ".join((ending.error + ending.output).split())
    assert "Traceback" not in ending.error


def test_pytest_skips_the_chip_with_its_reason() -> None:
    command = [sys.executable, "-m", "pytest", "hw_tests/tests/test_ladder.py", "-k", "rung_4"]
    done = subprocess.run(
        [*command, "--target", "loihi2", "-p", "no:cacheprovider"],
        cwd=Path(celif.__file__).parent.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    assert NO_CHIP in " ".join((done.stdout + done.stderr).split())
    assert "passed" not in done.stdout
    assert "Traceback" not in done.stdout + done.stderr


def test_with_the_extension_the_commands_reach_the_chip(files: list[Any], tmp_path: Path) -> None:
    extension = tmp_path / "extension"
    extension.mkdir()
    x = np.load(files[2])
    expected = simulate(read_netx(files[0]), x)
    assert np.any(expected.logits)
    with loihi_standin.installed(extension):
        said = answer("run", *files, "--target", "loihi2", "--board", "og-02")
        assert said["predictions"] == expected.predictions.tolist()
        verified = answer("verify", *files, "--target", "loihi2", "--partition", "oheogulch")
        assert {r["rung"]: r["verdict"] for r in verified["rungs"]}[4] == "equal"
        places = [call[2] for call in calls("run")]
    assert [place["BOARD"] for place in places] == ["og-02", None]
    assert [place["PARTITION"] for place in places] == [None, "oheogulch"]


def test_help_states_the_default_of_the_adapters() -> None:
    into, out_of = lava_procs.Loihi().adapter_steps
    (option,) = chip_options.AdapterSteps.__metadata__
    assert f"default {into},{out_of}" in option.help
