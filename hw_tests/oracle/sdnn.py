"""The oracle's sigma-delta layer, Lava's stock fixed-point SigmaDelta with ReLU.

A sample starts at σ = a = r = 0::

    σ ← σ + (acc « shift), in 32 bits
    d ← max(σ + (bias_mant « 12), 0) − a + r,  then a ← max(σ + (bias_mant « 12), 0)
    m ← d limited to ±(65535 « 6) if |d| ≥ vth « 12, else 0
    r ← d − m,  s ← m » 6 (rounding down)
"""

from typing import Any

from hw_tests.oracle.arithmetic import Matrix, Traces, Vector, accumulate


def sigma_delta_layer(
    weight: Matrix, inputs: Matrix, *, shift: int, vth: int, bias_mant: Vector, **_: object
) -> Traces:
    """Run a sigma-delta layer over one sample.

    Parameters
    ----------
    weight, inputs
        As in `hw_tests.oracle.celif.celif_layer`.
    shift : int
        Left shift of the weighted sum: 12 for spikes, 0 for messages.
    vth, bias_mant : int, [neuron]
        Threshold and biases, each before its shift by 12.

    Arguments about recurrence are ignored: these layers have none.

    Returns
    -------
    dict
        'v' (the sum σ) and 's' (the messages), each [neuron][step].
    """
    traces: Traces = {name: [[] for _ in weight] for name in ("v", "s")}
    largest = 65535 * 64
    for n, row in enumerate(weight):
        sigma, activation, left = 0, 0, 0
        for k in range(len(inputs[0])):
            sigma = (sigma + (accumulate(row, inputs, k) << shift) + 2**31) % 2**32 - 2**31
            before, activation = activation, max(sigma + bias_mant[n] * 4096, 0)
            change = activation - before + left
            sent = 0
            if abs(change) >= vth * 4096:
                sent = max(-largest, min(largest, change))
            left = change - sent
            traces["v"][n].append(sigma)
            traces["s"][n].append(sent // 64)
    return traces


def arguments(layer: Any) -> dict[str, Any]:
    """Return what `sigma_delta_layer` needs of a layer."""
    return {
        "shift": 12 - layer.input_exp,
        "vth": layer.vth,
        "bias_mant": layer.bias_mant.tolist(),
    }


run = sigma_delta_layer
