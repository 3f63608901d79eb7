"""``celif finetune``: quantisation-aware training from a float checkpoint."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from celif import console
from celif.commands.format_options import (
    FractionBits,
    InputBits,
    PerChannel,
    Rule,
    TeBits,
    TeEncoding,
    TeHold,
    WeightBits,
    formats,
)
from celif.commands.options import Data, Json, Labels, TaskOption, answer

EXAMPLES = (
    "celif finetune runs/digits/best.safetensors --out runs/digits-4bit",
    "celif finetune runs/digits/best.safetensors --out runs/small --weight-bits 3 --epochs 20",
)


def finetune(
    source: Annotated[
        Path, typer.Argument(metavar="CHECKPOINT", help="Float checkpoint that celif train wrote.")
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder to write the run to.")],
    weight_bits: WeightBits = "4",
    te_bits: TeBits = "4",
    per_channel: PerChannel = False,
    rule: Rule = "best",
    te_encoding: TeEncoding = None,
    te_hold: TeHold = 1,
    input_bits: InputBits = 8,
    fraction_bits: FractionBits = None,
    epochs: Annotated[
        int, typer.Option(metavar="N", min=1, help="Passes over the training samples.")
    ] = 10,
    batch: Annotated[int, typer.Option(metavar="N", min=1, help="Samples per step.")] = 64,
    lr: Annotated[float, typer.Option(help="Initial learning rate; it falls to 0.")] = 1e-3,
    seed: Annotated[int, typer.Option(help="Seed of the order of the samples.")] = 0,
    task: TaskOption = None,
    data: Data = None,
    labels: Labels = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue from the last checkpoint in --out.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Continue a float checkpoint with quantisation-aware training.

    The forward pass computes with the integers of the exported file. Their formats are chosen once,
    as celif export chooses them, and celif export keeps them.
    """
    from celif import outputs
    from celif.commands.train_job import told_how_to_continue
    from celif.inputs.user_tasks import load_task
    from export import quantize
    from training import checkpoint, tasks, trainer
    from training.kernels import pool
    from training.trainer.recipe import Recipe

    if not resume and (out / trainer.LAST).exists():
        raise FileExistsError(f"{out}: holds a run already; add --resume or choose another --out")
    files = {"CHECKPOINT": source, "--data": data, "--labels": labels}
    outputs.require_run_folder(out, files)
    pool.keep_freed_memory()
    net = checkpoint.load(source)
    learnt = load_task(task or checkpoint.read(source).get("task"), data, labels)
    tasks.require_classes(learnt.objective, str(source))
    chosen = formats(
        weight_bits=weight_bits,
        te_bits=te_bits,
        per_channel=per_channel,
        rule=rule,
        te_encoding=te_encoding,
        te_hold=te_hold,
        input_bits=input_bits,
        fraction_bits=fraction_bits,
    )
    aware = quantize(net, calibration=learnt.train.x, **chosen)
    before = {
        "float": trainer.evaluate(net, learnt.validation),
        "without": trainer.evaluate(aware, learnt.validation),
    }
    recipe = Recipe(epochs=epochs, batch=batch, lr=lr, warmup=0.0, seed=seed)
    with console.training_bar() as bar:
        training = trainer.Trainer(aware, learnt, recipe, out, bar)
        if resume and training.resume():
            console.note(f"resumed after epoch {len(training.history)}")
        with told_how_to_continue(f"celif finetune {source} --out {out} --resume"):
            training.run()
    validation = training.history[-1]["validation"]
    console.say(
        f"validation: float {before['float']:.2%}, in integers {before['without']:.2%} without "
        f"fine-tuning and {validation:.2%} with it: {out / trainer.LAST}"
    )
    result = {
        "checkpoint": str(out / trainer.LAST),
        "validation_float": before["float"],
        "validation_without": before["without"],
        "validation": validation,
        "recipe": asdict(recipe),
    }
    answer(result, as_json)
