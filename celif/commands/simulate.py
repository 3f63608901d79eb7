"""``celif simulate``: a netx file in the batched integer simulator."""

from __future__ import annotations

from celif.commands.options import (
    Data,
    Input,
    Json,
    Labels,
    Net,
    Output,
    Samples,
    TaskOption,
    answer,
)

EXAMPLES = (
    "celif simulate digits.net --task digits",
    "celif simulate digits.net --input x.npy --output trace.npz",
)


def simulate(
    net: Net,
    task: TaskOption = None,
    data: Data = None,
    input: Input = None,
    labels: Labels = None,
    samples: Samples = None,
    output: Output = None,
    as_json: Json = False,
) -> None:
    """Run a netx file in the batched integer simulator.

    It computes the same integers as Lava, some thousand times faster.
    """
    from celif import outputs
    from celif.inputs import samples as inputs
    from export import read_netx

    files = {"NET": net, "--input": input, "--data": data, "--labels": labels}
    outputs.require_output(output, outputs.TRACE, files)
    fixed = read_netx(net)
    x, y = inputs.load(task, data, input, samples, labels, fixed)
    trace = inputs.run_twin(fixed, x, trace=output is not None)
    inputs.save_trace(trace, output)
    answer(inputs.summary(trace, y), as_json)
