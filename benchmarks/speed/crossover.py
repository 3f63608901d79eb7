"""``python -m benchmarks.speed.crossover``: from which firing rate a product is the faster.

Compares products with spikes as sums of rows (:mod:`training.kernels.spike_products`) and as
torch's matrix products, on one thread, for a tile of 16 samples of 784 steps. The fastest of many
repetitions counts, by the clock on the wall: on a busy machine some of them go undisturbed.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import torch

from celif.experiments.machinery.budget import one_thread
from training.kernels import spike_products
from training.kernels.pool import keep_freed_memory
from training.kernels.scans import SPIKED, row_sums
from training.kernels.tiles import GROUPS
from training.support import avx512

SIZES = ((64, 256), (256, 256), (64, 136), (136, 136), (152, 152), (88, 88))
RATES = (0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5)
_ROWS, _REPETITIONS = 16 * 784, 30


def _fastest(run: Callable[[], object]) -> float:
    found = float("inf")
    for _ in range(_REPETITIONS):
        began = time.perf_counter()
        run()
        found = min(found, time.perf_counter() - began)
    return found


def measure(inputs: int, neurons: int, rate: float) -> tuple[float, float]:
    """Return the time of the sums of rows by that of the product, forward and for the gradient."""
    torch.manual_seed(0)
    weight, grad = torch.randn(inputs, neurons), torch.randn(_ROWS, neurons)
    spikes = (torch.rand(_ROWS, inputs) < rate).float()
    flags = (spikes.numpy() * SPIKED).astype(np.uint8)
    out, by_weight = torch.empty(_ROWS, neurons), torch.zeros(neurons, inputs)
    blocks = row_sums.packed(weight.numpy())
    sums, one = np.zeros((GROUPS, *blocks.shape), np.float32), np.float32(1)
    by_group = (x.reshape(GROUPS, -1, x.shape[1]) for x in (flags, grad.numpy()))
    grouped, received = by_group
    forward = (
        lambda: spike_products.product(flags, one, blocks, out.numpy()),
        lambda: torch.mm(spikes, weight, out=out),
    )
    backward = (
        lambda: spike_products.add_outer(grouped, received, sums, neurons),
        lambda: by_weight.addmm_(grad.t(), spikes),
    )
    added, multiplied = zip(*(map(_fastest, pair) for pair in (forward, backward)), strict=True)
    return added[0] / multiplied[0], added[1] / multiplied[1]


def main() -> None:
    """Print a row for every weight and firing rate."""
    keep_freed_memory()
    print("sums of rows by the product:  weight  rate  forward  gradient")
    with one_thread(), avx512.products(torch.device("cpu")):
        for inputs, neurons in SIZES:
            for rate in RATES:
                forward, backward = measure(inputs, neurons, rate)
                print(f"{inputs:4} × {neurons:<4} {rate:5.2f} {forward:8.2f} {backward:8.2f}")


if __name__ == "__main__":
    main()
