"""``python -m benchmarks.studies.digits``: accuracy on digits over seeds; resumes where it stopped.

The training of ``celif demo`` over several seeds: accuracy in float, and as the integer twin at
8-bit and at 4-bit weights and TE, with the predictions that change and what ``verify`` says of
them. Results go to ``runs/experiments/digits.json`` as they come: a seed that is
there is not run again, and a training run that was begun continues from its checkpoint.
"""

from __future__ import annotations

import json
import os
import shlex
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Any

# Two pools of threads, torch's and numba's, take turns; a waiting one must not spin.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

import typer

from benchmarks import provenance
from celif.demo import DROPOUT, HIDDEN, RECIPE
from celif.verification.verify import verify
from export import to_netx
from training import tasks
from training.kernels.pool import keep_freed_memory
from training.support.atomic import atomic_file
from training.trainer.loop import Progress, Recipe, Trainer, evaluate, start

BITS = ((8, 8), (4, 4))
"""Bits of weight and TE mantissas to export with."""

Results = dict[str, Any]


def _column(bits: tuple[int, int]) -> str:
    return f"w{bits[0]}te{bits[1]}"


def _say(line: str) -> None:
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


def _reporter(seed: int) -> Callable[[Progress], None]:
    def report(progress: Progress) -> None:
        if progress.validation is not None and progress.epoch % 10 == 0:
            _say(
                f"seed {seed}: epoch {progress.epoch} of {progress.epochs}, "
                f"loss {progress.loss:.3f}, validation {progress.validation:.2%}"
            )

    return report


def run_seed(task: tasks.Task, recipe: Recipe, dropout: float, folder: Path) -> Results:
    """Train one seed, or finish training it, export it, and count what each arithmetic gets right.

    The network is that of the last epoch, so nothing is chosen by looking at accuracies.
    """
    net = start(task, HIDDEN, recipe, dropout=dropout)
    training = Trainer(net, task, recipe, folder, _reporter(recipe.seed))
    if training.resume():
        _say(f"seed {recipe.seed}: resumed after epoch {len(training.history)}")
    net = training.run()
    result: Results = {
        "seed": recipe.seed,
        "parameters": net.num_parameters,
        "training_seconds": round(sum(epoch["seconds"] for epoch in training.history), 1),
        "validation": training.history[-1]["validation"],
        "float": evaluate(net, task.test),
    }
    for bits in BITS:
        path = folder / f"{_column(bits)}.net"
        report = to_netx(net, path, calibration=task.train.x, weight_bits=bits[0], te_bits=bits[1])
        verified = verify(path, net, task.test.x, task.test.y, targets=("twin",))
        gap = verified.gap
        assert gap is not None  # the float network was given
        result[_column(bits)] = {
            "accuracy": gap.accuracy_fixed,
            "changed": round((1 - gap.prediction_agreement) * gap.samples),
            "alarms": [str(alarm) for alarm in verified.alarms],
            "saturations": [layer.saturations for layer in gap.layers],
            "weight_moved": max(layer.weight_error for layer in report.layers),
            "proven": report.proven,
            "fraction_bits": [layer.fraction_bits for layer in report.layers],
        }
    return result


def _accuracies(result: Results) -> list[float]:
    return [result["float"], *(result[_column(bits)]["accuracy"] for bits in BITS)]


