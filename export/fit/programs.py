"""A neuron's step as a program of generic instructions: what a microcode author starts from.

Nothing but integer operations, one after the other. The programs restate the equations of
:mod:`export.steps.celif`, :mod:`export.steps.cuba` and :mod:`export.steps.sigma_delta`; the tests
execute them and hold them to those steps. ``SHR`` rounds down; the four instructions that
:func:`towards_zero` writes make that a rounding towards zero.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from export.loihi2 import (
    CURRENT_SHIFT,
    DECAY_BITS,
    DECAY_ONE,
    PACKED_BITS,
    PHASE_BITS,
    STATE_MAX,
    SUM_MAX,
)
from export.model.layer import Layer, SpikingLayer
from export.model.lif import LeakyLayer
from export.model.network import CelifLayer, ReadoutLayer
from export.model.slayer import CubaLayer, SigmaDeltaLayer
from export.model.te import CosineTable
from export.steps.listing import Instruction, Program, saturated, towards_zero
from export.steps.sigma_delta import MESSAGE_EXP, MESSAGE_MAX, STATE_EXP


def fetch_te(form: str, wave_bits: int = 0) -> Program:
    """Fetch TE[k] of a neuron, by how it is kept; ``column`` is k div hold for a whole core."""
    if form == "table":
        return (Instruction("LOADX", "te", "te_row", "column", "TE[k]"),)
    if form == "packed":
        sign = 1 << (PACKED_BITS - 1)
        return (
            Instruction("SHR", "t", "column", 1, "byte of the pair"),
            Instruction("LOADX", "te", "te_row", "t", "two mantissas"),
            Instruction("AND", "t", "column", 1, "0: low half, 1: high half"),
            Instruction("SHL", "t", "t", PACKED_BITS.bit_length() - 1, f"0 or {PACKED_BITS}"),
            Instruction("SHR", "te", "te", "t", "wanted half down"),
            Instruction("AND", "te", "te", 2 * sign - 1, "wanted half alone"),
            Instruction("XOR", "te", "te", sign, "sign extension"),
            Instruction("SUB", "te", "te", sign, "TE[k]"),
        )
    if form != "cosine":
        raise ValueError(f"TE form: expected table, packed or cosine, got {form!r}")
    quarter, last = PHASE_BITS - 2, (1 << wave_bits) - 1
    return (
        Instruction("LOAD", "phase", "phase"),
        Instruction("SHR", "q", "phase", quarter, "quarter of the turn"),
        Instruction("SHR", "i", "phase", quarter - wave_bits, "place in the quarter"),
        Instruction("AND", "i", "i", last),
        Instruction("AND", "t", "q", 1, "1 in the second and fourth quarter"),
        Instruction("MUL", "t", "t", last),
        Instruction("XOR", "i", "i", "t", "backwards there"),
        Instruction("LOADX", "te", "wave", "i"),
        Instruction("SHR", "t", "q", 1),
        Instruction("XOR", "t", "t", "q"),
        Instruction("AND", "t", "t", 1, "1 in the two middle quarters"),
        Instruction("SHL", "t", "t", 1),
        Instruction("SUB", "t", 1, "t", "sign"),
        Instruction("MUL", "te", "te", "t", "TE[k]"),
        Instruction("LOAD", "t", "increment"),
        Instruction("ADD", "phase", "phase", "t"),
        Instruction("AND", "phase", "phase", (1 << PHASE_BITS) - 1, "one turn is 0 again"),
        Instruction("STORE", "phase", "phase"),
    )


def celif_step(form: str = "table", wave_bits: int = 0) -> Program:
    """One step of a CE-LIF neuron; ``acc`` is its synaptic sum, the rest its layer's constants."""
    mask = (1 << DECAY_BITS) - 1
    return (
        *fetch_te(form, wave_bits),
        Instruction("LOAD", "theta", "theta", note="Θ of the step before"),
        Instruction("LOAD", "v", "v", note="V of the step before, not reset"),
        Instruction("LOAD", "s", "s", note="S of the step before"),
        Instruction("SUB", "d", "theta", "theta0_int", "β·(Θ−Θ0)"),
        Instruction("MUL", "d", "d", "beta_mant", "β·(Θ−Θ0)"),
        *towards_zero("d", DECAY_BITS, mask, "β·(Θ−Θ0)"),
        Instruction("MUL", "c", "te", "v", "TE[k]·V"),
        *towards_zero("c", "te_exp", "te_mask", "TE[k]·V"),
        Instruction("ADD", "theta", "d", "c", "Θ"),
        Instruction("ADD", "theta", "theta", "theta0_int", "Θ"),
        *saturated("theta", "Θ"),
        Instruction("MUL", "v", "v", "alpha_mant", "α·V"),
        *towards_zero("v", DECAY_BITS, mask, "α·V"),
        Instruction("CLR", "v", "v", "s", "(1−S): nothing is kept after a spike"),
        Instruction("SHL", "a", "acc", "shift", "synaptic sum"),
        Instruction("ADD", "v", "v", "a", "V"),
        Instruction("LOAD", "b", "bias_mant"),
        Instruction("SHL", "b", "b", "bias_exp", "bias"),
        Instruction("ADD", "v", "v", "b", "V"),
        *saturated("v", "V"),
        Instruction("GE", "s", "v", "theta", "S: equality is a spike"),
        Instruction("STORE", "theta", "theta"),
        Instruction("STORE", "v", "v"),
        Instruction("STORE", "s", "s"),
        Instruction("SEND", "", "s"),
    )


