"""docs/deploy.md: its commands exist, with the options that it names."""

import re
from pathlib import Path

import pytest

import celif
from celif.tests.run_command import run_celif

PAGE = Path(celif.__file__).parent.parent / "docs" / "deploy.md"


def lines(program: str) -> list[str]:
    found = re.findall(rf"^    {program} (.*?)(?:  +#.*)?$", PAGE.read_text("utf-8"), re.M)
    assert found
    return found


def test_every_command_of_the_page_takes_its_options(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setattr("typer.rich_utils.MAX_WIDTH", 200)
    helps: dict[str, str] = {}
    for line in lines("celif"):
        command = line.split()[0]
        if command not in helps:
            result = run_celif(command, "--help")
            assert result.exit_code == 0, line
            helps[command] = result.output
        for option in re.findall(r"(?<!\S)--?[a-z][a-z-]*", line):
            assert option in helps[command], line


def test_every_option_of_pytest_on_the_page_is_ours(pytestconfig: pytest.Config) -> None:
    for line in lines("pytest"):
        for option in re.findall(r"--([a-z-]+)", line):
            assert pytestconfig.getoption(option, default=...) is not ..., line
