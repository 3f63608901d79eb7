"""``celif inspect``: what a netx file holds, in plain values and as a table."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np
from rich import box
from rich.markup import escape
from rich.table import Table

from celif.console import results, say
from export import FixedNetwork
from export.loihi2 import DECAY_ONE
from export.model.celif import CelifLayer
from export.model.fields import INTEGER, ONE_OR_ROWS
from export.model.layer import Layer
from export.model.lif import LeakyLayer
from export.netx.integrity import stored_in

COLUMNS = {
    "layer": "name", "type": "type", "shape": "shape", "lag": "lag",
    "F": "fraction_bits", "W exp": "weight_exp", "TE exp": "te_exp",
    "α": "alpha_mant", "β": "beta_mant", "Θ0": "theta0_int",
}  # fmt: skip
KEY = (
    "F: fraction bits of V and Θ; W = mantissa · 2^−(W exp), TE likewise;\n"
    f"α, β in units of 1/{DECAY_ONE}, Θ0 of 2^−F; a..b: one for each neuron or channel"
)


def _plain(value: Any) -> Any:
    """Convert an integer or an array of them for JSON."""
    return value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value


def _layer(layer: Layer) -> dict[str, Any]:
    about: dict[str, Any] = {
        "name": layer.name,
        "type": layer.kind,
        "inputs": layer.inputs,
        "neurons": layer.neurons,
        "lag": layer.lag,
        "delay_shift": layer.delay_shift,
    }
    if isinstance(layer, LeakyLayer):
        shown = (entry.field for entry in layer.netx if entry.form in (INTEGER, ONE_OR_ROWS))
        about |= {name: _plain(getattr(layer, name)) for name in shown}
    if isinstance(layer, CelifLayer):
        about["te_encoding"], about["te_hold"] = layer.te_form.encoding, layer.te_form.hold
    return about


def describe(net: FixedNetwork) -> dict[str, Any]:
    """Plain values of a network, for JSON."""
    code = net.encoding
    return {
        "path": net.path,
        "steps": net.steps,
        "gap": net.gap,
        "task": None if net.task is None else asdict(net.task),
        "checksum": stored_in(net.path) if net.path else None,
        "input": {
            "channels": code.channels,
            "bits": code.bits,
            "scale": code.scale,
            "signed": code.signed,
            "permuted": code.permutation is not None,
        },
        "layers": [_layer(layer) for layer in net.all_layers],
    }


def cells(layer: dict[str, Any]) -> list[str]:
    """A described layer's row, by the columns of :data:`COLUMNS`."""
    shown = {**layer, "shape": f"{layer['neurons']}×{layer['inputs']}"}
    for name in ("weight_exp", "te_exp", "alpha_mant", "beta_mant"):
        if isinstance(each := layer.get(name), list):
            shown[name] = f"{min(each)}..{max(each)}"
    return [str(shown.get(name, "")) for name in COLUMNS.values()]


def show(about: dict[str, Any]) -> None:
    """Print the description as a table."""
    code = about["input"]
    sign = "±" if code["signed"] else ""
    say(
        f"{about['path']}: {about['steps']} steps, period {about['steps'] + about['gap']}; "
        f"input of {code['channels']} × {sign}{code['bits']} bits, unit {code['scale']:.6g}"
        + (", permuted" if code["permuted"] else "")
    )
    if (task := about["task"]) is not None:
        say(f"task {task['name']}" + (f": {task['encoding']}" if task["encoding"] else ""))
    kept = about["checksum"]
    say(f"checksum {kept[:16]}, verified" if kept else "no checksum: export it again for one")
    rows = [cells(layer) for layer in about["layers"]]
    # Ranges of decays, such as 1787..2343, leave no room for a second space between columns.
    ranges = any(len(cell) > 8 for row in rows for cell in row[1:])
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 0 if ranges else 1, 0, 0))
    for title in COLUMNS:
        # Folded, not cut off, where a terminal is too narrow.
        justify: Any = "left" if title in ("layer", "type") else "right"
        table.add_column(title, justify=justify, overflow="fold")
    for row in rows:
        table.add_row(*map(escape, row))
    results.print(table)
    for layer in about["layers"]:
        held = f", each value for {layer['te_hold']} steps" if layer.get("te_hold", 1) > 1 else ""
        if held or layer.get("te_encoding", "table") != "table":
            say(f"{layer['name']}: TE as {layer['te_encoding']}{held}")
    say(KEY)
