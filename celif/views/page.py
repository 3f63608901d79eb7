"""A page to look at: what the chip will compute, how it compares with the float network."""

from __future__ import annotations

import html
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np

from celif.verification.file_check import COMPARED
from celif.verification.float_run import Source
from celif.verification.verify import Verification, as_floats
from celif.views import inspect_table, pictures
from celif.views.chip.fit_page import chip_section
from export import FixedNetwork
from hw_tests.trace_difference import Difference
from training.support.atomic import atomic_file

_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1"><title>celif: {title}</title>
<style>
body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem;
 color: #20242a; }}
h1 {{ font-size: 1.7rem; margin-bottom: 0; }} h2 {{ font-size: 1.15rem; margin: 2.2rem 0 .4rem; }}
p {{ margin: .3rem 0 .8rem; }} p.sub, p.note {{ color: #5c636e; }}
.cards {{ display: flex; gap: 1rem; flex-wrap: wrap; margin-top: 1rem; }}
.card {{ border: 1px solid #d9dde3; border-radius: 8px; padding: .6rem 1.1rem; }}
.card b {{ display: block; font-size: 1.6rem; }} .card > span {{ color: #5c636e; }}
ul.alarms {{ background: #fff4e5; border-left: 4px solid #c77700; padding: .6rem 1rem .6rem 2rem; }}
.scroll {{ overflow-x: auto; }}
table {{ border-collapse: collapse; width: 100%; font-size: .94rem; }}
th, td {{ text-align: left; padding: .3rem .6rem; border-bottom: 1px solid #e4e7ec; }}
th {{ font-weight: 600; color: #5c636e; vertical-align: bottom; }}
td.n, th.n {{ text-align: right; font-variant-numeric: tabular-nums; }}
td:first-child, td.n {{ white-space: nowrap; }}
.equal {{ color: #1a7f4b; font-weight: 600; }} .DIFFERS {{ color: #c0262d; font-weight: 700; }}
.not {{ color: #8a6d00; }} small {{ color: #5c636e; }}
svg {{ width: 100%; height: auto; margin-top: .8rem; }}
</style></head><body>{body}</body></html>
"""


def write(
    page: Path,
    result: Verification,
    fixed: FixedNetwork,
    x: np.ndarray,
    y: np.ndarray | None = None,
    *,
    source: Source | None = None,
    title: str,
    history: Sequence[Any] = (),
) -> Path:
    """Write the page of a verification, and its first picture beside it as PNG.

    Parameters
    ----------
    page
        Where to; the picture gets the same name with ``.png``.
    result, fixed, x, y, source
        What :func:`celif.verification.verify.verify` found, and what it was given.
    title
        What the network is for.
    history
        The history of the training run, epoch by epoch, if it is known.
    """
    samples = as_floats(fixed, x)
    about = "sample 0" + ("" if y is None else f", a {int(y[0])}")
    picture = pictures.sample_figure(fixed, source, samples[:1], about)
    parts = [
        _summary(fixed, result, title),
        _alarms(result),
        _ladder(result),
        _divergences(result),
        _gap(result),
    ]
    if source is not None:
        parts.append(pictures.svg(pictures.agreement_figure(fixed, source, samples)))
    parts += [
        _formats(fixed),
        chip_section(fixed, x),
        "<h2>One sample, step by step</h2>",
        pictures.svg(picture),
    ]
    if history:
        parts += ["<h2>Training</h2>", pictures.svg(pictures.training_figure(history))]
    # Page and picture are replaced together, once both have been written.
    with atomic_file(page.with_suffix(".png")) as png, atomic_file(page) as draft:
        picture.savefig(png, dpi=130, format="png")
        text = _PAGE.format(title=html.escape(title), body="".join(parts))
        draft.write_text(text, encoding="utf-8")
    return page


def _summary(fixed: FixedNetwork, result: Verification, title: str) -> str:
    gap = result.gap
    colour = {"passed": "equal", "FAILED": "DIFFERS"}.get(result.verdict, "not")
    cards = [("verification", f'<span class="{colour}">{result.verdict}</span>')]
    if gap is not None:
        if gap.accuracy_float is not None and gap.accuracy_fixed is not None:
            cards += [
                (f"float, {gap.samples} samples", f"{gap.accuracy_float:.2%}"),
                ("integers, same samples", f"{gap.accuracy_fixed:.2%}"),
            ]
        cards.append(("same prediction", f"{gap.prediction_agreement:.2%}"))
    boxes = "".join(f'<div class="card"><b>{v}</b><span>{k}</span></div>' for k, v in cards)
    widths = (fixed.encoding.channels, *(layer.neurons for layer in fixed.all_layers))
    return (
        f"<h1>Verification: {html.escape(title)}</h1>"
        f'<p class="sub">{html.escape(Path(fixed.path).name)}, network '
        f"{' → '.join(map(str, widths))}, {fixed.steps} time steps. {date.today().isoformat()}</p>"
        f'<div class="cards">{boxes}</div>'
    )


def _alarms(result: Verification) -> str:
    lines = "".join(f"<li>{html.escape(str(alarm))}</li>" for alarm in result.alarms)
    return f'<ul class="alarms">{lines}</ul>' if lines else ""


def _rows(header: Sequence[str], rows: Sequence[Sequence[str]], numbers: set[int]) -> str:
    def line(tag: str, cells: Sequence[str]) -> str:
        kinds = (' class="n"' if i in numbers else "" for i in range(len(cells)))
        inner = (f"<{tag}{k}>{c}</{tag}>" for k, c in zip(kinds, cells, strict=True))
        return f"<tr>{''.join(inner)}</tr>"

    table = f"<table>{line('th', header)}{''.join(line('td', row) for row in rows)}</table>"
    return f'<div class="scroll">{table}</div>'


def _ladder(result: Verification) -> str:
    def row(rung: str, compared: str, verdict: str, detail: str, *counts: int) -> list[str]:
        shown = [f"{n:,}" if n else "" for n in counts[:-1]] + [f"{n:,}" for n in counts[-1:]]
        said = f"<br><small>{html.escape(detail)}</small>" if detail else ""
        mark = f'<span class="{verdict.split()[0]}">{verdict}</span>'
        return [rung, html.escape(compared) + said, *(shown or ["", "", ""]), mark]

    rows = []
    if (source := result.source) is not None:
        counts = 0, source.values, source.mismatches
        rows.append(row("file", COMPARED, source.verdict, source.detail, *counts))
    for rung in result.rungs:
        ran = rung.verdict != "not run"
        numbers = (rung.steps, rung.values, rung.mismatches) if ran else ()
        rows.append(row(str(rung.rung), rung.compared, rung.verdict, rung.detail, *numbers))
    header = ("rung", "compared", "steps", "values", "mismatches", "verdict")
    return f"<h2>The parity ladder</h2>{_rows(header, rows, {2, 3, 4})}"


def _divergences(result: Verification) -> str:
    found: list[tuple[str, Difference]] = []
    if result.source is not None and result.source.effect is not None:
        found.append((COMPARED, result.source.effect))
    found += [(rung.compared, rung.first) for rung in result.rungs if rung.first is not None]
    return "".join(_divergence(compared, first) for compared, first in found if first.around)


def _divergence(compared: str, first: Difference) -> str:
    def cell(values: tuple[Any, Any] | None) -> str:
        if values is None:
            return ""
        ours, theirs = (f"{v:,}" if isinstance(v, int) else f"{v:.7g}" for v in values)
        return ours if ours == theirs else f'<span class="DIFFERS">{ours} ≠ {theirs}</span>'

    rows = [
        [f"{moment.step}", cell(moment.theta), cell(moment.v), cell(moment.spikes)]
        for moment in first.around
    ]
    return (
        f"<h2>First difference: {html.escape(compared)}</h2>"
        f"<p>Sample {first.sample}, layer {first.layer}, neuron {first.neuron}, from step "
        f"{first.step} on.</p>{_rows(('step', 'Θ', 'V', 'S'), rows, {0, 1, 2, 3})}"
    )


def _gap(result: Verification) -> str:
    if result.gap is None:
        return ""

    def error(value: float | None) -> str:
        return "" if value is None else f"{value:.2g}"

    rows = [
        (
            f"layer {g.layer}",
            f"{g.spike_agreement:.2%}",
            *map(error, (g.v_error_mean, g.v_error_max, g.theta_error_mean, g.theta_error_max)),
            f"{g.rate_float:.1%}",
            f"{g.rate_fixed:.1%}",
            f"{g.silent_float} / {g.silent_fixed}",
            f"{g.saturations:,}",
        )
        for g in result.gap.layers
    ]
    header = (
        *("", "same spikes", "|ΔV| mean", "max", "|ΔΘ| mean", "max", "rate, float", "fixed"),
        *("silent neurons, float / fixed", "saturations"),
    )
    return (
        "<h2>What the integers change</h2>"
        f'<p class="note">Float against fixed over {result.gap.samples} samples. A spike that '
        "differs changes everything after it, so registers drift apart even where predictions "
        f"agree.</p>{_rows(header, rows, set(range(1, len(header))))}"
    )


def _formats(fixed: FixedNetwork) -> str:
    columns = inspect_table.COLUMNS
    rows = [
        [html.escape(str(cell)) for cell in inspect_table.cells(layer)]
        for layer in inspect_table.describe(fixed)["layers"]
    ]
    numbers = {i for i, name in enumerate(columns) if name not in ("layer", "type", "TE")}
    return (
        f"<h2>Formats</h2>{_rows(tuple(columns), rows, numbers)}"
        f'<p class="note">{html.escape(inspect_table.KEY)}</p>'
    )