def celif_begin(form: str = "table") -> Program:
    """Reset a CE-LIF neuron before k = 0 of every sample."""
    phase = (Instruction("STORE", "phase", 0),) if form == "cosine" else ()
    return (
        Instruction("STORE", "theta", "theta0_int", note="Θ ← Θ0"),
        Instruction("STORE", "v", 0, note="V ← 0"),
        Instruction("STORE", "s", 0, note="S ← 0"),
        *phase,
    )


def cuba_step() -> Program:
    """One step of SLAYER's CUBA neuron, Lava's stock LIF; V is kept before its reset."""
    mask, half = (1 << DECAY_BITS) - 1, STATE_MAX + 1
    return (
        Instruction("LOAD", "u", "u"),
        Instruction("LOAD", "v", "v"),
        Instruction("LOAD", "s", "s"),
        Instruction("SUB", "t", DECAY_ONE - 1, "du", "4096 − (du+1)"),
        Instruction("MUL", "u", "u", "t"),
        *towards_zero("u", DECAY_BITS, mask, "decayed U"),
        Instruction("SHL", "a", "acc", CURRENT_SHIFT, "synaptic sum"),
        Instruction("ADD", "u", "u", "a", "U"),
        Instruction("GT", "t", "u", half, "wrap: one turn down"),
        Instruction("MUL", "t", "t", 2 * half),
        Instruction("GE", "a", -half, "u", "wrap: one turn up"),
        Instruction("MUL", "a", "a", 2 * half),
        Instruction("SUB", "u", "u", "t"),
        Instruction("ADD", "u", "u", "a", "U, wrapped"),
        Instruction("CLR", "v", "v", "s", "reset"),
        Instruction("SUB", "t", DECAY_ONE, "dv", "4096 − dv"),
        Instruction("MUL", "v", "v", "t"),
        *towards_zero("v", DECAY_BITS, mask, "decayed V"),
        Instruction("ADD", "v", "v", "u", "V"),
        Instruction("LOAD", "b", "bias_mant"),
        Instruction("SHL", "b", "b", CURRENT_SHIFT, "bias"),
        Instruction("ADD", "v", "v", "b", "V"),
        *saturated("v", "V"),
        Instruction("SHL", "t", "vth", CURRENT_SHIFT, "threshold"),
        Instruction("GT", "s", "v", "t", "S: strictly above"),
        Instruction("STORE", "u", "u"),
        Instruction("STORE", "v", "v"),
        Instruction("STORE", "s", "s"),
        Instruction("SEND", "", "s"),
    )


