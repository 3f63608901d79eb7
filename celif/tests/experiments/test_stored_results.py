"""The repository's records: the page is made of them, and they are printed instead of trained."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from celif import exits
from celif.experiments import catalogue
from celif.experiments.machinery import record, results_page, results_text
from celif.experiments.machinery.experiment import Settings
from celif.tests.run_command import run_celif
from training.trainer.run_folder import LAST

FOUND = {path.stem: json.loads(path.read_text()) for path in sorted(record.STORED.glob("*.json"))}
FULL = {name: each for name, each in FOUND.items() if not each["quick"]}


def test_page_is_that_of_the_records(tmp_path: Path) -> None:
    shutil.copytree(record.STORED, tmp_path / "results")
    results_page.write(tmp_path / "results.md")
    made = (tmp_path / "results.md").read_text()
    assert made == record.STORED.with_suffix(".md").read_text()
    figures = {path.stem for path in record.STORED.glob("*.png")}
    assert figures == {name for name in FOUND if f"(results/{name}.png)" in made}


def test_page_leaves_other_files_beside_it_alone(tmp_path: Path) -> None:
    mine = {"list.json": "[1]", "half.json": "{", "own.json": '{"mine": 1}', "own.png": "a picture"}
    mine["other.json"] = '{"name": "other", "quick": true, "rows": [], "claims": []}'
    root, folder = tmp_path / "runs", tmp_path / "results"
    for place in (folder, root / "mine"):
        place.mkdir(parents=True)
    for name, text in mine.items():
        (folder / name).write_text(text)
    (root / "mine" / record.RESULT).write_text('{"mine": 1}')
    results_page.write(tmp_path / "results.md", [root])
    assert {path.name: path.read_text() for path in folder.iterdir()} == mine


def test_every_record_names_a_clean_commit_its_command_and_its_budget() -> None:
    assert len(FULL) >= 9
    for name, each in FOUND.items():
        commits = {run["commit"] for run in each.get("runs", {}).values()}
        for commit in {each["machine"]["commit"], *commits}:
            assert commit, name
            assert "dirty" not in commit, name
        assert each["command"].startswith(f"celif reproduce {each['name']}"), name
        assert each["budget"], name


@pytest.mark.parametrize("name", [name for name in FULL if record.complete(FULL[name])])
def test_complete_record_is_printed_without_training(name: str, tmp_path: Path) -> None:
    result = run_celif("reproduce", name, "--out", tmp_path / "run", "--json")
    held = all(claim["holds"] for claim in FULL[name]["claims"])
    assert result.exit_code == (0 if held else exits.DIFFERENCE)
    found = json.loads(result.stdout)
    assert found["rows"] == FULL[name]["rows"]
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("name", ["adding", "copy"])
def test_recorded_runs_are_not_trained_again(name: str, tmp_path: Path) -> None:
    experiment = catalogue.get(name)
    found = record.perform(experiment, Settings(tmp_path, minutes=0.0))
    ours = {row["what"]: row["ours"] for row in found["rows"]}
    assert ours == {row["what"]: row["ours"] for row in FULL[name]["rows"]}
    assert any(value is not None for value in ours.values())
    assert list(tmp_path.rglob(LAST)) == []


def test_links_on_the_page_lead_to_its_headings() -> None:
    page = record.STORED.with_suffix(".md").read_text()
    headings = re.findall(r"^#+ (.+)$", page, re.MULTILINE)
    # As GitHub makes them: letters, digits, spaces and hyphens stay.
    kept = ("".join(c for c in each.lower() if c.isalnum() or c in " -_") for each in headings)
    links = re.findall(r"\]\(#([^)]+)\)", page)
    assert len(links) > 20
    assert {*links} <= {each.replace(" ", "-") for each in kept}


def test_numbers_of_the_introduction_are_those_of_the_records() -> None:
    rows = {(name, row["what"]): row for name, each in FULL.items() for row in each["rows"]}
    text = results_text.INTRODUCTION
    for name, what in (
        *(("seeds", f"CE-LIF, our rate, {task}") for task in ("seq-mnist", "ps-mnist")),
        *(
            ("table1", f"CE-LIF feedforward [64, 152, 152], {task}")
            for task in ("seq-mnist", "ps-mnist")
        ),
        *(("table1", f"CE-LIF feedforward, models/seq-mnist-{n}, seq-mnist") for n in (88, 152)),
        *(("contexts", f"{each}, seq-mnist") for each in ("V+TE", "TE", "S⊙TE", "V⊙TE")),
        *(("contexts", f"{each}, ps-mnist") for each in ("V+TE", "TE", "S⊙TE", "V⊙TE")),
    ):
        assert f"{rows[name, what]['ours']:.2f}" in text, what
    for what in ("CE-LIF recurrent [64, 136, 136]", "CE-LIF recurrent [64, 152, 152]"):
        for task in ("seq-mnist", "ps-mnist"):
            assert f"{abs(rows['table1', f'{what}, {task}']['difference']):.2f} " in text, what
