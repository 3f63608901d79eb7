"""Running the celif command inside a test."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, NamedTuple

from typer.testing import CliRunner, Result

from celif import cli


def run_celif(*arguments: Any) -> Result:
    """Run a command in this process, without what main makes of its errors."""
    return CliRunner().invoke(cli.app, [str(a) for a in arguments])


def answer(*arguments: Any) -> Any:
    """What a command prints with --json."""
    result = run_celif(*arguments, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


class Ending(NamedTuple):
    """How a command ended."""

    code: Any
    error: str
    output: str = ""


def raising(error: Exception) -> Callable[..., Any]:
    def function(*arguments: Any, **options: Any) -> Any:
        raise error

    return function
