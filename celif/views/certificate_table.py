"""``celif inspect --certify --attack``: proven bounds, and how near an attack came to them."""

from __future__ import annotations

from typing import Any

from rich import box
from rich.markup import escape
from rich.table import Table

from celif import exits
from celif.console import fail, notice, results, say, warn
from export import FixedNetwork
from export.proof.attack import attack as search
from export.proof.certificate import certify


def certification(net: FixedNetwork, attack: bool) -> dict[str, Any]:
    """Plain values, for JSON: the certificate of a network and, if asked for, the attack on it."""
    certificate = certify(net)
    result: dict[str, Any] = {"certificate": certificate.to_dict()}
    if attack:
        notice("Searching for inputs that make the states large; this takes a while.")
        result["attack"] = search(net, certificate).to_dict()
    return result


def _share(ratio: float | None) -> str:
    # Rounded down: 100 % is what reached its bound.
    return "–" if ratio is None else f"{int(1000 * ratio) / 10:.1f} %"


def show_certification(result: dict[str, Any]) -> None:
    """Print a table with a row per register, and what it means."""
    certificate, attack = result["certificate"], result.get("attack")
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    titles = ["layer", "register", "bound", "room", "neuron", "step"]
    for title in [*titles, *(["alone", "network"] if attack else [])]:
        justify: Any = "left" if title in ("layer", "register") else "right"
        table.add_column(title, justify=justify, overflow="fold")
    for i, layer in enumerate(certificate["layers"]):
        for register, bound in layer["registers"].items():
            row = [layer["name"], register, f"±{bound['bound']:,}"]
            row += [f"{bound['headroom_bits']:.1f} bits", str(bound["neuron"]), str(bound["step"])]
            if attack:
                reached = attack["layers"][i]["registers"][register]
                row += [_share(reached["alone_ratio"]), _share(reached["network_ratio"])]
            table.add_row(*map(escape, row))
    results.print(table)
    say("bound: largest magnitude for any input in range; room: bits left above it")
    if attack:
        say(
            "alone, network: how much of the bound an attack reached, on each layer with any\n"
            "inputs in its range and on the network from its own inputs"
        )
        for layer in attack["layers"]:
            for note in layer["notes"]:
                say(f"{layer['name']}: {note}")
    _show_verdict(certificate, attack)


def _show_verdict(certificate: dict[str, Any], attack: dict[str, Any] | None) -> None:
    if attack and attack["passed"]:
        fail("a proven bound was passed: this is a mistake in celif; please report it")
    if attack and attack["saturations"]:
        warn(f"registers overflowed {attack['saturations']:,} times under attack")
    if certificate["proven"]:
        say("proven: no register can overflow, whatever the input")
    for layer in certificate["layers"]:
        if not certificate["proven"] and "not proven" in layer["verdict"]:
            warn(layer["verdict"])


def exit_code(result: dict[str, Any]) -> int:
    """How the command ends: 0 if all is proven, 1 if an attack succeeded, else 4."""
    attack = result.get("attack")
    if attack and (attack["passed"] or attack["saturations"]):
        return exits.DIFFERENCE
    return 0 if result["certificate"]["proven"] else exits.INCOMPLETE
