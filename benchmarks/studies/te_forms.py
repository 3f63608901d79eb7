"""``python -m benchmarks.studies.te_forms``: bytes of TE against accuracy, for ways to keep it.

What :mod:`export.model.te` offers (a table, packed, held for some steps) runs in its own integers.
Other
compressions of a trained table are tried before any of them is built: the table is compressed and
restored, then exported with 8 bits, and the bytes are those that the compressed form would take
with 8-bit values.

==============  ==============================================================================
low rank        the best product of two factors, (row, r) and (r, step)
codebook        256 pieces of a few steps (k-means over all rows); a byte names one
piecewise       values at every h-th step, straight lines between
==============  ==============================================================================
"""

from __future__ import annotations

import copy
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, NamedTuple

# Two pools of threads, torch's and numba's, take turns; a waiting one must not spin.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

import numpy as np
import torch
import typer

from benchmarks.studies import folds
from celif.demo import DROPOUT, HIDDEN, RECIPE
from export import Formats, quantize, simulate
from export.convert.to_integers import convert
from export.model.te import Table
from training import checkpoint, tasks
from training.kernels.pool import keep_freed_memory
from training.network.network import Network
from training.tasks import Split
from training.trainer.loop import evaluate, start

COSINE = "cosine, trained as such, 8 bits"
TUNED: dict[str, dict[str, Any]] = {
    "table, 8 bits": {"te_bits": 8},
    "packed, 4 bits": {"te_bits": 4, "te_encoding": "packed"},
    "packed, 4 bits, held 2 steps": {"te_bits": 4, "te_encoding": "packed", "te_hold": 2},
    "packed, 4 bits, held 4 steps": {"te_bits": 4, "te_encoding": "packed", "te_hold": 4},
    COSINE: {"te_bits": 8},
}

Restore = Callable[[np.ndarray], np.ndarray]


class Way(NamedTuple):
    """A way to keep TE: what it makes of a table before the export, formats, bytes."""

    name: str
    restore: Restore
    formats: dict[str, Any]
    bytes: Callable[[int, int], int]
    """The form for this many rows and steps."""


def low_rank(te: np.ndarray, rank: int) -> np.ndarray:
    """The nearest table of that rank."""
    u, s, v = np.linalg.svd(te, full_matrices=False)
    return (u[:, :rank] * s[:rank]) @ v[:rank]


def piecewise(te: np.ndarray, every: int) -> np.ndarray:
    """The nearest table that is straight between every ``every``-th step and the last."""
    steps = te.shape[1]
    knots = np.unique([*range(0, steps, every), steps - 1])
    hats = np.array([np.interp(np.arange(steps), knots, row) for row in np.eye(len(knots))])
    return np.linalg.lstsq(hats.T, te.T, rcond=None)[0].T @ hats


def codebook(te: np.ndarray, length: int, size: int = 256) -> np.ndarray:
    """Pieces of ``length`` steps, each the nearest of ``size`` by Lloyd's iteration."""
    rng = np.random.default_rng(0)
    rows, steps = te.shape
    padded = np.pad(te, ((0, 0), (0, -steps % length)), mode="edge")
    pieces = padded.reshape(-1, length)
    book = pieces[rng.choice(len(pieces), min(size, len(pieces)), replace=False)]
    for _ in range(30):
        distance = np.square(book).sum(1) - 2 * pieces @ book.T
        nearest = distance.argmin(1)
        for k in np.unique(nearest):
            book[k] = pieces[nearest == k].mean(0)
    return book[nearest].reshape(rows, -1)[:, :steps]


def ways() -> Iterator[Way]:
    """Every way that is compared."""

    def kept(name: str, bits: int, hold: int = 1) -> Way:
        packed = bits <= 4
        formats = {"te_bits": bits, "te_hold": hold, "te_encoding": "packed" if packed else "table"}
        form = Table(hold, packed)
        return Way(name, lambda te: te, formats, lambda rows, t: form.bytes(rows, t, bits))

    yield kept("table, 8 bits", 8)
    for bits in (4, 3, 2):
        yield kept(f"packed, {bits} bits", bits)
    for hold in (2, 3, 4):
        yield kept(f"packed, 4 bits, held {hold} steps", 4, hold)
    yield kept("table, 8 bits, held 4 steps", 8, 4)
    yield from map(_low_rank, (8, 16, 32, 64))
    yield from map(_piecewise, (2, 3, 4))
    yield from map(_codebook, (2, 4))


def _low_rank(r: int) -> Way:
    return Way(f"low rank, {r}", partial(low_rank, rank=r), {}, lambda rows, t: r * (rows + t))