def sigma_delta_step() -> Program:
    """One step of SLAYER's sigma-delta neuron, Lava's stock one with our limit of messages."""
    half, largest = SUM_MAX + 1, MESSAGE_MAX << STATE_EXP
    return (
        Instruction("LOAD", "sigma", "sigma"),
        Instruction("LOAD", "act", "act"),
        Instruction("LOAD", "residue", "residue"),
        Instruction("SHL", "a", "acc", "shift", "synaptic sum"),
        Instruction("ADD", "sigma", "sigma", "a", "σ"),
        Instruction("ADD", "sigma", "sigma", half, "wrap to 32 bits"),
        Instruction("AND", "sigma", "sigma", 2 * half - 1, "wrap"),
        Instruction("SUB", "sigma", "sigma", half, "wrap"),
        Instruction("LOAD", "b", "bias_mant"),
        Instruction("SHL", "b", "b", MESSAGE_EXP, "bias"),
        Instruction("ADD", "n", "sigma", "b", "A"),
        Instruction("MAX", "n", "n", 0, "A: ReLU"),
        Instruction("SUB", "d", "n", "act", "Δ"),
        Instruction("ADD", "d", "d", "residue", "Δ"),
        Instruction("MIN", "m", "d", largest, "largest message"),
        Instruction("MAX", "m", "m", -largest, "largest message"),
        Instruction("SUB", "t", 0, "d"),
        Instruction("MAX", "t", "t", "d", "|Δ|"),
        Instruction("SHL", "a", "vth", MESSAGE_EXP, "threshold"),
        Instruction("GT", "t", "a", "t", "below it"),
        Instruction("CLR", "m", "m", "t", "m: nothing below the threshold"),
        Instruction("SUB", "residue", "d", "m", "r"),
        Instruction("SHR", "m", "m", STATE_EXP, "message, rounded down"),
        Instruction("STORE", "sigma", "sigma"),
        Instruction("STORE", "act", "n"),
        Instruction("STORE", "residue", "residue"),
        Instruction("STORE", "s", "m"),
        Instruction("SEND", "", "m"),
    )


def readout_step() -> Program:
    """One step of a class of the readout."""
    return (
        Instruction("LOAD", "sum", "sum"),
        Instruction("LOAD", "b", "bias"),
        Instruction("ADD", "sum", "sum", "acc"),
        Instruction("ADD", "sum", "sum", "b"),
        Instruction("STORE", "sum", "sum"),
    )


def _celif_program(layer: CelifLayer) -> Program:
    form, wave = layer.te_form, 0
    if isinstance(form, CosineTable):
        wave = len(form.wave).bit_length() - 1
    return celif_step(form.encoding, wave)


PROGRAMS: dict[str, Callable[[Any], Program]] = {
    CelifLayer.kind: _celif_program,
    CubaLayer.kind: lambda layer: cuba_step(),
    SigmaDeltaLayer.kind: lambda layer: sigma_delta_step(),
    ReadoutLayer.kind: lambda layer: readout_step(),
}
"""The programs of this module by the kind of layer; other kinds bring their own listing."""


def fetch_decays(fields: Sequence[str]) -> Program:
    """Fetch the decays that a neuron has for itself; those of the layer are constants."""
    return tuple(Instruction("LOAD", name, name, note="the neuron's own decay") for name in fields)


def program_of(layer: Layer) -> Program:
    """Return one step of a neuron of ``layer``."""
    decays = fetch_decays(layer.own_decays) if isinstance(layer, LeakyLayer) else ()
    if layer.kind in PROGRAMS:
        return (*decays, *PROGRAMS[layer.kind](layer))
    assert isinstance(layer, SpikingLayer)
    return (*decays, *layer.listing())
