"""The CE-LIF step in the operations that Intel has published for Loihi 2's microcode.

The generic listings (:mod:`export.fit.programs`) say what to compute; these say it in the
operations that Intel's brief of 2021 names, as far as its names can be understood. What is not
published (rounding of ``MUL_SHR``, widths, program size, addressing) is avoided where it can be:

- Every product is one of magnitudes, so that it does not matter how ``MUL_SHR`` rounds negative
  numbers.
- A generated cosine reads no memory at a computed index: its wave, which is one for all neurons of
  a core, lies in the program as a tree of comparisons and jumps. A table or packed TE cannot be
  had without such a read, which is not among the published operations (``READ?``).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from export.loihi2 import DECAY_BITS, PACKED_BITS, PHASE_BITS, STATE_MAX

Operand = str | int

OPERATIONS = {
    "RMW": "read a state of this neuron into a register, or write a register to it",
    "MOV": "out ← a",
    "SEL": "out ← b if a is not 0, else c",
    "AND": "out ← a and b, bit by bit",
    "OR": "out ← a or b, bit by bit",
    "SHL": "out ← a « b",
    "ADD": "out ← a + b",
    "NEG": "out ← −a",
    "MIN": "out ← the smaller of a and b",
    "MUL_SHR": "out ← (a · b) » c",
    "LT": "out ← 1 if a < b, else 0",
    "GE": "out ← 1 if a ≥ b, else 0",
    "EQ": "out ← 1 if a = b, else 0",
    "SKP_C": "skip the next operation if a is 0",
    "JMP_C": "go to the label if a is not 0",
    "SPIKE": "send a spike",
    "READ?": "out ← entry b of the state array a: NOT among the published operations",
}
UNPUBLISHED = "READ?"


class Operation(NamedTuple):
    """``out ← op(args)``; ``label`` names the place, and for a jump the place to go to."""

    op: str
    out: str = ""
    args: tuple[Operand, ...] = ()
    note: str = ""
    label: str = ""
    target: str = ""


Program = tuple[Operation, ...]


def _op(op: str, out: str, *args: Operand, note: str = "") -> Operation:
    return Operation(op, out, args, note)


def _read(name: str, note: str = "") -> Operation:
    return Operation("RMW", name, (), note or f"read {name}")


def _write(name: str) -> Operation:
    return Operation("RMW", "", (name,), f"write {name}")


def _magnitude(register: str, out: str, sign: str, note: str) -> Program:
    """|register| in ``out``, and in ``sign`` whether it is negative."""
    return (
        _op("LT", sign, register, 0, note=f"{note}: sign"),
        _op("NEG", "t", register, note=note),
        _op("SEL", out, sign, "t", register, note=f"{note}: magnitude"),
    )


def _signed(register: str, out: str, sign: str, note: str) -> Program:
    return (
        _op("NEG", "t", register, note=note),
        _op("SEL", out, sign, "t", register, note=f"{note}, rounded towards zero"),
    )


def _saturated(register: str, note: str) -> Program:
    return (
        _op("MIN", register, register, STATE_MAX, note=f"sat {note}"),
        _op("LT", "t", register, -STATE_MAX, note=f"sat {note}"),
        _op("SEL", register, "t", -STATE_MAX, register, note=f"sat {note}"),
    )


def wave_tree(wave: Sequence[int]) -> Program:
    """Te ← wave[i], as comparisons of i with constants and jumps: no memory is read."""
    code: list[Operation] = []
    waiting = ""

    def emit(operation: Operation) -> None:
        nonlocal waiting
        code.append(operation._replace(label=waiting))
        waiting = ""

    def branch(low: int, high: int) -> None:
        nonlocal waiting
        if len(set(wave[low:high])) == 1:
            emit(_op("MOV", "te", int(wave[low]), note=f"wave[{low}…{high - 1}]"))
            emit(Operation("JMP_C", "", (1,), "done", target="found"))
            return
        middle = (low + high) // 2
        place = f"below {middle}"
        emit(_op("LT", "t", "i", middle))
        emit(Operation("JMP_C", "", ("t",), place, target=place))
        branch(middle, high)
        waiting = place
        branch(low, middle)

    branch(0, len(wave))
    waiting = "found"
    emit(_op("MOV", "te", "te", note="TE[k] without its sign"))
    return tuple(code)


def fetch_te(form: str, wave: Sequence[int] = ()) -> Program:
    """TE[k] of a neuron, by how it is kept."""
    if form == "table":
        return (_op(UNPUBLISHED, "te", "te_row", "column", note="TE[k]"),)
    if form == "packed":
        half = 1 << (PACKED_BITS - 1)
        return (
            _op("MUL_SHR", "t", "column", 1, 1, note="byte of the pair"),
            _op(UNPUBLISHED, "te", "te_row", "t", note="two mantissas"),
            _op("AND", "t", "column", 1, note="0: low half, 1: high half"),
            _op("MUL_SHR", "u", "te", 1, PACKED_BITS, note="high half down"),
            _op("SEL", "te", "t", "u", "te", note="wanted half"),
            _op("AND", "te", "te", 2 * half - 1, note="wanted half alone"),
            _op("GE", "t", "te", half, note="negative"),
            _op("ADD", "u", "te", -2 * half),
            _op("SEL", "te", "t", "u", "te", note="TE[k]"),
        )
    if form != "cosine":
        raise ValueError(f"TE form: expected table, packed or cosine, got {form!r}")
    quarter, last = PHASE_BITS - 2, len(wave) - 1
    return (
        _read("phase"),
        _op("MUL_SHR", "q", "phase", 1, quarter, note="quarter of the turn"),
        _op("MUL_SHR", "i", "phase", 1, quarter - last.bit_length(), note="place in it"),
        _op("AND", "i", "i", last),
        _op("AND", "t", "q", 1, note="1 in the second and fourth quarter"),
        _op("NEG", "u", "i"),
        _op("ADD", "u", "u", last),
        _op("SEL", "i", "t", "u", "i", note="backwards there"),
        *wave_tree(wave),
        _op("EQ", "t", "q", 1),
        _op("EQ", "u", "q", 2),
        _op("OR", "t", "t", "u", note="1 in the two middle quarters"),
        _op("NEG", "u", "te"),
        _op("SEL", "te", "t", "u", "te", note="TE[k]"),
        _read("increment"),
        _op("ADD", "phase", "phase", "increment"),
        _op("AND", "phase", "phase", (1 << PHASE_BITS) - 1, note="one turn is 0 again"),
        _write("phase"),
    )


def celif_step(form: str, wave: Sequence[int] = (), own_decays: Sequence[str] = ()) -> Program:
    """One step of a CE-LIF neuron; ``acc`` is its synaptic sum, the rest its layer's constants.

    Decays that the neuron has for itself are state, which is read first.
    """
    return (
        *(_read(name, "the neuron's own decay") for name in own_decays),
        *fetch_te(form, wave),
        _read("theta", "Θ of the step before"),
        _read("v", "V of the step before, not reset"),
        _read("s", "S of the step before"),
        _op("ADD", "d", "theta", "minus_theta0", note="β·(Θ−Θ0)"),
        *_magnitude("d", "d", "n", "β·(Θ−Θ0)"),
        _op("MUL_SHR", "d", "d", "beta_mant", DECAY_BITS, note="β·(Θ−Θ0)"),
        *_signed("d", "d", "n", "β·(Θ−Θ0)"),
        *_magnitude("te", "te", "n", "TE[k]·V"),
        *_magnitude("v", "m", "w", "TE[k]·V"),
        _op("MUL_SHR", "c", "te", "m", "te_exp", note="TE[k]·V"),
        _op("EQ", "n", "n", "w", note="TE[k]·V: both of one sign"),
        _op("NEG", "t", "c", note="TE[k]·V"),
        _op("SEL", "c", "n", "c", "t", note="TE[k]·V, rounded towards zero"),
        _op("ADD", "theta", "d", "c", note="Θ"),
        _op("ADD", "theta", "theta", "theta0_int", note="Θ"),
        *_saturated("theta", "Θ"),
        _op("MUL_SHR", "m", "m", "alpha_mant", DECAY_BITS, note="α·V"),
        *_signed("m", "v", "w", "α·V"),
        _op("SEL", "v", "s", 0, "v", note="(1−S): nothing is kept after a spike"),
        _op("SHL", "a", "acc", "shift", note="synaptic sum"),
        _op("ADD", "v", "v", "a", note="V"),
        _read("bias_mant"),
        _op("SHL", "a", "bias_mant", "bias_exp", note="bias"),
        _op("ADD", "v", "v", "a", note="V"),
        *_saturated("v", "V"),
        _op("GE", "s", "v", "theta", note="S: equality is a spike"),
        _write("theta"),
        _write("v"),
        _write("s"),
        _op("SKP_C", "", "s"),
        Operation("SPIKE"),
    )


def counts(program: Program) -> dict[str, int]:
    """Operations of a program by name, and ``all``; every branch of a tree is counted."""
    found = Counter(operation.op for operation in program)
    return {**{op: found[op] for op in OPERATIONS if found[op]}, "all": len(program)}


def execute(
    program: Program,
    memory: dict[str, int],
    constants: Mapping[str, int],
    arrays: Mapping[str, Sequence[int]] | None = None,
) -> tuple[dict[str, int], int]:
    """Run a program on Python's integers; return the registers and how many operations ran.

    ``memory`` is the neuron's state and is changed; register ``spikes`` counts what was sent.
    """
    registers: dict[str, int] = {**constants, "spikes": 0}
    labels = {operation.label: n for n, operation in enumerate(program) if operation.label}

    def value(operand: Operand) -> int:
        return operand if isinstance(operand, int) else registers[operand]

    at = ran = 0
    while at < len(program):
        op, out, args, _, _, target = program[at]
        at, ran = at + 1, ran + 1
        if op == "RMW" and out:
            registers[out] = memory[out]
        elif op == "RMW":
            memory[str(args[0])] = value(args[0])
        elif op == UNPUBLISHED:
            registers[out] = int((arrays or {})[str(args[0])][value(args[1])])
        elif op == "SPIKE":
            registers["spikes"] += 1
        elif op == "SKP_C":
            at += value(args[0]) == 0
        elif op == "JMP_C":
            at = labels[target] if value(args[0]) else at
        else:
            registers[out] = _result(op, [value(a) for a in args])
    return registers, ran


def _result(op: str, a: list[int]) -> int:
    if op == "MUL_SHR" and (a[0] < 0 or a[1] < 0):
        raise ValueError(f"MUL_SHR: expected factors of 0 or more, got {a[:2]}")
    results = {
        "MOV": lambda: a[0],
        "SEL": lambda: a[1] if a[0] else a[2],
        "AND": lambda: a[0] & a[1],
        "OR": lambda: a[0] | a[1],
        "SHL": lambda: a[0] << a[1],
        "ADD": lambda: a[0] + a[1],
        "NEG": lambda: -a[0],
        "MIN": lambda: min(a[0], a[1]),
        "MUL_SHR": lambda: (a[0] * a[1]) >> a[2],
        "LT": lambda: int(a[0] < a[1]),
        "GE": lambda: int(a[0] >= a[1]),
        "EQ": lambda: int(a[0] == a[1]),
    }
    return results[op]()
