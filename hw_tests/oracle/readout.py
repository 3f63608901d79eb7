"""The oracle's readout: logits[c] = Σ_t ( Σ_n W[c][n]·s[n][t] + bias[c] )."""

from hw_tests.oracle.arithmetic import Matrix, Vector, accumulate


def readout(weight: Matrix, inputs: Matrix, bias: Vector) -> list[int]:
    """Sum weighted inputs and bias of each class over one sample, asserting 32 bits throughout."""
    logits = [0] * len(weight)
    for c, (row, offset) in enumerate(zip(weight, bias, strict=True)):
        for k in range(len(inputs[0])):
            logits[c] += accumulate(row, inputs, k) + offset
            assert abs(logits[c]) < 2**31, f"logit {logits[c]} leaves 32 bits at step {k}"
    return logits
