"""A neuron's step as a list of generic instructions, which a microcode author starts from.

Operands are names of registers or whole numbers; there are no jumps.
:mod:`export.fit.microcode` says what each instruction does, executes listings and counts them.
"""

from __future__ import annotations

from typing import NamedTuple

from export.loihi2 import STATE_MAX

Operand = str | int

SIGN = 63
"""A right shift that leaves −1 of a negative number and 0 of any other; width − 1 on a chip."""


class Instruction(NamedTuple):
    """``out ← op(a, b)``, and which term of the equations it serves."""

    op: str
    out: str
    a: Operand
    b: Operand = 0
    note: str = ""


Program = tuple[Instruction, ...]


def towards_zero(register: str, bits: Operand, mask: Operand, note: str) -> Program:
    """Shift right by ``bits`` (``mask`` is 2^bits − 1), rounding towards zero."""
    return (
        Instruction("SHR", "t", register, SIGN, f"{note}: −1 if negative"),
        Instruction("AND", "t", "t", mask, f"{note}: 2^n − 1 if negative"),
        Instruction("ADD", register, register, "t", note),
        Instruction("SHR", register, register, bits, f"{note}, rounded towards zero"),
    )


def saturated(register: str, note: str) -> Program:
    """Clip ``register`` to 24 bits, symmetrically."""
    return (
        Instruction("MIN", register, register, STATE_MAX, f"sat {note}"),
        Instruction("MAX", register, register, -STATE_MAX, f"sat {note}"),
    )
