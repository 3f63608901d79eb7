"""The kit's documents: specification, listings, and the page that leads to them.

Their prose is in the Markdown files of this folder; numbers and tables are put in here.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from export import FixedNetwork, loihi2
from export.fit import microcode, programs, published
from export.fit.microcode import Program
from export.model.layer import Layer
from export.model.network import CelifLayer
from export.model.te import QUARTER_BITS, WAVE_BITS, quarter_wave
from export.steps import alif, lif
from export.steps.sigma_delta import MESSAGE_EXP
from hw_tests.golden.case import KitCase
from hw_tests.golden.ranges import needed_bits
from training.slayer.mantissa import EXPONENT_MAX

_REGISTERS = ("fraction_bits", "alpha_mant", "beta_mant", "theta0_int", "te_bits", "bias_exp")
_COLUMNS = (
    "layer", "type", "neurons", "inputs", "lag", "late",
    "F", "α", "β", "Θ0", "TE bits", "bias exp", "TE",
)  # fmt: skip


def _template(name: str) -> str:
    return (Path(__file__).parent / name).read_text(encoding="utf-8")


def _shown(value: Any) -> Any:
    """A register, or the range of one that every neuron has for itself."""
    return f"{value.min()}..{value.max()}" if np.ndim(value) else value


def _registers(net: FixedNetwork) -> str:
    lines = [
        "## The given network\n",
        f"T = {net.steps}, gap = {net.gap}, {net.encoding.channels} input channel(s) of "
        f"{net.encoding.bits} bits{' and a sign' if net.encoding.signed else ''}.\n",
        "| " + " | ".join(_COLUMNS) + " |",
        "|---" * len(_COLUMNS) + "|",
    ]
    for layer in net.all_layers:
        values: list[Any] = [layer.name, layer.kind, layer.neurons, layer.inputs, layer.lag]
        values.append(int(layer.output_delay.max()))
        if isinstance(layer, CelifLayer):
            form = layer.te_form
            values += [_shown(getattr(layer, name)) for name in _REGISTERS]
            values.append(form.encoding + (f", held {form.hold}" if form.hold > 1 else ""))
        values += [""] * (len(_COLUMNS) - len(values))
        lines.append("| " + " | ".join(map(str, values)) + " |")
    return "\n".join(lines) + "\n"


def specification(net: FixedNetwork) -> str:
    """The integer specification of the neuron, and the registers of the given network."""
    return (
        _template("specification.md").format(
            state_bits=loihi2.STATE_BITS,
            state_max=loihi2.STATE_MAX,
            state_one=loihi2.STATE_MAX + 1,
            sign_bit=loihi2.STATE_BITS - 1,
            phase_bits=loihi2.PHASE_BITS,
            phase_max=(1 << loihi2.PHASE_BITS) - 1,
            decay_bits=loihi2.DECAY_BITS,
            decay_one=loihi2.DECAY_ONE,
            decay_max=loihi2.DECAY_ONE - 1,
            te_exp_max=loihi2.TE_EXP_MAX,
            te_bits_max=loihi2.TE_BITS_MAX,
            shift_max=EXPONENT_MAX - loihi2.WEIGHT_EXP_MIN,
            sum_right_shift_max=EXPONENT_MAX + loihi2.MESSAGE_BITS_MAX,
            exponent_max=EXPONENT_MAX,
            weight_exp_min=loihi2.WEIGHT_EXP_MIN,
            input_exp_max=loihi2.MESSAGE_BITS_MAX,
            fraction_max=loihi2.FRACTION_BITS_MAX,
            bias_min=loihi2.BIAS_MANT_MIN,
            bias_max=loihi2.BIAS_MANT_MAX,
            bias_exp_max=loihi2.BIAS_EXP_MAX,
            weight_bits=loihi2.WEIGHT_BITS,
            packed_bits=loihi2.PACKED_BITS,
            packed_one=1 << loihi2.PACKED_BITS,
            packed_half=1 << (loihi2.PACKED_BITS - 1),
            quarter_bits=QUARTER_BITS,
            current_shift=loihi2.CURRENT_SHIFT,
            message_exp=MESSAGE_EXP,
        )
        + "\n"
        + _registers(net)
    )


def _table(program: Program, bits: Sequence[int] | None = None) -> str:
    heading = "| # | instruction | serves |" + (" bits |" if bits else "")
    lines = [heading, "|---|---|---|" + ("---|" if bits else "")]
    for n, (op, out, a, b, note) in enumerate(program, 1):
        unary = op in ("LOAD", "STORE", "SEND")
        operands = ", ".join(str(x) for x in ((out, a) if unary else (out, a, b)) if x != "")
        lines.append(
            f"| {n} | `{op} {operands}` | {note} |" + (f" {bits[n - 1]} |" if bits else "")
        )
    counted = microcode.counts(program)
    total = counted.pop("all")
    classes = ", ".join(f"{name} {count}" for name, count in counted.items() if count)
    return "\n".join([*lines, "", f"**{total} instructions**: {classes}.", ""])


def _published(program: published.Program) -> str:
    """A program of published operations as a table, with its counts."""
    lines = ["| # | operation | serves |", "|---|---|---|"]
    for n, (op, out, args, note, label, target) in enumerate(program, 1):
        operands = ", ".join(str(x) for x in (out, *args, target) if x != "")
        place = f"*{label}:* " if label else ""
        lines.append(f"| {n} | {place}`{op} {operands}`".rstrip() + f" | {note} |")
    counted = published.counts(program)
    total = counted.pop("all")
    each = ", ".join(f"{name} {count}" for name, count in counted.items())
    return "\n".join([*lines, "", f"**{total} operations**: {each}.", ""])


def _wave(bits: int) -> list[int]:
    return [int(n) for n in quarter_wave(127.0, 8, bits)]


def _in_published_operations() -> list[str]:
    """The step in Intel's published operations, the cosine first, which needs no others."""
    full = published.counts(published.celif_step("cosine", _wave(WAVE_BITS)))["all"]
    return [
        _template("published.md").format(wave=1 << WAVE_BITS, full=full).rstrip("\n"),
        *(f"| `{op}` | {text} |" for op, text in published.OPERATIONS.items()),
        "\n### CE-LIF, TE a generated cosine (here with 4 mantissas)\n",
        _published(published.celif_step("cosine", _wave(2))),
        "### TE from a table\n\nIn place of everything before Θ is read:\n",
        _published(published.fetch_te("table")),
        "### TE, packed\n\nIn its place, too:\n",
        _published(published.fetch_te("packed")),
    ]


