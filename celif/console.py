"""What the commands show: lines, tables and progress bars, all on standard error.

Rich reads ``[…]`` as markup, so whatever comes from outside (paths, names, errors) is escaped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
)
from rich.table import Table

from export import ExportReport
from training import trainer

# Notices go to standard error, so that --json owns standard output.
console = Console(stderr=True, highlight=False, emoji=False)


def say(line: str) -> None:
    """Print a line as it is, whatever its length: paths and commands in it can be copied."""
    console.print(escape(line), soft_wrap=True)


def notice(line: str) -> None:
    """Print a line for who waits; nothing without a terminal."""
    if console.is_terminal:
        say(line)


def warn(line: str) -> None:
    """Print a line that the user should not miss."""
    console.print(f"[yellow]warning:[/] {escape(line)}", soft_wrap=True)


def fail(line: str) -> None:
    """Print why the command ends."""
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
    """Show a training's progress; without a terminal, one line an epoch."""
    if quiet:
        yield lambda progress: None
        return
    if not console.is_terminal:
        yield _epoch_line
        return
    columns = (
        TextColumn("epoch {task.fields[epoch]}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[state]}"),
        TimeElapsedColumn(),
        TextColumn("{task.fields[left]}"),
    )
    with Progress(*columns, console=console) as bar:
        task = bar.add_task("training", total=None, epoch="", state="", left="")

        def report(progress: trainer.Progress) -> None:
            finished = progress.epoch if progress.validation is None else progress.epoch - 1
            bar.update(
                task,
                total=progress.epochs * progress.steps,
                completed=finished * progress.steps + progress.step,
                epoch=f"{finished + 1}/{progress.epochs}",
                state=_training_state(progress),
                left=f"{_duration(progress.seconds_left)} left",
            )

        yield report


def _training_state(progress: trainer.Progress) -> str:
    objective = progress.objective
    parts = [f"loss {progress.loss:.4f}", f"{objective.name} {objective.text(progress.score)}"]
    if progress.rate is not None:
        parts.append(f"firing {progress.rate:.1%}")
    if progress.steps_per_second is not None:
        parts.append(f"{progress.steps_per_second:.2f} steps/s")
    return "  ".join(parts)


def _duration(seconds: float | None) -> str:
    if seconds is None:
        return "?"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{rest:02}"


def _epoch_line(progress: trainer.Progress) -> None:
    if progress.validation is not None:
        say(
            f"epoch {progress.epoch}/{progress.epochs}  {_training_state(progress)}  "
            f"validation {progress.objective.text(progress.validation)}  "
            f"{_duration(progress.seconds_left)} left"
        )


def show_export(report: ExportReport) -> None:
    """Print the formats and errors of an export."""
    say(f"{report.path}  ({report.file_bytes:,} bytes)")
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    names = ("layer", "shape", "F", "range", "room", "weights", "±", "TE", "±", "TE bytes")
    for name in names:
        table.add_column(name, justify="right" if name != "layer" else "left", overflow="fold")
    for layer in report.layers:
        table.add_row(
            escape(layer.name),
            f"{layer.neurons}×{layer.inputs}",
            str(layer.fraction_bits),
            "proven" if layer.proven else "calibrated",
            f"{layer.headroom_bits:.1f}",
            f"{layer.weight_bits} bits",
            f"{layer.weight_error:.0e}",
            f"{layer.te_bits} bits",
            f"{layer.te_error:.0e}",
            f"{layer.te_bytes:,}",
        )
    console.print(table)
    for layer in report.layers:
        if not layer.proven:
            say(f"{layer.name}: not proven: {layer.verdict}")
    say("F: fraction bits of V and Θ; room: bits to the end of the register; ±: largest errors")