def _piecewise(h: int) -> Way:
    name = f"piecewise, knots every {h} steps"
    return Way(name, partial(piecewise, every=h), {}, lambda rows, t: rows * (-(-(t - 1) // h) + 1))


def _codebook(n: int) -> Way:
    name = f"codebook, pieces of {n} steps"
    return Way(name, partial(codebook, length=n), {}, lambda rows, t: rows * -(-t // n) + 256 * n)


def hits(net: Network, way: Way, calibration: torch.Tensor, test: Split) -> int:
    """Test samples that the network gets right with its TE kept in a way."""
    changed = copy.deepcopy(net)
    with torch.no_grad():
        restored = way.restore(net.te_table.detach().double().numpy())
        assert isinstance(changed.te, torch.Tensor)
        changed.te.copy_(torch.from_numpy(np.ascontiguousarray(restored)))
    _, fixed, _ = convert(changed, calibration, Formats(**way.formats))
    return int((simulate(fixed, test.x.numpy()).predictions == test.y.numpy()).sum())


class TrainedNetwork(NamedTuple):
    """A network, samples to calibrate its export with, and samples to test it with."""

    net: Network
    calibration: torch.Tensor
    test: Split


def compare(nets: list[TrainedNetwork]) -> str:
    """Bytes and accuracy of every way over all networks, in Markdown."""
    samples = sum(len(each.test) for each in nets)
    rows, steps = nets[0].net.te_table.shape
    in_float = sum(round(evaluate(each.net, each.test) * len(each.test)) for each in nets)
    lines = [
        f"TE of {rows} × {steps}; float {in_float / samples:.2%}, {samples:,} samples\n",
        "| TE kept as | bytes | accuracy |",
        "|---|---|---|",
    ]
    for way in ways():
        if way.name.startswith("low rank") and way.bytes(rows, steps) > rows * steps:
            continue
        right = sum(hits(each.net, way, each.calibration, each.test) for each in nets)
        lines.append(f"| {way.name} | {way.bytes(rows, steps):,} | {right / samples:.2%} |")
        sys.stderr.write(lines[-1] + "\n")
    return "\n".join(lines)


def tuned(seeds: range, out: Path, epochs: int) -> str:
    """The kept forms after fine-tuning, and cosines trained as such, on sequential digits."""
    samples, right = 0, dict.fromkeys(TUNED, 0)
    for seed in seeds:
        fold = folds.train(seed, out)
        samples += len(fold.test)
        recipe = replace(RECIPE, epochs=epochs, lr=1e-3, warmup=0.0, seed=seed)
        for name, formats in TUNED.items():
            net = fold.net
            if name == COSINE:
                fresh = start(
                    fold.task, HIDDEN, replace(RECIPE, seed=seed), dropout=DROPOUT, te="cosine"
                )
                net = folds.train_on(fold, fresh, replace(RECIPE, seed=seed), "cosine")
            aware = quantize(net, fold.train.x, **formats)
            if name != COSINE:
                slug = "-".join(str(value) for value in formats.values())
                aware = folds.train_on(fold, aware, recipe, f"te-{slug}")
            right[name] += round(evaluate(aware, fold.test) * len(fold.test))
            sys.stderr.write(f"seed {seed}: {name}\n")
    lines = ["| TE kept as | accuracy |", "|---|---|"]
    lines += [f"| {name} | {right[name] / samples:.2%} |" for name in TUNED]
    return "\n".join(lines)


def main(
    model: Annotated[
        Path | None, typer.Option(help="Checkpoint of an MNIST network, in place of digits.")
    ] = None,
    data: Annotated[Path | None, typer.Option(help="Folder of MNIST.")] = None,
    samples: Annotated[int, typer.Option(help="Test images of MNIST.")] = 2000,
    repeats: Annotated[int, typer.Option(min=1, help="Times all five folds of digits.")] = 1,
    out: Annotated[Path, typer.Option(help="Runs of digits.")] = Path("runs/fidelity"),
    tune: Annotated[
        int, typer.Option(help="Epochs of fine-tuning; digits only, in place of the table.")
    ] = 0,
) -> None:
    """Print the table of one network on MNIST, or of five-fold networks on sequential digits."""
    keep_freed_memory()
    if tune:
        sys.stdout.write(tuned(range(repeats * folds.FOLDS), out, tune) + "\n")
        return
    if model is None:
        trained = (folds.train(seed, out) for seed in range(repeats * folds.FOLDS))
        nets = [TrainedNetwork(fold.net, fold.train.x, fold.test) for fold in trained]
    else:
        task = tasks.load(checkpoint.read(model).get("task", "seq-mnist"), data)
        test = Split(task.test.x[:samples], task.test.y[:samples])
        nets = [TrainedNetwork(checkpoint.load(model), task.train.x[:2000], test)]
    sys.stdout.write(compare(nets) + "\n")


if __name__ == "__main__":
    typer.run(main)