def listings(net: FixedNetwork) -> str:
    """The step of every neuron type as instructions, and how wide the given network makes them."""
    parts = [
        *_in_published_operations(),
        _template("listing.md").rstrip("\n"),
        *(f"| `{op}` | {text} |" for op, text in microcode.OPERATIONS.items()),
        "\n## CE-LIF, TE from a table\n",
        _table(programs.celif_step()),
        "Before k = 0 of every sample (`phase` only where TE is a generated cosine):\n",
        _table(programs.celif_begin("cosine")),
        "Where neurons have decays of their own, these come before the first instruction:\n",
        _table(programs.fetch_decays(("alpha_mant", "beta_mant"))),
        "## TE, packed\n\nIn place of the first instruction:\n",
        _table(programs.fetch_te("packed")),
        "## TE, a generated cosine\n\nIn its place, too; here with 2^8 mantissas:\n",
        _table(programs.fetch_te("cosine", 8)),
        "## LIF\n",
        _table(lif.listing()),
        "## ALIF\n",
        _table(alif.listing()),
        "## CUBA\n",
        _table(programs.cuba_step()),
        "## Sigma-delta\n",
        _table(programs.sigma_delta_step()),
        "## Readout\n",
        _table(programs.readout_step()),
        "## How wide, in the given network\n",
        "With each layer's own constants, for any input of the network.\n",
    ]
    for i, layer in enumerate(net.all_layers):
        parts.append(_widths(net, i, layer))
    return "\n".join(parts)


def _widths(net: FixedNetwork, i: int, layer: Layer) -> str:
    program = programs.program_of(layer)
    bits = needed_bits(net, i)
    title = f"### {layer.name}: {layer.kind}, widest value {max(bits)} bits\n"
    return f"{title}\n{_table(program, bits)}"


def readme(cases: Sequence[KitCase]) -> str:
    """What is where, and what each case shows."""
    return _template("readme.md") + "".join(f"| `{case.name}` | {case.about} |\n" for case in cases)
