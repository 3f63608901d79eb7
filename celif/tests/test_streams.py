"""Where the command writes: results to standard output, notes to standard error, 80 columns."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from rich.text import Text

from celif import cli, console
from celif.tests.run_command import run_celif
from training import tasks
from training.trainer import Progress

ROOT = Path(cli.__file__).parent.parent
MODEL = ROOT / "models" / "seq-mnist-88.net"


@pytest.fixture(autouse=True)
def _columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


def piped(words: str) -> subprocess.CompletedProcess[str]:
    """Run a shell's pipe that begins with celif."""
    script = f"set -o pipefail; {sys.executable} -m celif.cli {words}"
    return subprocess.run(
        ["bash", "-c", script], capture_output=True, text=True, check=False, cwd=ROOT
    )


def test_output_goes_to_a_file_and_through_head(tmp_path: Path) -> None:
    file = tmp_path / "table.txt"
    done = piped(f"inspect {MODEL} > {file}")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert "layer 0  CELIF" in file.read_text()
    head = piped(f"inspect {MODEL} | head -1")
    assert (head.returncode, head.stderr) == (0, "")
    assert head.stdout.startswith(str(MODEL))
    assert head.stdout.count("\n") == 1


def test_json_is_alone_on_standard_output(run_folder: Path) -> None:
    net, last = run_folder / "net.net", run_folder / "run" / "last.safetensors"
    for words in (
        ("inspect", net, "--certify"),
        ("simulate", net, "--task", "digits", "--samples", 3),
        ("evaluate", net, last, "--samples", 3),
        ("verify", net, "--against", last, "--samples", 3, "--target", "twin"),
        ("export", last, "-o", run_folder / "again.net"),
        ("fit", net),
        ("golden", net, "-o", run_folder / "kit"),
    ):
        result = run_celif(*words, "--json")
        assert isinstance(json.loads(result.stdout), dict), words
        plain = run_celif(*words)
        if words[0] != "golden":  # which leaves a kit alone
            assert plain.stdout.strip(), words
            assert not plain.stdout.lstrip().startswith("{"), words


def test_tables_fit_80_columns(run_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(run_folder)
    for words in (
        ("inspect", "net.net", "--certify", "--attack"),
        ("export", "run/last.safetensors", "-o", "again.net"),
        (
            "verify",
            "net.net",
            "--against",
            "run/last.safetensors",
            "--samples",
            20,
            "--target",
            "torch,twin",
        ),
        ("fit", "net.net", "--task", "digits"),
    ):
        lines = run_celif(*words).stdout.splitlines()
        assert lines
        assert max(map(len, lines)) <= 80, max(lines, key=len)
        assert "…" not in "".join(lines)


def test_training_bar_fits_80_columns_with_validation_in_view(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    screen = io.StringIO()
    terminal = Console(file=screen, force_terminal=True, width=80)
    monkeypatch.setattr(console, "console", terminal)
    common: dict[str, Any] = {
        "epochs": 100,
        "steps": 1000,
        "loss": 12.3456,
        "score": 1.0,
        "rate": 0.2,
        "steps_per_second": 1.0,
        "seconds_left": 35_999,
        "objective": tasks.CLASS,
    }
    with console.training_bar() as report:
        report(Progress(epoch=99, step=0, validation=1.0, **common))
        report(Progress(epoch=99, step=7, validation=None, **common))
    lines = Text.from_ansi(screen.getvalue()).plain.replace("\r", "\n").splitlines()
    shown = [line.rstrip() for line in lines if "loss" in line]
    assert shown
    assert max(map(len, shown)) <= 80
    assert "validation 100.00%" in shown[-1]
    assert shown[-1].endswith("9:59:59 left")


def test_completion_offers_commands_and_their_options() -> None:
    def offered(words: str, place: int) -> str:
        environment = {
            "_CELIF_COMPLETE": "complete_bash",
            "COMP_WORDS": words,
            "COMP_CWORD": str(place),
            "PYTHONPATH": str(ROOT),
            "PATH": "",
        }
        script = "from celif import cli; cli.app(prog_name='celif')"
        done = subprocess.run(
            [sys.executable, "-c", script],
            capture_output=True,
            text=True,
            check=False,
            env=environment,
        )
        return done.stdout

    assert "inspect" in offered("celif ins", 1)
    assert "--certify" in offered("celif inspect --ce", 2)
