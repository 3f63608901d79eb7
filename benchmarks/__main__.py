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

from benchmarks import provenance
from benchmarks.lava import inline_step, lava_step
from benchmarks.speed import (
    deployment,
    doors,
    growth,
    parity,
    peak,
    products,
    rivals,
    speed_tables,
    training_step,
)
from benchmarks.speed.workloads import PAPER, QUICK, Workload
from training.kernels.pool import keep_freed_memory
from training.support.atomic import atomic_file

progress = Console(stderr=True, highlight=False)
PARTS = ("doors", "products", "rivals", "peers", "memory", "deployment", "growth", "lava", "inline")


def _say(line: str) -> None:
    progress.print(f"[dim]{line}[/]")


def _quiet_imports() -> None:
    """Import the peers without their notices about CUDA and datasets that nobody asked for."""
    modules = ("lava.lib.dl.slayer", "snntorch", "spikingjelly.activation_based.neuron")
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        for name in modules:
            with contextlib.suppress(ImportError):
                importlib.import_module(name)


def _memory(quick: bool) -> dict[str, Any]:
    found = {}
    for workload in ("celif", "celif-paper", "alif"):
        _say(f"peak memory of {workload}")
        found[workload] = peak.measure(workload, quick)
    return found


def _targets(results: dict[str, Any]) -> list[bool | None]:
    """Whether each was met; what did not run was not."""
    found: list[bool | None] = []
    for result in results.values():
        passed = result.get("passed", {}) if isinstance(result, dict) else None
        found += passed.values() if isinstance(passed, dict) else [passed]
    return found


def main(
    json_file: Annotated[
        Path | None, typer.Option("--json", help="Write every figure to this file.")
    ] = None,
    quick: Annotated[
        bool, typer.Option(help="Tiny sizes: does the benchmark itself work?")
    ] = False,
    repetitions: Annotated[int, typer.Option(min=1, help="Of our step and its products.")] = 20,
    peer_repetitions: Annotated[int, typer.Option(min=1, help="Of the peers' slow steps.")] = 5,
    only: Annotated[list[str] | None, typer.Option(help=f"Some of {', '.join(PARTS)}.")] = None,
    strict: Annotated[bool, typer.Option(help="Fail if a target is missed.")] = False,
) -> None:
    """Compare the speed of celif with other libraries and with its own matrix products."""
    chosen = only or list(PARTS)
    if unknown := set(chosen) - set(PARTS):
        raise typer.BadParameter(f"expected some of {', '.join(PARTS)}, got {sorted(unknown)}")
    keep_freed_memory()
    _quiet_imports()
    about = provenance.describe()
    speed_tables.console.print(provenance.in_words(about))
    small, large = (QUICK, QUICK) if quick else (Workload(), PAPER)
    results: dict[str, Any] = {}
    try:
        _say("parity: fused kernel and reference, twin and step")
        parity.check()
        if "doors" in chosen:
            _say("doors: celif --help, imports")
            results["doors"] = doors.measure(1 if quick else 5)
            speed_tables.show_doors(results["doors"], not quick)
        if "products" in chosen:
            results["products"] = products.measure(large, repetitions, _say)
            speed_tables.show_products(results["products"], large, not quick)
        if "rivals" in chosen:
            _say("rivals: the steps of the models that the paper ran")
            size = (4, 1, 50) if quick else (64, 5, 784)
            results["rivals"] = rivals.measure(*size)
            speed_tables.show_rivals(results["rivals"], not quick)
        if "peers" in chosen:
            results["peers"] = training_step.measure(small, repetitions, peer_repetitions, _say)
            speed_tables.show_peers(results["peers"], small, not quick)
        if "memory" in chosen:
            results["memory"] = _memory(quick)
            speed_tables.show_memory(results["memory"])
        if "deployment" in chosen:
            results["deployment"] = deployment.measure(small, 5, _say)
            speed_tables.show_deployment(results["deployment"], not quick)
        if "growth" in chosen:
            _say("growth of the twin's time and memory")
            results["growth"] = growth.measure(quick)
            speed_tables.show_growth(results["growth"])
        if "lava" in chosen:
            results["lava"] = lava_step.measure(small, 2 if quick else 7, _say)
            speed_tables.show_lava_step(results["lava"], not quick)
        if "inline" in chosen:
            results["inline"] = inline_step.measure(1 if quick else 7, _say)
            speed_tables.show_inline_step(results["inline"], not quick)
    except parity.RedTest as error:
        speed_tables.console.print(f"[bold red]nothing more is reported[/]: {error}")
        raise typer.Exit(2) from None
    if json_file is not None:
        json_file.parent.mkdir(parents=True, exist_ok=True)
        with atomic_file(json_file) as draft:
            content = {"machine": about, "quick": quick, **results}
            draft.write_text(json.dumps(content, indent=1) + "\n")
    if strict and not quick and not all(_targets(results)):
        raise typer.Exit(1)


if __name__ == "__main__":
    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    app.command()(main)
    app(prog_name="python -m benchmarks")
