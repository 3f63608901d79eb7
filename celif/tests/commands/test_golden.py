"""celif golden: writing a kit, and comparing with it what other back ends compute."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from celif.tests.run_command import answer, run_celif
from export import write_netx
from hw_tests.networks.random_nets import random_network


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A network and its kit."""
    folder = tmp_path_factory.mktemp("golden")
    write_netx(random_network(np.random.default_rng(0), (6, 5), 20), folder / "net.net")
    said = answer("golden", folder / "net.net", "-o", folder / "kit")
    assert [case["name"] for case in said["cases"]][-1] == "network"
    return folder


def run(folder: Path, command: str, case: str) -> Path:
    """The trace of a case, as a command writes it."""
    here, out = folder / "kit" / "cases" / case, folder / f"{command}-{case}.npz"
    done = run_celif(command, here / "net.net", "--input", here / "input.npy", "-o", out)
    assert done.exit_code == 0, done.output
    return out


@pytest.mark.parametrize("case", ["network", "shifted", "te-cosine"])
def test_the_twins_own_trace_is_equal(case: str, folder: Path) -> None:
    said = answer(
        "golden", "--check", folder / "kit", run(folder, "simulate", case), "--case", case
    )
    assert said["equal"]
    assert said["values"] > 10
    assert said["missing"] == []


def test_lavas_trace_is_equal(folder: Path) -> None:
    other = run(folder, "run", "back-to-back")
    said = answer("golden", "--check", folder / "kit", other, "--case", "back-to-back")
    assert said["equal"]
    assert said["values"] == 3 * 6 * 3 + 3


def test_a_difference_is_named_and_ends_with_1(end_of: Any, folder: Path) -> None:
    arrays = dict(np.load(run(folder, "simulate", "network")))
    arrays["theta/1"][1, 3, 7] += 1
    np.savez(folder / "wrong.npz", **arrays)
    ending = end_of("golden", "--check", folder / "kit", folder / "wrong.npz")
    assert ending.code == 1
    was = arrays["theta/1"][1, 3, 7] - 1
    assert (
        "cases/network/trace.npz: sample 1, layer 1, step 7, neuron 3, theta: "
        f"expected {was}, found {was + 1}"
    ) in ending.output


def test_what_is_missing_ends_with_4(end_of: Any, folder: Path) -> None:
    arrays = dict(np.load(run(folder, "simulate", "network")))
    del arrays["v/0"]
    np.savez(folder / "less.npz", **arrays)
    ending = end_of("golden", "--check", folder / "kit", folder / "less.npz")
    assert ending.code == 4
    assert "network/v/0" in ending.error


def test_samples_may_be_given(folder: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.ones((3, 2, 11), np.int64))
    kit = tmp_path / "kit"
    command = ("golden", folder / "net.net", "-o", kit, "--input", tmp_path / "x.npy")
    said = answer(*command, "--samples", 1)
    about = json.loads((kit / "manifest.json").read_text())["cases"][-1]
    assert said["cases"][-1] == about
    assert (about["samples"], about["steps"]) == (1, 11)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("net.net",), "either --output or --check"),
        (("net.net", "-o", "a", "--check", "kit"), "either --output or --check"),
        (("net.net", "-o", "kit/cases"), "something else than a kit"),
        (("net.net", "-o", "."), "without the command's own input, got that of FILE, net.net"),
        (("net.net", "-o", "no/such/folder"), "create it"),
        (("net.net", "--check", "kit"), "expected an .npz archive"),
        (("none.npz", "--check", "kit"), "none.npz"),
        (("net.net", "--check", "."), "expected a kit"),
    ],
    ids=["neither", "both", "occupied", "input", "nowhere", "netx", "none", "no-kit"],
)
def test_golden_names_what_is_wrong(
    arguments: tuple, said: str, end_of: Any, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    ending = end_of("golden", *arguments)
    assert ending.code == 2
    assert said in ending.error
