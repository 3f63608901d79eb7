"""A training step beside SLAYER's ALIF and beside its own matrix products, with both targets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks import peak, workloads
from benchmarks.timing import Case, interleave
from benchmarks.workloads import Shape

ALIF_TARGET, PRODUCTS_TARGET = 10.0, 2.0
"""At least so many times as fast as ALIF; at most so many times the products' time."""


def measure(
    shape: Shape,
    repetitions: int,
    alif_repetitions: int,
    report: Callable[[str], None] = lambda line: None,
) -> dict[str, Any]:
    """Times and ratios of one interleaved run; ratios are of medians."""
    report("building the networks")
    rates = workloads.firing_rates(shape)
    celif = Case("celif", workloads.celif_step(shape), repetitions)
    products = Case("products", workloads.products(shape), repetitions)
    # SLAYER walks through time in Python: seconds a step, and steadier for it.
    alif = Case("alif", workloads.alif_step(shape), alif_repetitions, warm_up=1)
    interleave([celif, products, alif], report)
    faster, over = alif.median / celif.median, celif.median / products.median
    return {
        "parameters": shape.network().num_parameters,
        "celif": celif.to_dict(),
        "products": products.to_dict(),
        "alif": alif.to_dict(),
        "firing_rates": rates,
        "times_as_fast_as_alif": faster,
        "times_its_products": over,
        "fastest_times_as_fast_as_alif": alif.fastest / celif.fastest,
        "fastest_times_its_products": celif.fastest / products.fastest,
        "passed": {
            "alif": faster >= ALIF_TARGET,
            "products": over <= PRODUCTS_TARGET,
        },
    }


def memory(quick: bool, report: Callable[[str], None] = lambda line: None) -> dict[str, Any]:
    """Peak memory of both networks' steps."""
    found = {}
    for workload in ("celif", "alif"):
        report(f"peak memory of {workload}")
        found[workload] = peak.measure(workload, quick)
    return found
