"""A verification as tables for the terminal."""

from __future__ import annotations

from typing import Any

from rich import box
from rich.markup import escape
from rich.table import Table

from celif.console import fail, results, say, warn
from celif.verification.alarms import beyond_chance
from celif.verification.file_check import COMPARED
from celif.verification.gap import Gap
from celif.verification.verify import Verification
from hw_tests.ladder import UNASKED
from hw_tests.trace_difference import Difference

FORWARD = "net(x) ↔ its layers in a row"

_COLOURS = {"equal": "green", "DIFFERS": "bold red", "not run": "yellow"}
_SYMBOLS = {"theta": "Θ", "v": "V", "spikes": "S"}


def _table(
    title: str, columns: tuple[str, ...], left: tuple[str, ...] = (), space: int = 1
) -> Table:
    table = Table(
        title=title or None, title_justify="left", box=box.SIMPLE_HEAD, padding=(0, space, 0, 0)
    )
    for name in columns:
        table.add_column(name, justify="left" if name in left else "right", overflow="fold")
    return table


def show_verification(result: Verification) -> None:
    """Print the ladder, what differs first, the gap and the alarms."""
    columns = ("rung", "compared", "steps", "values", "mismatches", "verdict")
    table = _table("The ladder", columns, ("compared", "verdict"))
    if (source := result.source) is not None:
        verdict = f"[{_COLOURS[source.verdict]}]{source.verdict}[/]"
        counts = ["", f"{source.values:,}", f"{source.mismatches:,}"]
        table.add_row("file", escape(COMPARED), *counts, verdict)
    if result.gap is not None and result.gap.otherwise is not None:
        row = ("net", escape(FORWARD), f"{result.gap.samples:,}", "", "")
        table.add_row(*row, f"[{_COLOURS['DIFFERS']}]DIFFERS[/]")
    for rung in result.rungs:
        ran = rung.verdict != "not run"
        verdict = f"[{_COLOURS[rung.verdict]}]{rung.verdict}[/]"
        counts = [f"{n:,}" if ran else "" for n in (rung.steps, rung.values, rung.mismatches)]
        table.add_row(str(rung.rung), escape(rung.compared), *counts, verdict)
    results.print(table)
    if result.gap is not None and result.gap.otherwise is not None:
        say("net DIFFERS: the network's own forward pass is not what the file holds, its layers")
        say(f"one after another: {result.gap.otherwise}")
    if source is not None and not source.equal:
        say(f"file DIFFERS: {source.detail}")
        if source.effect is not None:
            say(f"in the twin this changes first: {source.effect}")
            show_difference(source.effect, ("checkpoint", "file"))
    if unasked := [rung for rung in result.rungs if rung.why == UNASKED]:
        numbers = ", ".join(dict.fromkeys(str(rung.rung) for rung in unasked))
        say(f"not asked for: rung {numbers}")
    for rung in result.rungs:
        if rung.detail and rung.why != UNASKED:
            say(f"rung {rung.rung} {rung.verdict}: {rung.detail}")
        if rung.first is not None:
            show_difference(rung.first, tuple(rung.compared.split(" ↔ ")))
    if result.gap is not None:
        show_gap(result.gap)
    for alarm in result.alarms:
        (fail if alarm.fails else warn)(str(alarm))
    show_verdict(result)


def show_verdict(result: Verification) -> None:
    """Print the verdict in one line: what a reader who reads one line should know."""
    if result.differs:
        line = "[bold red]FAILED[/]: something that must be equal differs, see above"
    elif result.failed:
        line = "[bold red]FAILED[/]: all integers are equal, but the accuracy fell, see above"
    elif not result.equal:
        line = "[yellow]incomplete[/]: nothing differs, but a rung that was asked for did not run"
    elif result.alarms:
        count = len(result.alarms)
        line = f"[yellow]passed[/], with {count} alarm{'s' if count > 1 else ''}"
    else:
        line = "[green]passed[/]"
    results.print(f"verdict: {line}")


def show_difference(first: Difference, sides: tuple[str, ...]) -> None:
    """Print a neuron's registers around the step at which two runs part."""
    if not first.around:
        return
    say(f"layer {first.layer}, neuron {first.neuron}: {' │ '.join(sides)}")
    table = _table("", ("step", *_SYMBOLS.values()))
    for moment in first.around:
        cells = (_pair(getattr(moment, name)) for name in _SYMBOLS)
        mark = " ◂" if moment.step == first.step else "  "
        table.add_row(f"{moment.step}{mark}", *cells)
    results.print(table)


def _pair(values: tuple[Any, Any] | None) -> str:
    if values is None:
        return ""
    ours, theirs = (f"{v:,}" if isinstance(v, int) else f"{v:.7g}" for v in values)
    return f"{ours} │ {theirs}" if ours == theirs else f"[bold red]{ours} │ {theirs}[/]"


def short(number: float) -> str:
    """Write a number in at most six characters: two digits of it, or a whole number as it is."""
    whole = isinstance(number, int) and number < 1_000_000
    text = str(number) if whole else f"{number:.2g}"
    return text if len(text) <= 6 else f"{number:.0e}"


def show_gap(gap: Gap) -> None:
    """Print how far the integers are from the float network."""
    columns = (
        *("layer", "same\nspikes", "|ΔV|\nmean", "\nmax", "|ΔΘ|\nmean", "\nmax"),
        *("rate\nfloat", "\nfixed", "silent\nfloat", "\nfixed", "satu-\nrated"),
    )
    # Eleven columns of up to seven characters: only this narrow do they fit 80.
    table = _table(f"The gap, float ↔ fixed, {gap.samples} samples", columns, space=0)
    for layer in gap.layers:
        errors = [layer.v_error_mean, layer.v_error_max]
        errors += [layer.theta_error_mean, layer.theta_error_max]
        table.add_row(
            str(layer.layer),
            f"{layer.spike_agreement:.2%}",
            *("" if error is None else short(error) for error in errors),
            f"{layer.rate_float:.1%}",
            f"{layer.rate_fixed:.1%}",
            str(layer.silent_float),
            str(layer.silent_fixed),
            short(layer.saturations),
        )
    results.print(table)
    changed = round((1 - gap.prediction_agreement) * gap.samples)
    colour = "bold red" if beyond_chance(changed, gap.samples) else "green"
    line = f"same prediction: [{colour}]{gap.prediction_agreement:.2%}[/]"
    if gap.accuracy_float is not None and gap.accuracy_fixed is not None:
        line += f"   accuracy: float {gap.accuracy_float:.2%}, fixed {gap.accuracy_fixed:.2%}"
    results.print(line)
