"""The ``celif`` command.

Exit codes: 0 all is well, 1 a comparison found a difference or a promise was missed, 2 bad input.
Tables and progress go to standard error; ``--json`` prints one JSON document to standard output.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Annotated, Any, Literal

# Two pools of threads, torch's and numba's, take turns; a waiting one must not spin.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

import numpy as np
import typer

from pipeline import console
from training import tasks

app = typer.Typer(
    help="From a CE-LIF network in PyTorch to Intel's Loihi, through Lava.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
Data = Annotated[Path | None, typer.Option(help="Folder of MNIST, in torchvision's layout.")]
Net = Annotated[Path, typer.Argument(help="Exported netx file.")]
Samples = Annotated[int | None, typer.Option(min=1, help="Use only the first samples.")]
Input = Annotated[
    Path | None, typer.Option(help="Samples as .npy, (batch, channel, time), in place of --task.")
]
TaskOption = Annotated[
    str | None, typer.Option(help=f"Take the test samples of a task: {', '.join(tasks.NAMES)}.")
]
OutFolder = Annotated[Path, typer.Option("--out", "-o", help="Folder for what is made.")]
Output = Annotated[Path | None, typer.Option("--output", "-o", help="Write the trace as .npz.")]


def _print(result: dict[str, Any], as_json: bool) -> None:
    if as_json:
        sys.stdout.write(json.dumps(result, indent=1) + "\n")


def _samples(
    task: str | None, data: Path | None, file: Path | None, count: int | None
) -> tuple[np.ndarray, np.ndarray | None]:
    """Inputs in the network's order, and labels where they are known."""
    if (task is None) == (file is None):
        raise ValueError("samples: expected either --task or --input, got both or neither")
    if file is not None:
        if not file.is_file():
            raise FileNotFoundError(f"--input {file}: no such file")
        return np.load(file, allow_pickle=False)[:count], None
    test = tasks.load(task or "", data).test
    return test.x.numpy()[:count], test.y.numpy()[:count]


def _save_trace(trace: Any, path: Path | None) -> None:
    if path is None:
        return
    from training.files import atomic_file

    arrays = {"logits": trace.logits}
    for name in ("spikes", "v", "theta"):
        for i, values in enumerate(getattr(trace, name) or ()):
            if values is not None:
                arrays[f"{name}/{i}"] = values
    with atomic_file(path) as draft, draft.open("wb") as f:
        np.savez_compressed(f, **arrays)


def _predictions(trace: Any, labels: np.ndarray | None) -> dict[str, Any]:
    result: dict[str, Any] = {
        "samples": len(trace.logits),
        "predictions": trace.predictions.tolist(),
    }
    if labels is not None:
        result["accuracy"] = float((trace.predictions == labels).mean())
    accuracy = f", accuracy {result['accuracy']:.2%}" if labels is not None else ""
    console.console.print(f"{result['samples']} samples{accuracy}")
    return result


@app.command()
def demo(
    out: OutFolder = Path("demo"),
    quick: Annotated[bool, typer.Option(help="Train for a moment; judge no accuracy.")] = False,
    seed: int = 0,
    as_json: Json = False,
) -> None:
    """The whole path on data that comes along: train, export, run in Lava, verify, report."""
    from pipeline import demo as stages

    outcome = stages.run(out, quick=quick, seed=seed)
    _print(outcome.to_dict(), as_json)
    console.console.print(f"Page: {outcome.page}   network: {outcome.network}")
    for failure in outcome.failures:
        console.console.print(f"[bold red]missed[/] {failure}")
    if outcome.failures:
        raise typer.Exit(1)


@app.command()
def train(
    task: Annotated[str, typer.Option(help=f"What to learn: {', '.join(tasks.NAMES)}.")] = "digits",
    out: OutFolder = Path("runs/digits"),
    hidden: Annotated[str, typer.Option(help="Widths of the hidden layers.")] = "64,88,88",
    epochs: Annotated[int, typer.Option(min=1)] = 100,
    batch: Annotated[int, typer.Option(min=1)] = 64,
    lr: Annotated[float, typer.Option(help="Peak learning rate.")] = 5e-3,
    dropout: Annotated[float, typer.Option(help="On inputs and first spikes.")] = 0.1,
    seed: int = 0,
    data: Data = None,
    resume: Annotated[bool, typer.Option(help="Go on from the run's last checkpoint.")] = False,
    as_json: Json = False,
) -> None:
    """Train a network; checkpoints and metrics go to the run's folder."""
    from training import memory, trainer

    try:
        widths = tuple(int(n) for n in hidden.split(","))
    except ValueError:
        raise ValueError(f"--hidden: expected numbers such as 64,88,88, got {hidden!r}") from None
    memory.keep_freed_memory()
    loaded = tasks.load(task, data)
    recipe = trainer.Recipe(epochs=epochs, batch=batch, lr=lr, seed=seed)
    net = trainer.start(loaded, widths, recipe, dropout=dropout)
    if not resume and (out / trainer.LAST).exists():
        raise FileExistsError(f"{out}: holds a run already; add --resume or choose another --out")
    with console.training_bar() as bar:
        training = trainer.Trainer(net, loaded, recipe, out, bar)
        if resume and training.resume():
            console.console.print(f"resumed after epoch {len(training.history)}")
        net = training.run()
    result = {
        "parameters": net.num_parameters,
        "checkpoint": str(out / trainer.LAST),
        **training.history[-1],
    }
    console.console.print(
        f"{net.num_parameters:,} parameters, validation {result['validation']:.2%}: "
        f"{result['checkpoint']}"
    )
    _print(result, as_json)


