"""celif compare and celif sweep."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from celif.comparison import compare_models
from celif.inputs.samples import open_model
from celif.tests.run_command import answer, run_celif
from training import tasks


def test_compare_finds_nothing_between_a_file_and_itself(run_folder: Path, end_of: Any) -> None:
    net = run_folder / "net.net"
    ending = end_of("compare", net, net, "--task", "digits", "--samples", 40)
    assert ending.code == 0
    assert "same prediction: 100.00% of 40 samples" in ending.output
    assert "datasets that differ: 0" in ending.output


def test_compare_names_what_distinguishes_two_files(run_folder: Path, tmp_path: Path) -> None:
    few = tmp_path / "few.net"
    answer("export", run_folder / "run" / "last.safetensors", "-o", few, "--weight-bits", 2)
    words = ("compare", run_folder / "net.net", few, "--task", "digits")
    result = run_celif(*words, "--json")
    assert result.exit_code == 1
    said = json.loads(result.stdout)
    assert not said["equal"]
    assert said["changed"]
    assert said["agreement"] == pytest.approx(1 - len(said["changed"]) / said["samples"])
    assert any(d["dataset"] == "/layer/1/weight" for d in said["datasets"])
    assert said["divergence"]["layer"] in (0, 1)
    shown = run_celif(*words).stdout
    assert "in a run the first difference is: sample 0, layer" in shown


def test_compare_takes_a_checkpoint_and_its_task(run_folder: Path) -> None:
    files = (run_folder / "run" / "last.safetensors", run_folder / "net.net")
    result = run_celif("compare", *files, "--samples", 100, "--json")
    said = json.loads(result.stdout)
    assert (said["first"]["kind"], said["second"]["kind"]) == ("float", "fixed")
    evaluated = answer("evaluate", *files, "--samples", 100)["models"]
    assert said["first"]["accuracy"] == evaluated[0]["accuracy"]
    assert said["second"]["accuracy"] == evaluated[1]["accuracy"]
    assert said["datasets"] is None


def test_sweep_measures_every_combination(run_folder: Path, tmp_path: Path) -> None:
    source, picture = run_folder / "run" / "last.safetensors", tmp_path / "bits.svg"
    options = ("--weight-bits", "8,2", "--te-bits", "8,4", "--samples", 60)
    said = answer("sweep", source, *options, "--picture", picture)
    bits = [(point["weight_bits"], point["te_bits"]) for point in said["points"]]
    assert bits == [(8, 8), (2, 8), (8, 4), (2, 4)]
    eight = answer("evaluate", run_folder / "net.net", "--task", "digits", "--samples", 60)
    assert said["points"][0]["accuracy"] == eight["accuracy"]
    assert said["accuracy_float"] == answer("evaluate", source, "--samples", 60)["accuracy"]
    assert "<svg" in picture.read_text(encoding="utf-8")


def test_sweep_refuses_a_picture_before_it_computes(run_folder: Path, end_of: Any) -> None:
    ending = end_of("sweep", run_folder / "run" / "last.safetensors", "--picture", "bits.pdf")
    assert ending.code == 2
    assert "expected a name that ends in .png or .svg" in ending.error
    wrong = end_of("sweep", run_folder / "run" / "last.safetensors", "--te-bits", "8;4")
    assert "--te-bits: expected numbers such as 8,4,2, got '8;4'" in wrong.error


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (np.zeros((3, 1), int), r"y: .* shape \(3, 1\); write y\.reshape\(-1\)"),
        (np.array([1, 2, 10]), r"y for .*net\.net: expected classes 0\.\.9, got 1\.\.10"),
    ],
    ids=["column", "beyond"],
)
def test_comparison_refuses_labels_that_are_no_classes(
    labels: np.ndarray, message: str, run_folder: Path
) -> None:
    model, x = open_model(run_folder / "net.net"), tasks.load("digits").test.x[:3].numpy()
    with pytest.raises(ValueError, match=message):
        compare_models(model, model, x, labels)
