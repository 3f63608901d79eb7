"""``celif inspect --certify --attack``: what it says, and how it ends."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from celif import exits
from celif.tests.run_command import answer, run_celif
from export import write_netx
from hw_tests.networks.random_nets import random_network


@pytest.fixture
def proven(tmp_path: Path) -> Path:
    path = tmp_path / "proven.net"
    write_netx(random_network(np.random.default_rng(0), (6, 5), 20), path)
    return path


def test_certificate_and_attack_are_in_the_answer(proven: Path) -> None:
    said = answer("inspect", proven, "--certify", "--attack")
    assert said["certificate"]["proven"]
    for layer, attacked in zip(
        said["certificate"]["layers"], said["attack"]["layers"], strict=True
    ):
        assert layer["verdict"] == f"{layer['name']}: proven"
        for register, bound in layer["registers"].items():
            reached = attacked["registers"][register]
            assert 0 < reached["alone"] <= bound["bound"] == reached["bound"]


def test_without_the_options_nothing_is_proven(proven: Path) -> None:
    assert not {"certificate", "attack"} & answer("inspect", proven).keys()


def test_what_may_overflow_ends_in_code_4_and_what_does_in_code_1(saturating: Path) -> None:
    certified = run_celif("inspect", saturating, "--certify", "--json")
    assert certified.exit_code == exits.INCOMPLETE
    verdict = json.loads(certified.stdout)["certificate"]["layers"][0]["verdict"]
    assert "layer 0: not proven: V of neuron" in verdict
    assert run_celif("inspect", saturating, "--attack").exit_code == exits.DIFFERENCE


@pytest.mark.parametrize("columns", [80, 120])
def test_certificate_fits_its_columns(
    proven: Path, end_of: Any, monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    lines = end_of("inspect", proven, "--certify", "--attack").output.splitlines()
    assert max(map(len, lines[1:])) <= columns
    row = next(line.split() for line in lines if "readout" in line)
    assert row[:3] == ["layer", "2", "readout"]
    assert row[-4:-2] == ["100.0", "%"]
    assert "proven: no register can overflow, whatever the input" in lines
