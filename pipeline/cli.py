"""The ``celif`` command.

Exit codes: 0 all is well, 1 a difference or a missed promise, 2 bad input or setup, 3 the run
failed, 4 incomplete; :mod:`pipeline.exits` has the whole table. Tables and progress go to
standard error; ``--json`` prints one JSON document to standard output.
"""

from __future__ import annotations

import json
import os
import sys
from importlib import metadata
from pathlib import Path
from typing import Annotated, Any, Literal

# Two pools of threads, torch's and numba's, take turns; a waiting one must not spin.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

import typer

from pipeline import console, exits
from training import tasks

app = typer.Typer(
    epilog=exits.EPILOG,
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


def _show_version(wanted: bool) -> None:
    if wanted:
        sys.stdout.write(f"celif {version()}\n")
        raise typer.Exit


def version() -> str:
    """Version of what is installed; unknown where celif is only a folder on the path."""
    try:
        return metadata.version("celif-lava")
    except metadata.PackageNotFoundError:
        return "unknown"


@app.callback()
def options(
    show_version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    """From a CE-LIF network in PyTorch to Intel's Loihi, through Lava."""


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
    console.say(f"Page: {outcome.page}   network: {outcome.network}")
    for failure in outcome.failures:
        console.fail(f"missed: {failure}")
    if outcome.failures:
        raise typer.Exit(exits.DIFFERENCE)


@app.command()
def train(
    task: Annotated[str, typer.Option(help=f"What to learn: {', '.join(tasks.NAMES)}.")] = "digits",
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Folder of the run; default runs/TASK.")
    ] = None,
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
    out = Path("runs", task) if out is None else out
    recipe = trainer.Recipe(epochs=epochs, batch=batch, lr=lr, seed=seed)
    net = trainer.start(loaded, widths, recipe, dropout=dropout)
    if not resume and (out / trainer.LAST).exists():
        raise FileExistsError(f"{out}: holds a run already; add --resume or choose another --out")
    with console.training_bar() as bar:
        training = trainer.Trainer(net, loaded, recipe, out, bar)
        if resume and training.resume():
            console.say(f"resumed after epoch {len(training.history)}")
        net = training.run()
    result = {
        "parameters": net.num_parameters,
        "checkpoint": str(out / trainer.LAST),
        **training.history[-1],
    }
    console.say(
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
    from export import read_netx
    from pipeline.samples import run_twin
    from training import checkpoint, trainer

    test = tasks.load(task, data).test
    test = tasks.Split(test.x[:samples], test.y[:samples])
    result: dict[str, Any] = {"kind": "float", "samples": len(test)}
    if model.suffix == ".pt":
        result["accuracy"] = trainer.evaluate(checkpoint.load(model), test)
        counted = ""
    else:
        trace = run_twin(read_netx(model), test.x.numpy())
        hits = trace.predictions == test.y.numpy()
        result |= {"kind": "fixed", "accuracy": float(hits.mean())}
        result["saturations"] = trace.saturations
        counted = f", {sum(trace.saturations or ()):,} saturations"
    console.say(
        f"{model}: {result['kind']}, {len(test)} test samples, "
        f"accuracy {result['accuracy']:.2%}{counted}"
    )
    _print(result, as_json)


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

    net = checkpoint.load(source)
    task = tasks.load(checkpoint.read(source).get("task", "digits"), data)
    report = to_netx(
        net,
        output,
        calibration=task.train.x,
        weight_bits=weight_bits,
        te_bits=te_bits,
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
    target: Annotated[
        str | None,
        typer.Option(help="Compare only these, of torch,twin,lava,loihi2; default all but loihi2."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Climb the parity ladder and measure the gap to the float network."""
    from pipeline import samples as inputs
    from pipeline.verify import verify as climb
    from training import checkpoint

    x, y = inputs.load(task, data, input, samples)
    source = None if against is None else checkpoint.load(against)
    targets = [n.strip() for n in (target or "torch,twin,lava").split(",") if n.strip()]
    console.notice(f"Comparing {min(lava_samples, len(x))} samples; in Lava this takes a while.")
    result = climb(net, source, x, y, targets=targets, lava_samples=lava_samples)
    console.show_verification(result)
    _print(result.to_dict(), as_json)
    differs = any(rung.verdict == "DIFFERS" for rung in result.rungs)
    if differs or (result.gap is not None and not result.gap.same_source):
        raise typer.Exit(exits.DIFFERENCE)
    # Who names targets leaves the others out on purpose; what was asked for must have run.
    if not result.equal or not (target or result.complete):
        console.warn("incomplete: no difference was found, but a rung that applies did not run")
        raise typer.Exit(exits.INCOMPLETE)


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
    from pipeline import samples as inputs

    x, y = inputs.load(task, data, input, samples)
    trace = inputs.run_twin(read_netx(net), x, trace=output is not None)
    inputs.save_trace(trace, output)
    _print(inputs.summary(trace, y), as_json)


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
    from lava_procs import run as run_lava
    from pipeline import samples as inputs

    x, y = inputs.load(task, data, input, samples)
    with console.progress_bar("steps") as report:
        trace = run_lava(net, x, precision=precision, timeout=timeout, progress=report)
    inputs.save_trace(trace, output)
    _print(inputs.summary(trace, y), as_json)


def main() -> None:
    """Run a command and exit with its code; what the user can mend ends in one line."""
    try:
        app()
    except Exception as error:
        sys.exit(exits.explain(error))


if __name__ == "__main__":
    main()
