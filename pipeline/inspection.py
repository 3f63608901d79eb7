"""``celif inspect``: what a netx file holds, in plain values and as a table."""

from __future__ import annotations

from typing import Any

from rich.table import Table

from export import FixedNetwork
from export.model import CelifLayer, Layer
from pipeline.console import console

_CELIF = (
    "fraction_bits", "weight_bits", "weight_exp", "te_bits", "te_exp", "bias_exp",
    "alpha_mant", "beta_mant", "theta0_int", "shift",
)  # fmt: skip
_COLUMNS = (
    "name", "type", "inputs", "neurons", "lag", "fraction_bits", "weight_exp", "te_exp",
    "alpha_mant", "beta_mant", "theta0_int",
)  # fmt: skip


def _layer(layer: Layer) -> dict[str, Any]:
    about: dict[str, Any] = {
        "name": layer.name,
        "type": layer.kind,
        "inputs": layer.inputs,
        "neurons": layer.neurons,
        "lag": layer.lag,
        "delay_shift": layer.delay_shift,
    }
    if isinstance(layer, CelifLayer):
        about |= {name: int(getattr(layer, name)) for name in _CELIF}
    return about


def describe(net: FixedNetwork) -> dict[str, Any]:
    """Plain values of a network, for JSON."""
    code = net.encoding
    return {
        "path": net.path,
        "steps": net.steps,
        "gap": net.gap,
        "input": {
            "channels": code.channels,
            "bits": code.bits,
            "scale": code.scale,
            "signed": code.signed,
            "permuted": code.permutation is not None,
        },
        "layers": [_layer(layer) for layer in net.all_layers],
    }


def show(about: dict[str, Any]) -> None:
    """Print the description as a table."""
    code = about["input"]
    sign = "±" if code["signed"] else ""
    console.print(
        f"{about['path']}: {about['steps']} steps, period {about['steps'] + about['gap']}; "
        f"input of {code['channels']} × {sign}{code['bits']} bits, unit {code['scale']:.6g}"
        + (", permuted" if code["permuted"] else "")
    )
    table = Table()
    for name in _COLUMNS:
        table.add_column(name, justify="left" if name in ("name", "type") else "right")
    for layer in about["layers"]:
        table.add_row(*(str(layer.get(name, "")) for name in _COLUMNS))
    console.print(table)
