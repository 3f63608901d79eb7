"""What the commands show: lines, tables and progress bars, all on standard error.

Rich reads ``[…]`` as markup, so whatever comes from outside (paths, names, errors) is escaped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table

from export import ExportReport
from pipeline.verify import Gap, Verification
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
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console) as bar:
        task = bar.add_task("training", total=None, epoch="", state="")

        def report(progress: trainer.Progress) -> None:
            finished = progress.epoch if progress.validation is None else progress.epoch - 1
            state = f"loss {progress.loss:.3f}  accuracy {progress.accuracy:.1%}"
            bar.update(
                task,
                total=progress.epochs * progress.steps,
                completed=finished * progress.steps + progress.step,
                epoch=f"{finished + 1}/{progress.epochs}",
                state=state,
            )

        yield report


def _epoch_line(progress: trainer.Progress) -> None:
    if progress.validation is not None:
        console.print(
            f"epoch {progress.epoch}/{progress.epochs}  loss {progress.loss:.4f}  "
            f"accuracy {progress.accuracy:.1%}  validation {progress.validation:.1%}"
        )


def show_export(report: ExportReport) -> None:
    """Print the formats and errors of an export."""
    table = Table(
        title=f"{escape(str(report.path))}  ({report.file_bytes:,} bytes)", title_justify="left"
    )
    for name in ("layer", "shape", "F", "range", "headroom", "weight", "TE", "bias"):
        table.add_column(name, justify="right" if name != "layer" else "left")
    for layer in report.layers:
        table.add_row(
            escape(layer.name),
            f"{layer.neurons}×{layer.inputs}",
            str(layer.fraction_bits),
            "proven" if layer.proven else "calibrated",
            f"{layer.headroom_bits:.1f} bits",
            f"±{layer.weight_error:.1e}",
            f"±{layer.te_error:.1e}",
            f"±{layer.bias_error:.1e}",
        )
    console.print(table)


def show_verification(result: Verification) -> None:
    """Print the ladder and the gap."""
    table = Table(title="The ladder", title_justify="left")
    for name in ("rung", "compared", "steps", "values", "mismatches", "verdict"):
        table.add_column(name, justify="left" if name in ("compared", "verdict") else "right")
    colour = {"equal": "green", "DIFFERS": "bold red", "not run": "yellow"}
    for rung in result.rungs:
        ran = rung.verdict != "not run"
        verdict = f"[{colour[rung.verdict]}]{rung.verdict}[/]"
        counts = [f"{n:,}" if ran else "" for n in (rung.steps, rung.values, rung.mismatches)]
        table.add_row(str(rung.rung), escape(rung.compared), *counts, verdict)
    console.print(table)
    for rung in result.rungs:
        if rung.detail:
            say(f"rung {rung.rung} {rung.verdict}: {rung.detail}")
    if result.gap is not None:
        show_gap(result.gap)


def show_gap(gap: Gap) -> None:
    """Print how far the integers are from the float network."""
    title = f"The gap, float ↔ fixed, {gap.samples} samples"
    if not gap.same_source:
        title += "  [bold red](the file was exported from other weights)[/]"
    table = Table(title=title, title_justify="left")
    for name in ("layer", "same spikes", "rate float", "rate fixed", "silent", "saturations"):
        table.add_column(name, justify="right")
    for layer in gap.layers:
        table.add_row(
            str(layer.layer),
            f"{layer.spike_agreement:.2%}",
            f"{layer.rate_float:.1%}",
            f"{layer.rate_fixed:.1%}",
            str(layer.dead_neurons),
            str(layer.saturations),
        )
    console.print(table)
    line = f"same prediction: {gap.prediction_agreement:.2%}"
    if gap.accuracy_float is not None and gap.accuracy_fixed is not None:
        line += f"   accuracy: float {gap.accuracy_float:.2%}, fixed {gap.accuracy_fixed:.2%}"
    console.print(line)
