"""``python -m benchmarks.speed.baselines``: what a training step of every model of the paper costs.

Processor time on one thread, of the paper's widths for Seq-MNIST, T = 784, untrained: the fastest
of a few steps. The models whose neurons run in the compiled kernels stand beside those that loop
over torch's operations.
"""

from __future__ import annotations

from typing import Annotated

import torch
import typer

from celif.experiments.machinery.budget import one_thread, seconds_a_step
from celif.experiments.machinery.models import make
from celif.experiments.table1 import FULL, PAPER, label
from training.tasks import Split, Task
from training.trainer.recipe import Recipe

LOOPED = ("GLIF", "DEXAT", "AHP", "IndRNN")


def table(batch: int, steps: int) -> list[tuple[str, float, float]]:
    """Name, seconds a step, and that by those of feedforward CE-LIF."""
    torch.manual_seed(0)
    samples = Split(
        torch.rand(batch * (steps + 1), 1, 784), torch.zeros(batch * (steps + 1)).long()
    )
    task = Task("shape of seq-mnist", samples, samples, samples, classes=10)
    recipe, found = Recipe(batch=batch), {}
    with one_thread():
        for name, recurrent in PAPER:
            hidden = FULL.preset.hidden if name == "CE-LIF" else FULL.wide
            net = make(name, task, hidden, recipe, recurrent)
            found[label(name, recurrent)] = seconds_a_step(net, task, recipe, steps)
    first = found[label("CE-LIF", False)]
    return [(what, seconds, seconds / first) for what, seconds in found.items()]


def main(
    batch: Annotated[int, typer.Option(help="Sequences a step.")] = 32,
    steps: Annotated[int, typer.Option(help="Steps timed, of which the fastest counts.")] = 2,
) -> None:
    """Print the table, as it stands in docs/baselines.md."""
    print(f"| batch {batch}, T = 784, one thread | ms a step | of CE-LIF's | |")
    print("|---|---|---|---|")
    for what, seconds, ratio in table(batch, steps):
        how = "a loop of torch operations" if what.split()[0] in LOOPED else ""
        print(f"| {what} | {1e3 * seconds:,.0f} | {ratio:.1f} | {how} |")


if __name__ == "__main__":
    typer.run(main)
