"""``python -m benchmarks.studies.exponent_rules``: which exponent rule costs least on digits.

Every fold's network (those of :mod:`benchmarks.studies.fidelity`, trained if need be) becomes
integers by each rule at several numbers of bits, with exponents per layer and per channel, without
fine-tuning. The table counts test images, each by a network that never saw it.
"""

from __future__ import annotations

import os
import sys
from collections import defaultdict
from pathlib import Path
from typing import Annotated

# Two pools of threads, torch's and numba's, take turns; a waiting one must not spin.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

import typer

from benchmarks.studies import folds
from benchmarks.studies.folds import Fold
from export import Formats, simulate
from export.convert.formats import RULES
from export.convert.to_integers import convert
from training.kernels.pool import keep_freed_memory
from training.trainer.loop import evaluate

BITS = (8, 4, 3, 2)
"""Bits of weights and TE."""

Hits = dict[tuple[int, bool, str], int]


def count(fold: Fold, hits: Hits) -> None:
    """Add what a fold's network gets right in every format."""
    for bits in BITS:
        for per_channel in (False, True):
            for rule in RULES:
                formats = Formats(
                    weight_bits=bits, te_bits=bits, per_channel=per_channel, rule=rule
                )
                _, fixed, _ = convert(fold.net, fold.train.x, formats)
                right = simulate(fixed, fold.test.x.numpy()).predictions == fold.test.y.numpy()
                hits[bits, per_channel, rule] += int(right.sum())


def table(hits: Hits, in_float: int, samples: int) -> str:
    """Test accuracy in Markdown."""
    headings = [f"{rule}, {each}" for each in ("per layer", "per channel") for rule in RULES]
    lines = ["| bits | " + " | ".join(headings) + " |", "|---|" + "---|" * len(headings)]
    for bits in BITS:
        cells = (
            f"{hits[bits, per_channel, rule] / samples:.2%}"
            for per_channel in (False, True)
            for rule in RULES
        )
        lines.append(f"| {bits} | " + " | ".join(cells) + " |")
    return "\n".join([f"float {in_float / samples:.2%}, {samples:,} images\n", *lines])


def main(
    repeats: Annotated[int, typer.Option(min=1, help="Times all five folds are trained.")] = 3,
    out: Annotated[Path, typer.Option(help="Runs.")] = Path("runs/fidelity"),
) -> None:
    """Print the table."""
    keep_freed_memory()
    hits: Hits = defaultdict(int)
    in_float = samples = 0
    for seed in range(repeats * folds.FOLDS):
        fold = folds.train(seed, out)
        in_float += round(evaluate(fold.net, fold.test) * len(fold.test))
        samples += len(fold.test)
        count(fold, hits)
        sys.stderr.write(f"seed {seed}: done\n")
    sys.stdout.write(table(hits, in_float, samples) + "\n")


if __name__ == "__main__":
    typer.run(main)
