"""A training step compared with its own matrix products, at the paper's batch: fresh, and busy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks.speed import workloads
from benchmarks.speed.timing import Timed, interleave
from benchmarks.speed.training_step import at_work
from benchmarks.speed.workloads import Workload

TARGET = 1.5
"""Largest ratio to the time of the products."""


def measure(
    shape: Workload, repetitions: int, report: Callable[[str], None] = lambda line: None
) -> dict[str, Any]:
    """Times and ratios of one interleaved run; ratios are of medians.

    The products are the dense ones that autograd would perform, with buffers that exist already.
    """
    nets = {"fresh": shape.network(), "busy": shape.network(busy=True)}
    rates = {name: at_work(f"celif, {name}", net, shape) for name, net in nets.items()}
    cases = {
        name: Timed(f"celif, {name}", workloads.training_step(net, shape), repetitions)
        for name, net in nets.items()
    }
    products = Timed("products", workloads.products(shape), repetitions)
    interleave([*cases.values(), products], report)
    result: dict[str, Any] = {
        "parameters": nets["fresh"].num_parameters,
        "batch": shape.batch,
        "products": products.to_dict(),
    }
    for name, case in cases.items():
        result[name] = case.to_dict() | {
            "firing_rates": rates[name],
            "times_its_products": case.median / products.median,
            "fastest_times_its_products": case.fastest / products.fastest,
        }
    result["passed"] = {
        f"products, {name}": result[name]["times_its_products"] <= TARGET for name in cases
    }
    return result
