"""``python -m benchmarks.studies.fidelity``: what integers cost, in accuracy, on sequential digits.

Five folds over all 1,797 images, so that each is tested by a network that never saw it, and the
whole of it from three sets of seeds. Every network is exported with each combination of bits for
weights, TE, and fractions of V and Θ, and tested in the twin; four-bit networks are also
fine-tuned as quantisation-aware ones. Results go to ``runs/fidelity/results.json`` as they come:
what is there is not made again.
"""

from __future__ import annotations

import json
import os
import shlex
import sys
import tempfile
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Any

# Two pools of threads, torch's and numba's, take turns; a waiting one must not spin.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

import typer

from benchmarks import provenance
from benchmarks.studies import fidelity_page, folds
from benchmarks.studies.folds import Fold
from export import QuantizedNetwork, quantize, read_netx, simulate, to_netx
from training.kernels.pool import keep_freed_memory
from training.network.network import Network
from training.support.atomic import atomic_file
from training.trainer.loop import Recipe, evaluate

WEIGHT_BITS = (8, 6, 5, 4)
TE_BITS = (16, 8, 6, 4, 3, 2)
FRACTION_BITS = (6, 8, 10, 12, 14, 16, None)
"""None: what the export chooses by itself."""

TUNED_BITS = ((4, 4),)
TUNING = Recipe(epochs=15, batch=64, lr=1e-3, warmup=0.0)
"""Recipe of fine-tuning; quantisation-aware networks have no dropout."""

Results = dict[str, Any]


@dataclass(frozen=True)
class Cell:
    """A combination of bits."""

    weight_bits: int
    te_bits: int
    fraction_bits: int | None

    @property
    def key(self) -> str:
        """Name in the results."""
        fraction = "auto" if self.fraction_bits is None else self.fraction_bits
        return f"w{self.weight_bits} te{self.te_bits} F{fraction}"


CELLS = tuple(Cell(w, te, f) for w in WEIGHT_BITS for te in TE_BITS for f in FRACTION_BITS)


def count(fold: Fold, cell: Cell, tuned: QuantizedNetwork | None = None) -> Results:
    """Export a fold's network, or what became of it, run it in the twin, count its hits."""
    forced: Results = {} if cell.fraction_bits is None else {"fraction_bits": cell.fraction_bits}
    bits: Results = {"weight_bits": cell.weight_bits, "te_bits": cell.te_bits}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "net.net"
        report = to_netx(tuned or fold.net, path, calibration=fold.train.x, **bits, **forced)
        trace = simulate(read_netx(path), fold.test.x.numpy())
    return {
        "hits": int((trace.predictions == fold.test.y.numpy()).sum()),
        "saturations": trace.saturations,
        "fraction_bits": [layer.fraction_bits for layer in report.layers],
        "proven": report.proven,
    }


def count_tuned(fold: Fold, bits: tuple[int, int], recipe: Recipe) -> Results:
    """The same of a network that was fine-tuned with its integers in the forward pass."""
    aware = quantize(fold.net, fold.train.x, weight_bits=bits[0], te_bits=bits[1])
    folds.train_on(fold, aware, recipe, f"w{bits[0]}te{bits[1]}")
    return count(fold, Cell(*bits, None), aware)


def float_tuned(fold: Fold, recipe: Recipe) -> int:
    """Hits of the float network after the same fine-tuning: what of its gain is not the bits'."""
    net = Network(**{**fold.net.config, "dropout": 0.0})
    net.load_state_dict(fold.net.state_dict())
    folds.train_on(fold, net, recipe, "float")
    return round(evaluate(net, fold.test) * len(fold.test))


class Record:
    """The results so far, in a file that is always whole."""

    def __init__(self, path: Path):
        self.path = path
        self.content: Results = {"tuning": asdict(TUNING), "seeds": {}}
        if path.exists():
            self.content = json.loads(path.read_text())
            if self.content["tuning"] != asdict(TUNING):
                raise typer.BadParameter(
                    f"{path}: expected results of {asdict(TUNING)}, found "
                    f"{self.content['tuning']}; choose another --out or delete the file"
                )

    def of(self, seed: int) -> Results:
        """What is known of a seed."""
        found: Results = self.content["seeds"].setdefault(str(seed), {"cells": {}, "tuned": {}})
        return found

    def save(self) -> None:
        """Write everything."""
        with atomic_file(self.path) as draft:
            draft.write_text(json.dumps(self.content, indent=1) + "\n")


def run_seed(seed: int, out: Path, record: Record) -> None:
    """Train a seed's network, or take it as it is, and fill in what is missing about it."""
    found = record.of(seed)
    cells = [cell for cell in CELLS if cell.key not in found["cells"]]
    bits = [bits for bits in TUNED_BITS if Cell(*bits, None).key not in found["tuned"]]
    if not cells and not bits and "float_tuned" in found:
        return
    fold = folds.train(seed, out)
    found["samples"] = len(fold.test)
    found["float"] = round(evaluate(fold.net, fold.test) * len(fold.test))
    for cell in cells:
        found["cells"][cell.key] = count(fold, cell)
    record.save()
    recipe = replace(TUNING, seed=seed)
    for pair in bits:
        found["tuned"][Cell(*pair, None).key] = count_tuned(fold, pair, recipe)
        record.save()
    found["float_tuned"] = float_tuned(fold, recipe)
    record.save()
    sys.stderr.write(f"seed {seed}: float {found['float']} of {found['samples']}\n")


def main(
    repeats: Annotated[int, typer.Option(min=1, help="Times all five folds are trained.")] = 3,
    out: Annotated[Path, typer.Option(help="Runs and results.")] = Path("runs/fidelity"),
    docs: Annotated[Path, typer.Option(help="Folder of page and pictures.")] = Path("docs"),
) -> None:
    """Train, export and test whatever has no result yet; write the page."""
    keep_freed_memory()
    out.mkdir(parents=True, exist_ok=True)
    record = Record(out / "results.json")
    record.content["machine"] = provenance.describe()
    record.content["command"] = shlex.join(
        ["python", "-m", "benchmarks.studies.fidelity", *sys.argv[1:]]
    )
    for seed in range(repeats * folds.FOLDS):
        run_seed(seed, out, record)
    study = fidelity_page.Study(record.content, repeats)
    fidelity_page.write(study, docs)
    sys.stdout.write(study.verdicts() + "\n")


if __name__ == "__main__":
    typer.run(main)