@app.command()
def evaluate(
    model: Annotated[Path, typer.Argument(help="Checkpoint or exported netx file.")],
    task: Annotated[str, typer.Option(help=f"One of {', '.join(tasks.NAMES)}.")] = "digits",
    data: Data = None,
    samples: Samples = None,
    as_json: Json = False,
) -> None:
    """Test accuracy: of a checkpoint in float, of a netx file in the integer twin."""
    from export import read_netx, simulate
    from training import checkpoint, trainer

    test = tasks.load(task, data).test
    test = tasks.Split(test.x[:samples], test.y[:samples])
    if model.suffix == ".pt":
        accuracy = trainer.evaluate(checkpoint.load(model), test)
        kind = "float"
    else:
        fixed = read_netx(model)
        predictions = simulate(fixed, fixed.encode(test.x.numpy(), permuted=True)).predictions
        accuracy, kind = float((predictions == test.y.numpy()).mean()), "fixed"
    console.console.print(f"{model}: {kind}, {len(test)} test samples, accuracy {accuracy:.2%}")
    _print({"kind": kind, "samples": len(test), "accuracy": accuracy}, as_json)


@app.command()
def export(
    source: Annotated[Path, typer.Argument(metavar="CHECKPOINT", help="From celif train.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="netx file to write.")],
    weight_bits: Annotated[int, typer.Option(min=2, max=8)] = 8,
    te_bits: Annotated[int, typer.Option(min=2, max=16)] = 8,
    data: Data = None,
    as_json: Json = False,
) -> None:
    """Export a checkpoint to netx; the training samples of its task calibrate the formats."""
    from export import to_netx
    from training import checkpoint

    content = checkpoint.read(source)
    task = tasks.load(content.get("task", "digits"), data)
    report = to_netx(
        checkpoint.build(content),
        output,
        calibration=task.train.x,
        weight_bits=weight_bits,
        te_bits=te_bits,
        permutation=task.permutation,
    )
    console.show_export(report)
    _print(report.to_dict(), as_json)


@app.command()
def inspect(net: Net, as_json: Json = False) -> None:
    """Show what a netx file holds, after checking all of it."""
    from export import read_netx
    from pipeline.inspection import describe, show

    description = describe(read_netx(net))
    show(description)
    _print(description, as_json)


@app.command()
def verify(
    net: Net,
    against: Annotated[Path | None, typer.Option(help="Checkpoint it was exported from.")] = None,
    task: TaskOption = None,
    data: Data = None,
    input: Input = None,
    samples: Samples = None,
    lava_samples: Annotated[int, typer.Option(min=1, help="Samples that climb the ladder.")] = 4,
    target: Annotated[str, typer.Option(help="Back ends, of torch,twin,lava,loihi2.")] = (
        "torch,twin,lava"
    ),
    as_json: Json = False,
) -> None:
    """Climb the parity ladder and measure the gap to the float network."""
    from pipeline.verify import verify as climb
    from training import checkpoint

    x, y = _samples(task, data, input, samples)
    source = None if against is None else checkpoint.load(against)
    targets = [name.strip() for name in target.split(",") if name.strip()]
    result = climb(net, source, x, y, targets=targets, lava_samples=lava_samples)
    console.show_verification(result)
    _print(result.to_dict(), as_json)
    if not result.equal or (result.gap is not None and not result.gap.same_source):
        raise typer.Exit(1)


@app.command()
def simulate(
    net: Net,
    task: TaskOption = None,
    data: Data = None,
    input: Input = None,
    samples: Samples = None,
    output: Output = None,
    as_json: Json = False,
) -> None:
    """Run a netx file in the batched integer twin."""
    from export import read_netx
    from export import simulate as run_twin

    x, y = _samples(task, data, input, samples)
    fixed = read_netx(net)
    trace = run_twin(fixed, fixed.encode(x, permuted=task is not None), trace=output is not None)
    _save_trace(trace, output)
    _print(_predictions(trace, y), as_json)


@app.command()
def run(
    net: Net,
    task: TaskOption = None,
    data: Data = None,
    input: Input = None,
    samples: Samples = 4,
    precision: Literal["fixed", "float"] = "fixed",
    timeout: Annotated[float | None, typer.Option(min=0, help="Seconds; default by size.")] = None,
    output: Output = None,
    as_json: Json = False,
) -> None:
    """Run a netx file in Lava on this CPU."""
    from export import read_netx
    from lava_procs import run as run_lava

    x, y = _samples(task, data, input, samples)
    fixed = read_netx(net)
    graded = fixed.encode(x, permuted=task is not None)
    trace = run_lava(net, graded, precision=precision, timeout=timeout)
    _save_trace(trace, output)
    _print(_predictions(trace, y), as_json)


def main() -> None:
    """Run a command; bad input ends in one line and exit code 2, not in a traceback."""
    try:
        app()
    except (ValueError, FileNotFoundError, FileExistsError, RuntimeError, TimeoutError) as error:
        console.console.print(f"[bold red]celif:[/] {error}", soft_wrap=True, markup=True)
        sys.exit(2)


if __name__ == "__main__":
    main()
