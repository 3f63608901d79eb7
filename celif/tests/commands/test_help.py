"""Help, summaries and imports: what a user sees before anything heavy is loaded."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from celif import cli
from celif.commands import help_names
from celif.tests.run_command import run_celif

HEAVY = ("torch", "numba", "h5py", "lava", "matplotlib", "sklearn", "scipy", "export")


@pytest.fixture(autouse=True)
def _columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    # typer reads TERMINAL_WIDTH once, when its help is first imported, and keeps to it.
    monkeypatch.setattr("typer.rich_utils.MAX_WIDTH", None)


@pytest.mark.parametrize("command", cli.COMMANDS)
def test_every_command_explains_itself_with_examples_in_80_columns(command: str) -> None:
    result = run_celif(command, "-h")
    assert result.exit_code == 0
    lines = result.output.splitlines()
    assert max(map(len, lines)) <= 80
    assert any(line.strip() == "Examples:" for line in lines)
    shown = [line.strip() for line in lines if line.strip().startswith("$ celif ")]
    examples = import_module(f"celif.commands.{command}").EXAMPLES
    assert len(shown) == len(examples) > 0
    assert all(line.startswith(f"celif {command}") for line in examples)


@pytest.mark.parametrize("command", cli.COMMANDS)
def test_summary_in_the_list_is_the_first_line_of_the_help(command: str) -> None:
    function = getattr(import_module(f"celif.commands.{command}"), command)
    assert function.__doc__.splitlines()[0] == cli.COMMANDS[command]


def test_every_module_of_a_command_is_listed() -> None:
    folder = Path(cli.__file__).parent / "commands"
    shared = {"__init__", "help_names", "options", "train_job", "verify_job"}
    found = {path.stem for path in folder.glob("*.py") if not path.stem.endswith("_options")}
    assert found - shared == set(cli.COMMANDS)


def test_options_of_every_command_have_a_description() -> None:
    for command in cli.COMMANDS:
        for parameter in cli.load(command).params:
            assert getattr(parameter, "help", "") or "", f"{command} {parameter.name}"


def test_names_in_the_help_are_those_of_the_modules() -> None:
    from training import tasks
    from training.network import temporal_encoding
    from training.trainer import augment, presets, recipe

    assert help_names.TASKS == tasks.NAMES
    assert help_names.PRESETS == presets.NAMES
    assert help_names.TEMPORAL_ENCODINGS == temporal_encoding.NAMES
    assert help_names.SCHEDULES == recipe.SCHEDULES
    assert help_names.TE_UPDATES == recipe.TE_UPDATES
    assert help_names.AUGMENTATIONS == augment.NAMES


def test_typo_is_answered_with_the_nearest_command() -> None:
    result = run_celif("inspct")
    assert result.exit_code == 2
    assert "Did you mean 'inspect'?" in result.output


RUN = """
import json, sys
sys.argv = ["celif", *sys.argv[1:]]
from celif import cli
try:
    cli.main()
except SystemExit as end:
    code = end.code
print(json.dumps([code or 0, sorted(sys.modules)]))
"""


def loaded(*arguments: str) -> tuple[int, set[str]]:
    """Run a command in a process of its own: exit code, and the packages that it imported."""
    done = subprocess.run(
        [sys.executable, "-c", RUN, *arguments], capture_output=True, text=True, check=True
    )
    code, modules = json.loads(done.stdout.splitlines()[-1])
    return code, {name.partition(".")[0] for name in modules}


@pytest.mark.parametrize(
    ("arguments", "code"),
    [(["--help"], 0), (["inspct"], 2), (["--version"], 0), (["train", "--epchs", "3"], 2)],
    ids=["help", "command", "version", "option"],
)
def test_help_and_typos_import_nothing_heavy(arguments: list[str], code: int) -> None:
    ended, packages = loaded(*arguments)
    assert ended == code
    assert packages & set(HEAVY) == set()
    assert "typer" in packages


def test_inspect_reads_a_file_without_pytorch_or_numba() -> None:
    model = Path(cli.__file__).parent.parent / "models" / "seq-mnist-88.net"
    ended, packages = loaded("inspect", str(model))
    assert ended == 0
    assert {"export", "h5py"} <= packages
    assert packages & {"torch", "numba", "lava", "matplotlib", "sklearn", "scipy"} == set()


LOAD = """
import json, sys
from celif import cli
for name in cli.COMMANDS:
    cli.load(name)
print(json.dumps([0, sorted(sys.modules)]))
"""


def test_help_of_every_command_imports_nothing_heavy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "RUN", LOAD)
    assert loaded()[1] & set(HEAVY) == set()


DOOR = """
import sys, celif
assert set(celif.__all__) <= set(dir(celif))
heavy = {name.partition(".")[0] for name in sys.modules}
assert not heavy & {"torch", "numba", "lava", "export"}, heavy
import export, training
assert celif.to_netx is export.to_netx
assert celif.Network is training.Network
assert celif.functional is training.functional
assert "lava" not in sys.modules
for name in celif.__all__:
    assert getattr(celif, name) is not None
try:
    celif.nothing
except AttributeError as error:
    print(error)
"""


def test_names_of_the_package_are_imported_when_used() -> None:
    done = subprocess.run([sys.executable, "-c", DOOR], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "module 'celif' has no attribute 'nothing'"
