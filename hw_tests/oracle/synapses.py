"""The oracle's synapses: which inputs reach which neurons, and how late spikes leave.

Plain Python integers, like the rest of the oracle, and no code of what it judges.
"""

from collections.abc import Sequence

from hw_tests.oracle.arithmetic import Matrix, Vector


def convolution(
    kernels: Sequence[Sequence[Matrix]],
    shape: Vector,
    stride: Vector,
    padding: Vector,
    dilation: Vector,
    groups: int,
) -> list[list[int]]:
    """Weights [neuron][input] of kernels [out][in][row][column] over images.

    Inputs, channels × rows × columns of `shape`, and neurons are numbered channel by channel, row
    by row. Pairs are (row, column).
    """
    channels, height, width = shape
    size = len(kernels[0][0]), len(kernels[0][0][0])
    rows, columns = (
        (extent + 2 * pad - gap * (k - 1) - 1) // step + 1
        for extent, pad, gap, k, step in zip(
            (height, width), padding, dilation, size, stride, strict=True
        )
    )
    weight = []
    for out, kernel in enumerate(kernels):
        first = out // (len(kernels) // groups) * (channels // groups)
        for y in range(rows):
            for x in range(columns):
                neuron = [0] * (channels * height * width)
                for c, plane in enumerate(kernel):
                    for i, line in enumerate(plane):
                        for j, w in enumerate(line):
                            row = y * stride[0] - padding[0] + i * dilation[0]
                            column = x * stride[1] - padding[1] + j * dilation[1]
                            if 0 <= row < height and 0 <= column < width:
                                neuron[((first + c) * height + row) * width + column] += w
                weight.append(neuron)
    return weight


def late(spikes: Matrix, steps: Vector) -> list[list[int]]:
    """Spikes [neuron][step] of which each neuron's come `steps` later; what is too late is lost."""
    return [
        ([0] * delay + list(train))[: len(train)]
        for train, delay in zip(spikes, steps, strict=True)
    ]
