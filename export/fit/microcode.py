"""Generic instructions on integer registers: what they do, how many, how wide, and their execution.

A program is a list of them, without jumps. Operands are names of registers or whole numbers.
:mod:`export.fit.programs` has those of the neurons.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

from export.steps.listing import Operand, Program

OPERATIONS = {
    "LOAD": "out ← memory word a of this neuron",
    "LOADX": "out ← entry b of the array a",
    "STORE": "memory word out of this neuron ← a",
    "SEND": "send a, if it is not 0",
    "ADD": "out ← a + b",
    "SUB": "out ← a − b",
    "MUL": "out ← a · b",
    "SHL": "out ← a « b",
    "SHR": "out ← a » b, arithmetic: rounds down",
    "AND": "out ← a & b",
    "XOR": "out ← a ^ b",
    "MIN": "out ← the smaller of a and b",
    "MAX": "out ← the larger of a and b",
    "GE": "out ← 1 if a ≥ b, else 0",
    "GT": "out ← 1 if a > b, else 0",
    "CLR": "out ← 0 if b is not 0, else a",
}
CLASSES = {
    "memory": ("LOAD", "LOADX", "STORE", "SEND"),
    "multiply": ("MUL",),
    "add": ("ADD", "SUB"),
    "shift": ("SHL", "SHR"),
    "logic": ("AND", "XOR"),
    "compare": ("MIN", "MAX", "GE", "GT", "CLR"),
}


def counts(program: Program) -> dict[str, int]:
    """Count the instructions of a program by class, and all of them."""
    ops = Counter(instruction.op for instruction in program)
    by_class = {name: sum(ops[op] for op in members) for name, members in CLASSES.items()}
    return {**by_class, "all": len(program)}


_BINARY: dict[str, Callable[[int, int], int]] = {
    "ADD": lambda a, b: a + b,
    "SUB": lambda a, b: a - b,
    "MUL": lambda a, b: a * b,
    "SHL": lambda a, b: a << b,
    "SHR": lambda a, b: a >> b,
    "AND": lambda a, b: a & b,
    "XOR": lambda a, b: a ^ b,
    "MIN": min,
    "MAX": max,
    "GE": lambda a, b: int(a >= b),
    "GT": lambda a, b: int(a > b),
    "CLR": lambda a, b: 0 if b else a,
}


def execute(
    program: Program,
    memory: dict[str, int],
    constants: Mapping[str, int],
    arrays: Mapping[str, Sequence[int]] | None = None,
) -> list[int]:
    """Run a program on Python's integers; return what every instruction wrote.

    ``memory`` holds the neuron's words and is changed; ``constants`` are registers that stand.
    """
    registers: dict[str, int] = dict(constants)
    written = []

    def value(operand: Operand) -> int:
        return operand if isinstance(operand, int) else registers[operand]

    for op, out, a, b, _ in program:
        if op in ("STORE", "SEND"):
            result = value(a)
            if op == "STORE":
                memory[out] = result
        else:
            if op == "LOAD":
                result = memory[str(a)]
            elif op == "LOADX":
                result = int((arrays or {})[str(a)][value(b)])
            else:
                result = _BINARY[op](value(a), value(b))
            registers[out] = result
        written.append(result)
    return written


Interval = tuple[int, int]


def _span(values: Iterable[int]) -> Interval:
    found = list(values)
    return min(found), max(found)


def _bounds(op: str, a: Interval, b: Interval) -> Interval:
    """Bound the result of an operation from the bounds of its operands."""
    if op in ("GE", "GT"):
        return 0, 1
    if op == "CLR":
        return min(a[0], 0), max(a[1], 0)
    if op in ("AND", "XOR"):
        if op == "AND" and min(a[0], b[0]) < 0 <= max(a[0], b[0]):
            return 0, a[1] if a[0] >= 0 else b[1]
        if op == "AND" and a[0] >= 0:
            return 0, min(a[1], b[1])
        # Neither can have a bit above the highest of both.
        reach = 1 << max(abs(end).bit_length() for end in (*a, *b))
        return (0, reach - 1) if min(a[0], b[0]) >= 0 else (-reach, reach - 1)
    return _span(_BINARY[op](x, y) for x in a for y in b)


def widths(
    program: Program,
    memory: Mapping[str, Interval],
    constants: Mapping[str, Interval],
    arrays: Mapping[str, Interval] | None = None,
) -> list[int]:
    """Return the bits, sign included, that hold whatever each instruction writes.

    Intervals are sent through the program, each operand taken to be independent of the others:
    enough, though sometimes a bit more than needed.
    """
    registers: dict[str, Interval] = dict(constants)

    def value(operand: Operand) -> Interval:
        return (operand, operand) if isinstance(operand, int) else registers[operand]

    found = []
    for op, out, a, b, _ in program:
        if op in ("STORE", "SEND"):
            result = value(a)
        else:
            if op == "LOAD":
                result = memory[str(a)]
            elif op == "LOADX":
                result = (arrays or {})[str(a)]
            else:
                result = _bounds(op, value(a), value(b))
            registers[out] = result
        low, high = result
        found.append(max(high.bit_length(), (-low - 1).bit_length() if low < 0 else 0) + 1)
    return found
