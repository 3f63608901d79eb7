"""``celif train`` and ``celif evaluate``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from pipeline import console
from pipeline.commands.options import Data, Json, Samples, answer
from training import tasks


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
    answer(result, as_json)


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
    answer(result, as_json)
