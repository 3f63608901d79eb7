"""``python -m training.tests.kernels.interpreted IN OUT``: the GPU kernel in Triton's interpreter.

A process of its own, because Triton decides when it is imported whether to interpret. IN holds
the cases by name, OUT the spikes and gradients of each.
"""

from __future__ import annotations

import os
import sys

os.environ["TRITON_INTERPRET"] = "1"

import numpy as np
import torch
import triton.language as tl
from triton.runtime import interpreter

from training import functional
from training.tests import test_decays
from training.tests.kernels.test_fused import run


def complete(builder: type) -> None:
    """Add the types that Triton 2's interpreter lacks and its compiler has."""
    missing = {
        "get_int8_ty": lambda self: tl.int8,
        "get_int32_ty": lambda self: tl.int32,
        "get_double_ty": lambda self: tl.float64,
        "get_fp64": lambda self, value: interpreter.TensorHandle(
            np.array([value], np.float64), tl.float64
        ),
    }
    for name, method in missing.items():
        if not hasattr(builder, name):
            setattr(builder, name, method)


class Triton:
    """The kernel through the public function, with the signature of the back ends."""

    @staticmethod
    def celif(current, te, p, width, bias):
        return functional.celif(
            current, te, **p._asdict(), width=width, bias=bias, backend="triton"
        )


if __name__ == "__main__":
    if hasattr(interpreter, "Builder"):  # Triton 3's interpreter has another, which lacks nothing
        complete(interpreter.Builder)
    cases = torch.load(sys.argv[1], weights_only=True)
    results = {
        name: tuple(run(Triton, *given) if len(given) == 2 else test_decays.run("triton", *given))
        for name, given in cases.items()
    }
    torch.save(results, sys.argv[2])
