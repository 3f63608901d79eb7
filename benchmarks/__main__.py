"""``python -m benchmarks``: speed and memory of training and deployment, in one run.

Exit codes: 0 measured, 1 with ``--strict`` a target missed or not judged, 2 a check is red and
nothing is reported.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import json
import os
from pathlib import Path
from typing import Annotated, Any

# Two pools of threads, torch's and numba's, take turns; a waiting one must not spin.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

import typer
from rich.console import Console
from rich.table import Table

from benchmarks import deployment, machine, parity, training_step
from benchmarks.workloads import QUICK, Shape
from training.files import atomic_file
from training.memory import keep_freed_memory

console = Console(highlight=False, soft_wrap=True)
progress = Console(stderr=True, highlight=False)


def _say(line: str) -> None:
    progress.print(f"[dim]{line}[/]")


def _quiet_imports() -> None:
    """Import the peers without their notices about CUDA and datasets that nobody asked for."""
    modules = ("lava.lib.dl.slayer", "snntorch", "spikingjelly.activation_based.neuron")
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        for name in modules:
            with contextlib.suppress(ImportError):
                importlib.import_module(name)


def _verdict(passed: bool | None, judged: bool) -> str:
    if not judged:
        return "not judged (--quick)"
    if passed is None:
        return "[bold red]not judged: a peer did not run[/]"
    return "[bold green]PASS[/]" if passed else "[bold red]FAIL[/]"


def _table(title: str, *headings: str) -> Table:
    table = Table(title=title)
    for heading in headings:
        left = heading in ("", "peer", "firing rates")
        table.add_column(heading, justify="left" if left else "right", no_wrap=left)
    return table


def _rates(found: dict[str, Any]) -> str:
    return " ".join(f"{rate:.0%}" for rate in found.get("firing_rates", ()))


def _print_step(result: dict[str, Any], shape: Shape) -> None:
    widths = " → ".join(str(n) for n in (shape.in_features, *shape.hidden, shape.classes))
    title = (
        f"Training step, {result['parameters']:,} parameters ({widths}), "
        f"batch {shape.batch}, T = {shape.steps}"
    )
    table = _table(title, "", "median ms", "fastest ms", "runs", "firing rates")
    for key, name in {"celif": "celif", "products": "its matrix products alone"}.items():
        times = result[key]
        median, fastest = times["median_seconds"], times["fastest_seconds"]
        count = str(len(times["seconds"]))
        table.add_row(name, f"{median * 1e3:,.1f}", f"{fastest * 1e3:,.1f}", count, _rates(times))
    console.print(table)


def _print_peers(result: dict[str, Any]) -> None:
    title = "The same step of its peers, in the same run: medians"
    headings = ("peer", "seconds", "ours is N times as fast", "runs", "firing rates")
    table = _table(title, *headings)
    left_out = []
    for found in result["peers"].values():
        if "not_run" in found:
            left_out.append(f"{found['name']}: not run: {found['not_run']}")
            continue
        size = "" if found["spiking"] else f", {found['parameters']:,} parameters"
        times = (f"{found['median_seconds']:.3f}", f"{found['times_as_fast']:.1f}")
        count = str(len(found["seconds"]))
        table.add_row(found["name"] + size, *times, count, _rates(found) or "no spikes")
    console.print(table)
    for line in left_out:
        console.print(line)


def _print_targets(result: dict[str, Any], judged: bool) -> None:
    passed, peers = result["passed"], result["peers"]
    lines = [
        (
            f"{result['times_as_fast_as_peers']:.1f} times as fast as the fastest spiking peer, "
            f"{peers[result['fastest_peer']]['name']} (target ≥ {training_step.PEER_TARGET:g}; "
            f"of the fastest: {result['fastest_times_as_fast_as_peers']:.1f})",
            passed["peers"],
        ),
        (
            f"{result['times_its_products']:.2f} times its matrix products "
            f"(target ≤ {training_step.PRODUCTS_TARGET:g}; "
            f"of the fastest: {result['fastest_times_its_products']:.2f})",
            passed["products"],
        ),
    ]
    if "times_as_fast_as_alif" in result:
        line = (
            f"{result['times_as_fast_as_alif']:.1f} times as fast as SLAYER ALIF "
            f"(target ≥ {training_step.ALIF_TARGET:g}; "
            f"of the fastest: {result['fastest_times_as_fast_as_alif']:.1f})"
        )
        lines.insert(0, (line, passed["alif"]))
    for line, verdict in lines:
        console.print(f"{line}  {_verdict(verdict, judged)}")


def _print_memory(result: dict[str, Any]) -> None:
    for name, found in result.items():
        if isinstance(found, str):
            console.print(f"peak memory of {name}: {found}")
            continue
        console.print(
            f"peak memory of {name}'s step: {found['peak_mb'] - found['before_mb']:,.0f} MB above "
            f"the {found['before_mb']:,.0f} MB of the process"
        )


def _print_deployment(result: dict[str, Any]) -> None:
    twin, lava = result["twin"], result["lava"]
    rates = " ".join(f"{rate:.1%}" for rate in twin["firing_rates"])
    console.print(
        f"twin: {twin['samples_per_second']:,.0f} samples/s over {twin['samples']} samples "
        f"(firing rates {rates})"
    )
    if isinstance(lava, str):
        console.print(f"Lava, fixed point: {lava}")
        return
    console.print(
        f"Lava, fixed point: {lava['samples_per_second']:.3f} samples/s, "
        f"{lava['seconds_per_step'] * 1e3:.2f} ms a step, "
        f"{lava['start_and_stop_seconds']:.1f} s to start and stop; same file, equal logits; "
        f"the twin is {result['times_as_fast_as_lava']:,.0f} times as fast"
    )


def main(
    json_file: Annotated[
        Path | None, typer.Option("--json", help="Write every figure to this file.")
    ] = None,
    quick: Annotated[
        bool, typer.Option(help="Tiny sizes: does the benchmark itself work?")
    ] = False,
    repetitions: Annotated[int, typer.Option(min=1, help="Of our step and its products.")] = 30,
    peer_repetitions: Annotated[int, typer.Option(min=1, help="Of the peers' slow steps.")] = 5,
    strict: Annotated[bool, typer.Option(help="Fail if a target is missed.")] = False,
) -> None:
    """Time celif beside other libraries and beside its own matrix products."""
    keep_freed_memory()
    _quiet_imports()
    about = machine.describe()
    console.print(machine.in_words(about))
    shape = QUICK if quick else Shape()
    try:
        _say("parity: fused kernel and reference, twin and step")
        parity.check()
        step = training_step.measure(shape, repetitions, peer_repetitions, _say)
        memory = training_step.memory(quick, _say)
        deployed = deployment.measure(shape, 5, _say)
    except parity.RedTest as error:
        console.print(f"[bold red]nothing is reported[/]: {error}")
        raise typer.Exit(2) from None
    _print_step(step, shape)
    _print_peers(step)
    _print_targets(step, judged=not quick)
    _print_memory(memory)
    _print_deployment(deployed)
    if json_file is not None:
        content = {"machine": about, "quick": quick, "training_step": step}
        content |= {"peak_memory": memory, "deployment": deployed}
        json_file.parent.mkdir(parents=True, exist_ok=True)
        with atomic_file(json_file) as draft:
            draft.write_text(json.dumps(content, indent=1) + "\n")
    if strict and not quick and not all(step["passed"].values()):
        raise typer.Exit(1)


if __name__ == "__main__":
    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    app.command()(main)
    app(prog_name="python -m benchmarks")
