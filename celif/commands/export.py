"""``celif export``: a trained network becomes a netx file of integers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

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
    options_given,
)
from celif.commands.options import Calibration, Data, Json, Labels, Network, TaskOption, answer

EXAMPLES = (
    "celif export runs/digits/best.safetensors -o digits.net",
    "celif export runs/digits/best.safetensors -o small.net --weight-bits 4 --te-bits 4",
    "celif export mine.safetensors -o mine.net --network mine:build --calibration x.npy",
)


def export(
    context: typer.Context,
    source: Annotated[
        Path,
        typer.Argument(
            metavar="CHECKPOINT",
            help="Checkpoint of celif train, finetune, a Trainer or celif.save.",
        ),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="The netx file to write.")],
    weight_bits: WeightBits = "8",
    te_bits: TeBits = "8",
    per_channel: PerChannel = False,
    rule: Rule = "best",
    te_encoding: TeEncoding = None,
    te_hold: TeHold = 1,
    input_bits: InputBits = 8,
    fraction_bits: FractionBits = None,
    task: TaskOption = None,
    data: Data = None,
    labels: Labels = None,
    calibration: Calibration = None,
    network: Network = None,
    as_json: Json = False,
) -> None:
    """Export a checkpoint to a netx file.

    The training samples of its task, or those of --calibration, calibrate the integer formats.
    A checkpoint of celif finetune already has its formats and is exported in them.
    """
    from celif import outputs
    from celif.inputs import user_tasks as own_data
    from celif.inputs.samples import Model, read_checkpoint, require_same_task, task_of
    from celif.views.export_table import show_export
    from export import QuantizedNetwork, to_netx
    from export.model.task_label import TaskLabel

    files = {
        "CHECKPOINT": source,
        "--data": data,
        "--labels": labels,
        "--calibration": calibration,
    }
    outputs.require_output(output, outputs.NETX, files)
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
    net, about = read_checkpoint(source, network)
    label = TaskLabel(task) if task is not None else task_of(about)
    if task is not None:
        own_data.require_name(str(source), task_of(about), task)
    if isinstance(net, QuantizedNetwork):
        if given := options_given(context):
            raise ValueError(
                f"{source}: expected no format options, because celif finetune has fixed the "
                f"formats, got {', '.join(given)}; leave them out"
            )
        report = to_netx(net, output, task=label)
    elif calibration is not None:
        x = own_data.read_calibration(calibration)
        report = to_netx(net, output, calibration=x, task=label, **chosen)
        own_data.compare_calibration(report.encoding, label, data, labels)
    else:
        learnt = own_data.load_task(None if label is None else label.name, data, labels)
        require_same_task(Model(str(source), task_of(about), net=net), learnt)
        report = to_netx(net, output, calibration=learnt.train.x, task=learnt, **chosen)
    show_export(report)
    answer(report.to_dict(), as_json)
