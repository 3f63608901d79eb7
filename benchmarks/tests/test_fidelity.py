"""The fidelity study adds up: folds to a whole, repeats to a mean, claims to verdicts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from benchmarks import provenance
from benchmarks.studies import fidelity, fidelity_page, folds
from benchmarks.studies.fidelity_page import Study
from training import tasks

HITS = {"w8 te8 Fauto": 88, "w4 te4 Fauto": 80}


def content(tuned: int) -> dict[str, Any]:
    """Two repeats of five folds of 100 images; the second gets one more right in each fold."""
    seeds = {}
    for seed in range(10):
        more = seed // folds.FOLDS
        cells = {
            cell.key: {"hits": HITS.get(cell.key, 50) + more, "saturations": [0, 0]}
            for cell in fidelity.CELLS
        }
        again = {"w4 te4 Fauto": {"hits": tuned + more, "saturations": [0, 0]}}
        floats = {"float": 88 + more, "float_tuned": 89 + more}
        seeds[str(seed)] = {"samples": 100, "cells": cells, "tuned": again, **floats}
    return {
        "seeds": seeds,
        "tuning": {"epochs": 1, "lr": 0.1},
        "machine": provenance.describe(),
        "command": "here",
    }


def test_study_adds_folds_and_averages_repeats() -> None:
    study = Study(content(tuned=88), repeats=2)
    assert study.images == 500
    assert study.floats() == [88.0, 89.0]
    assert study.mean("w4 te4 Fauto") == 80.5
    assert fidelity_page.spread(study.floats()) == "88.50 ± 0.71"


def test_verdicts_say_what_holds() -> None:
    lines = Study(content(tuned=87), repeats=2).verdicts().splitlines()
    assert [line.rsplit(": ", 1)[1] for line in lines] == [
        "holds",
        "DOES NOT HOLD",
        "DOES NOT HOLD",
    ]
    assert "+1.00 points lost, 0.3 allowed" in lines[2]


def test_page_has_every_table_and_the_picture(tmp_path: Path) -> None:
    fidelity_page.write(Study(content(tuned=88), repeats=2), tmp_path)
    page = (tmp_path / "fidelity.md").read_text()
    assert "| 8, 8 bits | 50.50 | 50.50 | 50.50 | 50.50 | 50.50 | 50.50 | 88.50 |" in page
    assert "| 4 bits | 50.50 | 50.50 | 50.50 | 80.50 | 50.50 | 50.50 |" in page
    assert (tmp_path / "fidelity.png").stat().st_size > 10_000
    assert "<svg" in (tmp_path / "fidelity.svg").read_text()


def test_folds_test_every_image_once() -> None:
    task = tasks.load("digits")
    parts = [folds.fold(task, index) for index in range(folds.FOLDS)]
    assert sum(len(test) for _, _, test in parts) == 1797
    seen = {test.x[i].numpy().tobytes() for _, _, test in parts for i in range(len(test))}
    trained = {parts[0][1].x[i].numpy().tobytes() for i in range(len(parts[0][1]))}
    tested = {parts[0][2].x[i].numpy().tobytes() for i in range(len(parts[0][2]))}
    assert len(seen) == 1797  # no two images are the same
    assert not trained & tested


@pytest.mark.parametrize(
    ("cell", "key"), [((8, 4, None), "w8 te4 Fauto"), ((4, 8, 6), "w4 te8 F6")]
)
def test_cells_are_named_by_their_bits(cell: tuple[int, int, int | None], key: str) -> None:
    assert fidelity.Cell(*cell).key == key
