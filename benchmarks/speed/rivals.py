"""Training steps of the models that the paper ran, compared with CE-LIF of the same widths.

Processor time on one thread, untrained networks of hidden layers [64, 256, 256], T = 784, with
matrix products as the trainer makes them (:mod:`training.support.avx512`). Models take turns, and
the fastest of each model's steps counts. A fresh CE-LIF fires little, so that sums over spikes
replace its products; rivals with torch's biases fire more, as a trained CE-LIF does, which stands
next to the fresh one. For recurrent LIF the dense matrix products that its step contains are timed
as well: those of every input and recurrent weight, forward, for the gradient of the input and for
the gradient of the weight.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from benchmarks.speed.workloads import Workload
from celif.experiments.machinery.budget import one_thread
from celif.experiments.machinery.compared_models import make
from training import Network
from training.support import avx512
from training.tasks import Split, Task
from training.trainer.recipe import Recipe

HIDDEN = (64, 256, 256)
FEEDFORWARD = ("LIF", "PLIF", "LTMD", "GLIF", "ALIF")
"""Spiking models besides CE-LIF whose feedforward step is compared with CE-LIF's."""
BUSY = "CE-LIF, as busy as trained"
RECURRENT = ("LIF", "PLIF", "LTMD", "GLIF", "ALIF", "SoftALIF", "CE-LIF")
TIMES_CELIF, TIMES_PRODUCTS = 1.5, 1.4
"""Targets: a feedforward rival's step by CE-LIF's, recurrent LIF's by its dense products."""


def _network(name: str, recurrent: bool, task: Task, batch: int) -> nn.Module:
    if name == BUSY:
        return Workload(hidden=HIDDEN, steps=task.steps, batch=batch).network(busy=True)
    return make(name, task, HIDDEN, Recipe(batch=batch), recurrent)


@torch.no_grad()
def _rates(net: Any, x: torch.Tensor) -> list[float]:
    spikes = (
        [state.spikes for state in net.hidden_states(x)]
        if isinstance(net, Network)
        else net.spikes(x)
    )
    return [round(float(each.mean()), 3) for each in spikes]


def _step(net: nn.Module, task: Task) -> Callable[[], None]:
    def step() -> None:
        net.zero_grad()
        task.objective.loss(net(task.train.x), task.train.y).backward()

    return step


def _products(batch: int, steps: int) -> Callable[[], None]:
    """The dense products of recurrent LIF's step, by time step where there is feedback."""
    rows = batch * steps
    whole = [(HIDDEN[0], HIDDEN[1]), (HIDDEN[1], HIDDEN[2])]
    inputs = {m: torch.rand(rows, m) for m in HIDDEN}
    weights = {pair: torch.rand(pair) for pair in (*whole, *((n, n) for n in HIDDEN[:2]))}
    outs = {n: torch.empty(rows, n) for n in HIDDEN}

    def run() -> None:
        for m, n in whole:
            torch.mm(inputs[m], weights[m, n], out=outs[n])
            torch.mm(inputs[n], weights[m, n].t(), out=outs[m])
            torch.mm(inputs[m].t(), inputs[n])
        for n in HIDDEN[:2]:
            for first in range(0, rows, batch):
                part = inputs[n][first : first + batch]
                torch.mm(part, weights[n, n], out=outs[n][first : first + batch])
                torch.mm(part, weights[n, n].t(), out=outs[n][first : first + batch])
            torch.mm(inputs[n].t(), inputs[n])

    return run


def measure(batch: int, repetitions: int, steps: int = 784) -> dict[str, Any]:
    """Return seconds of every step and the two ratios, with whether they meet their targets."""
    torch.manual_seed(0)
    samples = Split(torch.rand(batch, 1, steps), torch.arange(batch) % 10)
    task = Task("shape of seq-mnist", samples, samples, samples, classes=10)
    kinds = [(name, False) for name in ("CE-LIF", BUSY, *FEEDFORWARD)]
    kinds += [(name, True) for name in RECURRENT]
    nets = {kind: _network(*kind, task, batch) for kind in kinds}
    cases = {kind: _step(net, task) for kind, net in nets.items()}
    cases["products", True] = _products(batch, steps)
    fastest = dict.fromkeys(cases, float("inf"))
    with one_thread(), avx512.products(samples.x.device):
        for turn in range(repetitions + 1):
            for case, step in cases.items():
                began = time.process_time()
                step()
                if turn:  # the first compiles
                    fastest[case] = min(fastest[case], time.process_time() - began)
    rates = {label(*kind): _rates(net, samples.x[:8]) for kind, net in nets.items()}
    return {**_judged(fastest, batch), "firing_rates": rates}


def label(name: str, recurrent: bool) -> str:
    """Name of a row."""
    return f"{name} {'recurrent' if recurrent else 'feedforward'}"


def _judged(fastest: dict[tuple[str, bool], float], batch: int) -> dict[str, Any]:
    celif, dense = fastest["CE-LIF", False], fastest["products", True]
    ratios = {name: fastest[name, False] / celif for name in FEEDFORWARD}
    return {
        "batch": batch,
        "milliseconds_per_sample": {
            label(*kind): 1e3 * seconds / batch for kind, seconds in fastest.items()
        },
        "times_celif": ratios,
        "times_busy_celif": {
            name: fastest[name, False] / fastest[BUSY, False] for name in FEEDFORWARD
        },
        "times_products": fastest["LIF", True] / dense,
        "passed": {
            **{f"{name} feedforward": ratio <= TIMES_CELIF for name, ratio in ratios.items()},
            "LIF recurrent": fastest["LIF", True] / dense <= TIMES_PRODUCTS,
        },
    }
