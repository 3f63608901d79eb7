"""The part of a report that says what a network takes on a chip, as HTML."""

from __future__ import annotations

import html
from collections.abc import Iterable

import numpy as np

from export import FixedNetwork
from export.fit import Fit, fit

SAMPLES = 16
"""Samples on which operations are counted."""


def chip_section(net: FixedNetwork, x: np.ndarray) -> str:
    """Cores, energy, time and NeuroBench's metrics of a network on its first samples."""
    samples = x[:SAMPLES]
    if samples.ndim == 5:  # a file numbers the pixels of images as torch flattens them
        samples = samples.reshape(len(samples), -1, samples.shape[-1])
    result = fit(net, x=samples)
    rows = [*_cores(result), *_costs(result), *_metrics(result)]
    lines = "".join(
        f'<tr><td>{html.escape(name)}</td><td class="n">{html.escape(value)}</td></tr>'
        for name, value in rows
    )
    return (
        "<h2>On a Loihi 2</h2>"
        '<p class="note">Counted, not measured: cores as Intel\'s compiler counts them, energy and '
        f"time as a range over published prices, on {len(samples)} samples (docs/fit.md). "
        "Input, output, processors and static power are not in it.</p>"
        f'<div class="scroll"><table>{lines}</table></div>'
    )


def _cores(result: Fit) -> Iterable[tuple[str, str]]:
    if result.placement is None:
        yield "does not fit one chip", "; ".join(map(str, result.shortages))
    else:
        limit, share = result.placement.binding()
        used = f"{len(result.placement.cores):,} of {result.placement.available:,}"
        yield "cores", used
        yield f"nearest limit: {limit}", f"{share:.1%}"
    for place, cores in result.readings.items():
        yield f"cores with TE in {place}", " + ".join(map(str, cores))


def _costs(result: Fit) -> Iterable[tuple[str, str]]:
    if result.estimate is None:
        return
    for name, unit in (("sample_uj", "energy of a sample, µJ"), ("sample_ms", "its time, ms")):
        low, high = getattr(result.estimate, name)
        yield unit, f"{low:,.3g} to {high:,.3g}"


def _metrics(result: Fit) -> Iterable[tuple[str, str]]:
    if (found := result.metrics) is None:
        return
    by = "its definitions" if found["by"] == "celif" else found["by"]
    yield f"NeuroBench ({by}): footprint, bytes", f"{found['footprint']:,}"
    yield "connection sparsity", f"{found['connection_sparsity']:.1%}"
    yield "activation sparsity", f"{found['activation_sparsity']:.1%}"
    for name, count in found["synaptic_operations"].items():
        yield f"synaptic operations a sample, {name.replace('_', ' ')}", f"{count:,.0f}"
    yield "membrane updates a sample", f"{found['membrane_updates']:,.0f}"