def table(results: list[Results]) -> str:
    """Accuracy of every seed, then mean and standard deviation, in Markdown."""
    headings = ["float", *(f"{w}-bit" for w, _ in BITS), *(f"changed, {w}-bit" for w, _ in BITS)]
    lines = ["| seed | " + " | ".join(headings) + " |", "|---|" + "---|" * len(headings)]
    rows = [_accuracies(result) for result in results]
    for result, row in zip(results, rows, strict=True):
        cells = [f"{a:.2%}" for a in row] + [str(result[_column(bits)]["changed"]) for bits in BITS]
        lines.append(f"| {result['seed']} | " + " | ".join(cells) + " |")
    cells = []
    for column in zip(*rows, strict=True):
        spread = f" ± {statistics.stdev(column) * 100:.2f}" if len(column) > 1 else ""
        cells.append(f"{statistics.mean(column) * 100:.2f}{spread} %")
    for bits in BITS:
        cells.append(f"{statistics.mean(result[_column(bits)]['changed'] for result in results):g}")
    lines.append("| **mean** | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _alarms(results: list[Results], bits: tuple[int, int]) -> str:
    lines = [
        f"- seed {result['seed']}: {alarm}"
        for result in results
        for alarm in result[_column(bits)]["alarms"]
    ]
    return "\n".join(lines) or "None."


def _moved(results: list[Results], bits: tuple[int, int]) -> float:
    return max(result[_column(bits)]["weight_moved"] for result in results)


def page(content: Results, results: list[Results], samples: int) -> str:
    """The results as a page for ``docs/``."""
    recipe = content["recipe"]
    minutes = sum(result["training_seconds"] for result in results) / 60
    return f"""# Sequential digits

Ours: scikit-learn's 8×8 digits, one pixel a step (T = 64), hidden layers {HIDDEN},
{results[0]["parameters"]:,} parameters, {recipe["epochs"]} epochs of batch {recipe["batch"]},
dropout {content["dropout"]:g}. Test accuracy on {samples} samples after the last epoch;
± is the standard deviation over seeds. One sample is {100 / samples:.2f} points. The other columns
are the integer twin with that many bits for weights and TE, and how many of the samples get
another class than in float.

{table(results)}

What `verify` warns of at 8 bits:

{_alarms(results, BITS[0])}

At 8 bits no weight moves by more than {_moved(results, BITS[0]):.4f}.
The twin is bit for bit what Lava's fixed-point models compute. Training took
{minutes:.1f} minutes in all.

Made by `{content["command"]}`, {content["machine"]["date"][:10]}, on:

    {provenance.in_words(content["machine"]).replace(chr(10), chr(10) + "    ")}
"""


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_file(path) as draft:
        draft.write_text(text)


def _load(path: Path, recipe: Recipe, dropout: float) -> Results:
    """What was found already; refused if it was found by another recipe."""
    without_seed = {name: value for name, value in asdict(recipe).items() if name != "seed"}
    ours = {"recipe": without_seed, "dropout": dropout, "hidden": list(HIDDEN)}
    if not path.exists():
        return {**ours, "seeds": {}}
    content: Results = json.loads(path.read_text())
    for name, value in ours.items():
        if content.get(name) != value:
            raise typer.BadParameter(
                f"{path}: expected results of {name} {value}, found {content.get(name)}; "
                "choose another --out or delete the folder"
            )
    return content


def main(
    seeds: Annotated[int, typer.Option(min=1, help="How many: 0, 1, 2, …")] = 5,
    epochs: Annotated[int, typer.Option(min=1)] = RECIPE.epochs,
    dropout: Annotated[float, typer.Option(help="On inputs and first spikes.")] = DROPOUT,
    out: Annotated[Path, typer.Option(help="Runs and results.")] = Path("runs/experiments"),
    docs: Annotated[Path, typer.Option(help="The page.")] = Path("docs/results-digits.md"),
) -> None:
    """Train, export and evaluate every seed that has no result yet."""
    keep_freed_memory()
    task, recipe = tasks.load("digits"), replace(RECIPE, epochs=epochs)
    record = out / "digits.json"
    content = _load(record, recipe, dropout)
    content["command"] = shlex.join(["python", "-m", "benchmarks.studies.digits", *sys.argv[1:]])
    for seed in range(seeds):
        if str(seed) in content["seeds"]:
            _say(f"seed {seed}: already in {record}")
            continue
        began = time.monotonic()
        seeded = replace(recipe, seed=seed)
        result = run_seed(task, seeded, dropout, out / f"digits-{seed}")
        content["seeds"][str(seed)] = result
        content["machine"] = provenance.describe()
        _write(record, json.dumps(content, indent=1) + "\n")
        _say(f"seed {seed}: {_accuracies(result)}, {time.monotonic() - began:.0f} s")
    results = [content["seeds"][str(seed)] for seed in range(seeds)]
    sys.stdout.write(table(results) + "\n")
    _write(docs, page(content, results, len(task.test)))


if __name__ == "__main__":
    typer.run(main)
