"""The README's example runs as it stands."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import celif
from celif import cli, exits

ROOT = Path(__file__).resolve().parents[3]
README = ROOT / "README.md"


def test_readme_example_runs_and_agrees(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (example,) = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.S)
    monkeypatch.chdir(tmp_path)
    exec(compile(example, "README.md", "exec"), {})
    twin, lava, equal = capsys.readouterr().out.strip().splitlines()
    assert twin == lava
    assert equal == "True"


def test_readme_and_help_have_the_table_of_exit_codes() -> None:
    section = README.read_text(encoding="utf-8").partition("Exit codes:")[2].partition("##")[0]
    table = dict(re.findall(r"^\| (\d+) \| (.*) \|$", section, re.M))
    assert list(table) == ["0", "1", "2", "3", "4", "130"]
    said = " ".join(str(exits.__doc__).split())
    for code, meaning in table.items():
        assert f"{code} {meaning}" in said
        if code in "0 1 4":
            assert f"{code} {meaning}" in exits.EPILOG


def test_pages_name_only_what_import_celif_offers() -> None:
    named = {
        (page.name, name)
        for page in (README, *(ROOT / "docs").glob("*.md"))
        for name in re.findall(r"(?<![\w./])celif\.(\w+)[`.(]", page.read_text(encoding="utf-8"))
    }
    assert ("README.md", "plots") in named
    assert {(page, name) for page, name in named if name not in celif.__all__} == set()


@pytest.mark.parametrize("option", ["network", "calibration"])
def test_readme_names_the_commands_that_take_an_option_of_ones_own(option: str) -> None:
    text = " ".join(README.read_text(encoding="utf-8").split())
    (named,) = re.findall(rf"`--{option} [^`]*`(?: then works)? in (`[^.;]*`)[.;]", text)
    having = {
        name for name in cli.COMMANDS if option in {p.name for p in cli.load(name).params}
    } - {"fit"}  # whose --calibration compares the model of a chip
    assert set(re.findall(r"`(\w+)`", named)) == having
