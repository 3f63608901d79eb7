"""What the commands show: results on standard output, notes and progress on standard error.

Rich reads ``[…]`` as markup, so whatever comes from outside (paths, names, errors) is escaped.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
)

if TYPE_CHECKING:
    from training import trainer


class ResultConsole(Console):
    """Standard output, which a reader such as ``head`` may close early."""

    def on_broken_pipe(self) -> None:
        """Drop the rest of the output and let the command end with its own exit code."""
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


results = ResultConsole(highlight=False, emoji=False)
"""Results; silent with ``--json``, when standard output holds the JSON document alone."""

console = Console(stderr=True, highlight=False, emoji=False)
"""Notes, warnings and progress."""


def say(line: str) -> None:
    """Print a line of the result; it is not wrapped, so that paths in it can be copied."""
    results.print(escape(line), soft_wrap=True)


def note(line: str) -> None:
    """Print a line about the work that is not part of the result."""
    console.print(escape(line), soft_wrap=True)


def notice(line: str) -> None:
    """Print a note if somebody is watching, that is on a terminal only."""
    if console.is_terminal:
        note(line)


def warn(line: str) -> None:
    """Print a warning."""
    console.print(f"[yellow]warning:[/] {escape(line)}", soft_wrap=True)


def fail(line: str) -> None:
    """Print why the command failed."""
    console.print(f"[bold red]celif:[/] {escape(line)}", soft_wrap=True)


@contextmanager
def progress_bar(unit: str) -> Iterator[Callable[[int, int], None]]:
    """Show ``report(done, total)``; nothing without a terminal.

    It has no thread and leaves ``sys.stderr`` alone, because Lava's processes are forked meanwhile.
    """
    if not console.is_terminal:
        yield lambda done, total: None
        return
    columns = (BarColumn(), MofNCompleteColumn(), TextColumn(unit), TimeElapsedColumn())
    with Progress(
        *columns,
        console=console,
        transient=True,
        auto_refresh=False,
        redirect_stdout=False,
        redirect_stderr=False,
    ) as bar:
        task = bar.add_task(unit, total=None)

        def report(done: int, total: int) -> None:
            bar.update(task, completed=done, total=total, refresh=True)

        yield report


@contextmanager
def training_bar(quiet: bool = False) -> Iterator[Callable[[trainer.Progress], None]]:
    """Show the progress of a training run: a bar or, without a terminal, one line an epoch."""
    if quiet:
        yield lambda progress: None
        return
    if not console.is_terminal:
        yield _epoch_line
        return
    columns = (
        TextColumn("epoch {task.fields[epoch]}"),
        BarColumn(_BAR),
        TextColumn("{task.fields[state]}"),
        TextColumn("{task.fields[left]}"),
    )
    with Progress(*columns, console=console) as bar:
        task = bar.add_task("training", total=None, epoch="", state="", left="")
        validation: float | None = None

        def report(progress: trainer.Progress) -> None:
            nonlocal validation
            finished = progress.epoch if progress.validation is None else progress.epoch - 1
            validation = validation if progress.validation is None else progress.validation
            bar.update(
                task,
                total=progress.epochs * progress.steps,
                completed=finished * progress.steps + progress.step,
                epoch=f"{finished + 1}/{progress.epochs}",
                state=_training_state(progress, validation),
                left=f"{_duration(progress.seconds_left)} left",
            )

        yield report


_BAR = 8
"""Width of the bar: with validation and the time left in view, a line fits 80 columns."""


def _training_state(progress: trainer.Progress, validation: float | None) -> str:
    objective = progress.objective
    parts = [f"loss {progress.loss:.4f}", f"{objective.name} {objective.text(progress.score)}"]
    if validation is not None:
        parts.append(f"validation {objective.text(validation)}")
    return " ".join(parts)


def _duration(seconds: float | None) -> str:
    if seconds is None:
        return "?"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{rest:02}"


def _epoch_line(progress: trainer.Progress) -> None:
    if progress.validation is not None:
        note(
            f"epoch {progress.epoch}/{progress.epochs}: "
            f"{_training_state(progress, progress.validation)} "
            f"{_duration(progress.seconds_left)} left"
        )
