"""celif fit: what it says, draws and returns, within 80 columns."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from celif.tests.run_command import answer, run_celif
from celif.views.chip.fit_table import export_options
from export import write_netx
from hw_tests.networks.random_nets import random_network


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The paper's network with random weights, samples for it, and smaller chips."""
    folder = tmp_path_factory.mktemp("fit")
    rng = np.random.default_rng(0)
    net = random_network(rng, (64, 152, 152), 784, channels=1, classes=10)
    write_netx(net, folder / "paper.net")
    np.save(folder / "x.npy", rng.integers(0, 16, (2, 1, 784)))
    (folder / "three.json").write_text(json.dumps({"cores": 3}))
    (folder / "short.json").write_text(json.dumps({"state_bytes": 700}))
    return folder


def test_fit_places_the_papers_network_and_explains_itself(end_of: Any, folder: Path) -> None:
    ending = end_of("fit", folder / "paper.net")
    assert ending.code == 0
    assert "paper.net fits loihi2, 1 chip: 11 of 128 cores" in ending.output
    assert "nearest limit: neuron words, mostly TE, 99.1% taken" in ending.output
    assert "0█ 0▅ 1█ 1█ 1█ 1▆ 2█ 2█ 2█ 2▆ 3▁" in ending.output
    said = " ".join(ending.output.split())
    assert "cores with TE in neuron words: 11 (2 + 4 + 4 + 1)" in said
    assert "with TE in the pool: 5 (1 + 1 + 2 + 1); counted here: neuron words" in said
    assert "not certain: te_in_state" in said


def test_fit_compares_its_counts_with_the_compilers_tables(
    end_of: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    ending = end_of("fit", "--calibration")
    assert ending.code == 0
    said = " ".join(ending.output.split())
    assert "13 of 13 Totals are within 0.05 points, the largest residual is 0.005" in said
    assert "36 of 38 rows agree in every column and in the cores" in said
    lines = ending.output.splitlines()
    differing = [i for i, line in enumerate(lines) if line.startswith("≠")]
    assert [lines[i].split()[2] for i in differing] == ["200-256", "256-200"]
    # The reason stands below its row.
    assert lines[differing[0] + 1].split(":")[0].strip() == "neurons, synapses, axon map"
    assert lines[differing[1] + 1].split(":")[0].strip() == "synapses"
    assert "outside the range, time: at every step a program on an x86 processor" in said
    assert max(map(len, ending.output.splitlines())) <= 80
    assert "…" not in ending.output
    rows = answer("fit", "--calibration")["rows"]
    assert [row["cores"] for row in rows[:3]] == [3, 1, 1]
    assert sum(row["fitted"] == [] for row in rows) == 9
    assert [row["layer"] for row in rows if row["why"]] == ["dense 200-256", "dense 256-200"]


def test_fit_needs_a_file_or_the_calibration(end_of: Any) -> None:
    ending = end_of("fit")
    assert ending.code == 2
    assert "expected an exported netx file (or --calibration)" in ending.error


def test_fit_counts_operations_on_samples(folder: Path) -> None:
    said = answer("fit", folder / "paper.net", "--input", folder / "x.npy", "--samples", 1)
    estimate = said["estimate"]
    assert 0 < estimate["step_nj"][0] < estimate["step_nj"][1]
    assert [one["prices"] for one in estimate["priced"]] == ["Davies", "SANA-FE", "scaled"]
    assert 0 < said["neurobench"]["activation_sparsity"] < 1
    assert [layer["instructions"] for layer in estimate["layers"]] == [37, 37, 37, 5]
    rates = [layer["spikes"] / layer["neurons"] for layer in estimate["layers"][:3]]
    assert all(0 < rate < 1 for rate in rates)


def test_fit_refuses_with_the_limit_and_a_remedy(end_of: Any, folder: Path) -> None:
    ending = end_of("fit", folder / "paper.net", "--chip", folder / "short.json")
    assert ending.code == 1
    assert "layer 0, state bytes: 792 needed, 700 there" in ending.output
    assert "- TE of 4 bits, packed" in ending.output
    assert export_options({"te_bits": 4, "te_encoding": "packed"}) in ending.output
    assert run_celif("fit", folder / "paper.net", "--chip", folder / "three.json").exit_code == 1


def test_options_of_an_export_are_those_that_it_has() -> None:
    assert export_options({"weight_bits": 5}) == "--weight-bits 5"
    assert export_options({"no_such": "a"}) == "to_netx(net, path, x, no_such='a')"
    assert export_options({}) == ""


def test_fit_knows_boards(folder: Path) -> None:
    three = ("fit", folder / "paper.net", "--chip", folder / "three.json")
    assert answer(*three, "--chips", 4)["placement"]["of_cores"] == 12
    hala = answer("fit", folder / "paper.net", "--board", "hala-point")
    assert (hala["chips"], hala["placement"]["of_cores"]) == (1152, 140_544)


def test_fit_prints_the_figures_with_their_sources(folder: Path) -> None:
    said = run_celif("fit", folder / "paper.net", "--figures").stdout
    assert "pool_words = 20,000   [compiler]" in said
    assert "tables that Intel's compiler printed" in said


@pytest.mark.parametrize("kind", ["png", "svg"])
def test_fit_draws_the_chip(kind: str, folder: Path, tmp_path: Path) -> None:
    pictures = [tmp_path / f"{n}.{kind}" for n in ("a", "b")]
    for picture in pictures:
        assert run_celif("fit", folder / "paper.net", "--picture", picture).exit_code == 0
    data = pictures[0].read_bytes()
    assert data.startswith(b"\x89PNG" if kind == "png" else b"<?xml")
    assert len(data) > 10_000
    assert data == pictures[1].read_bytes()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--picture", "chip.bmp"), ".png or .svg"),
        (("--picture", "nowhere/chip.png"), "does not exist"),
        (("--board", "Nahuku"), "Kapoho Point"),
        (("--board", "hala point", "--chips", 2), "either --board or --chips"),
        (("--chip", "loihi3"), "chip loihi3"),
    ],
    ids=["picture", "folder", "board", "both", "chip"],
)
def test_fit_names_what_is_wrong(options: tuple, said: str, end_of: Any, folder: Path) -> None:
    ending = end_of("fit", folder / "paper.net", *options)
    assert ending.code == 2
    assert said in ending.error
    assert len(ending.error.splitlines()) == 1, "nothing was done before"


@pytest.mark.parametrize("chip", ["loihi2", "three.json", "short.json", "many.json"])
def test_fit_keeps_within_80_columns(
    chip: str, end_of: Any, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.chdir(folder)
    Path("many.json").write_text(json.dumps({"neurons_per_core": 1, "cores": 40}))
    boards = ("--chips", 20) if chip == "many.json" else ()
    said = end_of("fit", "paper.net", "--chip", chip, "--input", "x.npy", *boards).output
    assert max(map(len, said.splitlines())) <= 80, said
    assert "…" not in said
