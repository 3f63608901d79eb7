"""Defaults of options from a file: ``celif --config FILE train``.

The file has a section for each command, with options by their long names::

    [train]
    epochs = 60
    hidden = "64,64"

    [export]
    weight-bits = "4"

It is TOML or JSON. Options on the command line override it.
"""

from __future__ import annotations

from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

from training.support.plain_files import JSON_BYTES_MAX, read_json


def read_config(file: Path, commands: dict[str, str]) -> dict[str, dict[str, Any]]:
    """Read the sections of a config file; refuse a section that is not a command."""
    if not file.is_file():
        raise ValueError(f"--config {file}: expected a TOML or JSON file, found no such file")
    if (size := file.stat().st_size) > JSON_BYTES_MAX:
        raise ValueError(
            f"--config {file}: expected a file of up to {JSON_BYTES_MAX} bytes, found {size}"
        )
    content = _parse(file)
    sections: dict[str, dict[str, Any]] = {}
    for name, options in content.items():
        if name not in commands:
            raise ValueError(
                f"--config {file}: expected sections named after commands, found {name!r}; "
                f"expected one of {', '.join(commands)}"
            )
        if not isinstance(options, dict):
            found = repr(options)[:80]
            raise ValueError(f"--config {file}: {name}: expected options, found {found}")
        sections[name] = {key.replace("-", "_"): value for key, value in options.items()}
    return sections


def require_options(command: str, given: dict[str, Any], known: set[str]) -> None:
    """Refuse an option that a command does not have: a typo must not go unnoticed."""
    for name in given:
        if name not in known:
            options = ", ".join(sorted(each.replace("_", "-") for each in known))
            raise ValueError(
                f"--config: {command}: expected options of celif {command}, found "
                f"{name.replace('_', '-')!r}; expected some of {options}"
            )


def _parse(file: Path) -> dict[str, Any]:
    try:
        if file.suffix == ".json":
            content = read_json(file)
        else:
            content = _toml(file, file.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        if str(error).startswith("--config"):
            raise
        raise ValueError(f"--config {file}: expected TOML or JSON, found {error}") from None
    if not isinstance(content, dict):
        raise ValueError(f"--config {file}: expected sections, found {type(content).__name__}")
    return content


def _toml(file: Path, text: str) -> Any:
    for name in ("tomllib", "tomli"):  # Python 3.11 has the first
        with suppress(ImportError):
            return import_module(name).loads(text)
    raise ValueError(
        f"--config {file}: expected a JSON file on Python 3.10, which cannot read TOML; convert it "
        "to .json, or pip install tomli"
    )
