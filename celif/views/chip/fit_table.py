"""``celif fit`` on a terminal: the placement, the nearest limit, and what would help."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from rich import box
from rich.table import Table

from celif.console import results, say
from export import Formats
from export.fit import Fit
from export.fit.chip import Chip
from export.fit.energy import Estimate
from export.fit.placement import Placement

ACROSS = 16
"""Cores in a row of a chip's picture."""
SYMBOLS = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
_LEVELS = "▁▂▃▄▅▆▇█"
_CHIPS_SHOWN = 4
_REMEDIES_SHOWN = 6


def symbol(layer: int) -> str:
    """Return the character that stands for a layer."""
    return SYMBOLS[layer] if layer < len(SYMBOLS) else "+"


def prose(text: str) -> None:
    """Print a sentence of any length in lines of a terminal's width."""
    say(textwrap.fill(text, 80, subsequent_indent="    ", break_on_hyphens=False))


def _table(*columns: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for i, column in enumerate(columns):
        table.add_column(column, justify="right" if i else "left", overflow="fold")
    return table


def occupancy(placement: Placement) -> list[str]:
    """The chips' cores as lines of text: each core's layer and the share of its nearest limit."""
    lines = []
    per_chip = placement.chip["cores"]
    used = -(-len(placement.cores) // per_chip)
    for n in range(min(used, _CHIPS_SHOWN)):
        cores = placement.cores[n * per_chip : (n + 1) * per_chip]
        cells = []
        for core in cores:
            share = max(placement.loads(core).values())
            level = min(int(share * len(_LEVELS)), len(_LEVELS) - 1)
            cells.append(f"{symbol(core.layer)}{_LEVELS[level]}")
        rows = -(-len(cores) // ACROSS)
        cells += [" ·"] * (min(rows * ACROSS, per_chip) - len(cores))
        lines.append(f"chip {n}: {len(cores)} of {per_chip} cores")
        lines += ["  " + " ".join(cells[i : i + ACROSS]) for i in range(0, len(cells), ACROSS)]
        if empty := per_chip - len(cells):
            lines.append(f"  and {empty:,} more, empty")
    if used > _CHIPS_SHOWN:
        lines.append(f"chips in use beyond these: {used - _CHIPS_SHOWN:,}")
    return lines


def _show_placement(placement: Placement) -> None:
    table = _table("layer", "type", "neurons", "cores", "synapses", "TE", "state", "fullest")
    said = placement.to_dict()
    for i, layer in enumerate(said["layers"]):
        sizes = layer["words"]
        cores = placement.of_layer(i)
        table.add_row(
            f"{symbol(i)}  {layer['name']}",
            layer["type"],
            f"{layer['neurons']:,}",
            f"{layer['cores']:,}",
            f"{sizes['synapses']:,}",
            f"{sizes['te']:,}",
            f"{sum(core.held.state for core in cores):,}",
            f"{layer['binding']['share']:.1%}",
        )
    results.print(table)
    say("words of 64 bits on all of a layer's cores; the fullest core's share of its")
    say("nearest limit")
    say("")
    for line in occupancy(placement):
        say(line)
    say("a core: its layer, and how much of its nearest limit is taken")


def _show_readings(result: Fit) -> None:
    """Say how many cores there are by where TE lies, which nobody without a chip's manual knows."""
    counts = {
        name: "?" if 0 in cores else f"{sum(cores):,} ({' + '.join(map(str, cores))})"
        for name, cores in result.readings.items()
    }
    if len(set(counts.values())) > 1:
        here = "neuron words" if result.chip["te_in_state"] else "the pool"
        prose(
            f"cores with TE in neuron words: {counts['neuron words']}; with TE in the pool: "
            f"{counts['pool']}; counted here: {here} (which is right is not published)"
        )


def _show_estimate(estimate: Estimate, chip: Chip) -> None:
    table = _table("layer", "events/step", "synaptic ops/step", "rate", "instructions")
    for i, layer in enumerate(estimate.layers):
        table.add_row(
            f"{symbol(i)}  {layer.name}",
            f"{layer.events:,.1f}",
            f"{layer.synops:,.0f}",
            f"{layer.rate:.1%}" if layer.spikes else "",
            str(layer.instructions),
        )
    results.print(table)
    prices = _table("prices", "synapses", "updates", "spikes", "energy", "busiest core", "time")
    for one in estimate.priced:
        prices.add_row(
            one.prices,
            f"{one.synop_nj:,.1f}",
            f"{one.update_nj:,.1f}",
            f"{one.spike_nj:,.1f}",
            f"{one.step_nj:,.1f} nJ",
            f"{one.busy_us:,.2f}",
            f"{one.step_us:,.2f} µs",
        )
    results.print(prices)
    say(f"energy: {_span(estimate.step_nj)} nJ a step, {_span(estimate.sample_uj)} µJ a sample")
    say(f"time: {_span(estimate.step_us)} µs a step, {_span(estimate.sample_ms)} ms a sample")
    alone = f"{estimate.arithmetic_nj:,.1f} nJ a step"
    prose(f"arithmetic alone, in 45 nm, as the CE-LIF paper counts it: {alone}")
    prose(
        "assumed: Loihi 1 by Davies and as SANA-FE was calibrated, and scaled by Intel's factors "
        f"for Loihi 2 ({chip.rate('loihi2_synop_speed'):g}, {chip.rate('loihi2_update_speed'):g} "
        f"and {chip.rate('loihi2_spike_speed'):g} times faster; energies unscaled); updates by "
        "instructions; I/O, processors and static power are free (--calibration compares with "
        "measurements)"
    )


def _span(ends: tuple[float, float]) -> str:
    """A range with three digits."""
    low, high = (f"{end:,.3g}" if end < 1000 else f"{end:,.0f}" for end in ends)
    return f"{low} to {high}"


def _counted(by: str) -> str:
    return "By NeuroBench's definitions" if by == "celif" else f"By NeuroBench's library ({by})"


def _show_metrics(metrics: Mapping[str, Any]) -> None:
    operations = metrics["synaptic_operations"]
    prose(
        f"{_counted(metrics['by'])}: footprint {metrics['footprint']:,} bytes, connection "
        f"sparsity "
        f"{metrics['connection_sparsity']:.1%}, activation sparsity "
        f"{metrics['activation_sparsity']:.1%}, synaptic operations a sample "
        f"{operations['Effective_ACs']:,.0f} ACs, {operations['Effective_MACs']:,.0f} MACs of "
        f"{operations['Dense']:,.0f}, membrane updates {metrics['membrane_updates']:,.0f}"
    )


def export_options(formats: Mapping[str, int | str]) -> str:
    """Return the options of ``celif export`` for formats, or else a call of ``to_netx``."""
    if not formats:
        return ""
    if formats.keys() <= {field.name for field in fields(Formats)}:
        options = (f"--{name.replace('_', '-')} {value}" for name, value in formats.items())
        return " ".join(options)
    arguments = (f"{name}={value!r}" for name, value in formats.items())
    return f"to_netx(net, path, x, {', '.join(arguments)})"


def _show_refusal(result: Fit) -> None:
    for shortage in result.shortages:
        needed, there = f"{shortage.needed:,} needed", f"{shortage.available:,} there"
        prose(f"{shortage.layer}, {shortage.limit}: {needed}, {there} ({shortage.about})")
    if not result.remedies:
        prose(
            "Nothing that was tried makes it fit: TE and weights of fewer bits, held and generated "
            "TE, more chips, less of what is too large."
        )
        return
    say("What would make it fit, each tried:")
    for remedy in result.remedies[:_REMEDIES_SHOWN]:
        cores = f"{remedy.cores:,} cores" + (f", {remedy.chips:,} chips" * (remedy.chips > 1))
        prose(f"- {remedy}: then {cores}")
        if options := export_options(remedy.formats):
            prose(f"    export with {options}")
    if (more := len(result.remedies) - _REMEDIES_SHOWN) > 0:
        say(f"and {more} more; --json has them all")


def show_figures(chip: Chip) -> None:
    """Print every figure of the chip with its source and how sure it is."""
    for name, figure in chip.figures.items():
        say(f"{name} = {figure.value:,g}   [{figure.sure}]")
        for text in (figure.about, figure.source):
            say(textwrap.fill(text, 80, initial_indent="    ", subsequent_indent="      "))


def show(name: str, result: Fit) -> None:
    """Print the outcome of a fit."""
    chips = f"{result.chips:,} chip{'s' * (result.chips > 1)}"
    where = f"{result.chip.name}, {chips}"
    if result.placement is None:
        say(f"{name} does not fit {where}:")
        _show_refusal(result)
        _show_readings(result)
    else:
        placed = result.placement
        limit, share = placed.binding()
        say(f"{name} fits {where}: {len(placed.cores):,} of {placed.available:,} cores")
        say(f"nearest limit: {limit}, {share:.1%} taken")
        _show_placement(placed)
        _show_readings(result)
        if result.estimate is not None:
            _show_estimate(result.estimate, result.chip)
            if result.metrics is not None:
                _show_metrics(result.metrics)
        else:
            say("energy and time: count operations on samples, with --task or --input")
    unsure = [n for n, f in result.chip.figures.items() if f.sure in ("conflicting", "assumed")]
    if unsure:
        prose(f"not certain: {', '.join(unsure)} (--figures has every figure and its source)")
