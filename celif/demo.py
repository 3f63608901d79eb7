"""The whole path on digits: train, export, run in Lava, verify, report."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from celif import console
from celif.verification.verify import Verification, verify
from celif.views import ladder_table
from celif.views import page as report
from celif.views.export_table import show_export
from export import read_netx, to_netx
from training import tasks, trainer
from training.kernels import pool

HIDDEN = (64, 88, 88)
DROPOUT = 0.1
RECIPE = trainer.Recipe(epochs=100, batch=64, lr=5e-3)
QUICK = trainer.Recipe(epochs=2, batch=64, lr=5e-3)

LEAST_ACCURACY = 0.95
LARGEST_LOSS = 0.01


@dataclass(frozen=True)
class DemoResult:
    """The figures of the demo, and which of its promises it missed."""

    accuracy_float: float
    accuracy_fixed: float
    verification: Verification
    failures: tuple[str, ...]
    seconds: dict[str, float]
    page: Path
    network: Path

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {
            "accuracy_float": self.accuracy_float,
            "accuracy_fixed": self.accuracy_fixed,
            "failures": list(self.failures),
            "seconds": self.seconds,
            "page": str(self.page),
            "network": str(self.network),
            **self.verification.to_dict(),
        }


def run(out: Path, *, quick: bool = False, seed: int = 0) -> DemoResult:
    """Run the demo into folder ``out``; ``quick`` trains two epochs and does not judge accuracy."""
    pool.keep_freed_memory()
    out.mkdir(parents=True, exist_ok=True)
    seconds: dict[str, float] = {}
    began = time.monotonic()

    def done(stage: str) -> None:
        nonlocal began
        seconds[stage] = round(time.monotonic() - began, 1)
        began = time.monotonic()

    say = console.results.print
    task = tasks.load("digits")
    recipe = replace(QUICK if quick else RECIPE, seed=seed)
    say(f"[bold]1. Train[/] on {len(task.train)} digits, one pixel a step, {task.steps} steps")
    net = trainer.start(task, HIDDEN, recipe, dropout=DROPOUT)
    with console.training_bar() as bar:
        training = trainer.Trainer(net, task, recipe, out / "training", bar, overwrite=True)
        net = training.run()
    done("train")

    say("[bold]2. Export[/] to 8-bit weights and TE")
    network = out / "digits.net"
    exported = to_netx(net, network, calibration=task.train.x, task=task)
    show_export(exported)
    done("export")

    say("[bold]3. Run[/] in Lava, float and fixed, and [bold]verify[/]")
    fixed = read_netx(network)
    result = verify(fixed, net, task.test.x, task.test.y)
    ladder_table.show_verification(result)
    done("verify")

    assert result.gap is not None  # the float network was given
    floats, integers = result.gap.accuracy_float or 0.0, result.gap.accuracy_fixed or 0.0
    failures = [f"rung {r.rung}: {r.detail}" for r in result.rungs if r.verdict == "DIFFERS"]
    failures += [
        f"rung {r.rung} did not run: {r.detail}"
        for r in result.rungs
        if r.rung in (0, 1, 2, 3) and r.verdict == "not run"
    ]
    if not quick:
        if floats < LEAST_ACCURACY:
            failures.append(f"float accuracy {floats:.2%}: expected at least {LEAST_ACCURACY:.0%}")
        if floats - integers > LARGEST_LOSS:
            failures.append(f"fixed accuracy {integers:.2%}: expected {floats:.2%} less 1 point")
    page = report.write(
        out / "report.html",
        result,
        fixed,
        task.test.x.numpy(),
        task.test.y.numpy(),
        source=net,
        title=task.name,
        history=training.history,
    )
    done("report")
    return DemoResult(floats, integers, result, tuple(failures), seconds, page, network)
