"""NcCELIF, the on-chip model of CELIF, written as far as anyone can without a chip.

It has the shape of the on-chip models that are public: ``LavaNcType``, ``NcVar`` and an
``allocate`` that gives the neurons their program with its constants, their state and their output
axons. Its Vars are generated from the table of the Python model, so the two cannot part.

What is missing is **one file, the microcode**, which only a member of INRC can write: Intel's
assembler and instruction set are not public. ``celif golden`` writes the specification, the listing
in the published operations and the vectors that it is tested with. Name the file and the model is
used wherever celif runs on a chip::

    export CELIF_UCODE=celif.dasm

=============  =====================================================================================
constants      ``alpha_mant``, ``beta_mant``, ``theta0_int``, ``te_exp``, ``shift``, ``bias_exp`` if
               they are one for all neurons; ``hold``, ``lag``, ``steps``, ``period`` and
               ``ignore_first``; ``te_wave`` of a cosine. They are compiled into the program.
state          ``v``, ``theta``, ``s``, ``bias_mant``; ``te``, the row as it is kept (a table,
               packed bytes, or a cosine's increment); ``te_phase`` of a cosine; exponents and
               decays that each neuron has for itself.
=============  =====================================================================================
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import numpy as np
from lava.magma.core.decorator import implements, requires, tag
from lava.magma.core.model.model import AbstractProcessModel
from lava.magma.core.model.py.ports import PyInPort, PyOutPort
from lava.magma.core.model.py.type import LavaPyType
from lava.magma.core.resources import Loihi2NeuroCore
from lava.magma.core.sync.protocols.loihi_protocol import LoihiProtocol

from export.loihi2 import STATE_BITS
from lava_procs.processes.celif.models import PyCELIFModelFixed
from lava_procs.processes.celif.process import CELIF

UCODE = "CELIF_UCODE"
"""Variable of the environment that names the microcode's file."""
INTERFACE = "lava.magma.core.model.nc"
"""The package of Intel's extension with what an on-chip model is made of."""
_REMEDY = (
    "it is the one file that a member of INRC writes, from SPECIFICATION.md and LISTING.md of "
    f"`celif golden`; name it in {UCODE}, or use --hybrid, which keeps CELIF on the host"
)
_CONSTANTS = ("alpha_mant", "beta_mant", "theta0_int", "te_exp", "bias_exp")


class MicrocodeMissingError(ImportError):
    """Raised when the microcode of the neuron is missing; says which file, and who writes it."""


def check_ucode(file: str) -> Path:
    """Refuse a microcode file that is not there, and say who writes it."""
    path = Path(file)
    if not path.is_file():
        raise MicrocodeMissingError(
            f"microcode of CELIF: expected the file {file}, found none; {_REMEDY}"
        )
    return path.absolute()


def _registers() -> dict[str, LavaPyType]:
    """Return the table of the Python model: every port and Var, with its precision."""
    table = {}
    for parent in reversed(PyCELIFModelFixed.__mro__):
        table.update({k: v for k, v in vars(parent).items() if isinstance(v, LavaPyType)})
    return table


def values(model: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the constants and the per-neuron state of a model that is being allocated."""
    params = model.proc_params
    clock, form = params["clock"], params["te_form"]

    def of(name: str) -> np.ndarray:
        return np.asarray(getattr(model, name).var.init)

    constants: dict[str, Any] = {
        "hold": form.hold,
        "lag": clock.lag,
        "steps": clock.steps,
        "period": clock.period,
        "ignore_first": int(params["ignore_first"]),
    }
    state: dict[str, Any] = {name: getattr(model, name) for name in ("v", "theta", "s")}
    state |= {"bias_mant": model.bias_mant, "te": model.te}
    shift = of("fraction_bits") - of("weight_exp")
    for name, value in (*((n, of(n)) for n in _CONSTANTS), ("shift", shift)):
        if value.size == 1:
            constants[name] = int(value.item())
        else:  # each neuron has its own
            state[name] = value
    if form.encoding == "cosine":
        constants["te_wave"] = of("te_wave")
        state["te_phase"] = model.te_phase
    return constants, state


def _allocate(self: Any, net: Any) -> None:
    """Give the neurons their program, their state and their output axons."""
    shape = self.proc_params["shape"]
    constants, state = values(self)
    cfg = net.neurons_cfg.allocate_ucode(shape=(1,), ucode=str(self.ucode), **constants)
    neurons = net.neurons.allocate_ucode(shape=shape, **state)
    ax_out = net.ax_out.allocate(shape=shape, num_message_bits=0)
    self.a_in.connect(neurons)
    neurons.connect(cfg)
    neurons.connect(ax_out)
    ax_out.connect(self.s_out)


def nc_celif(ucode: str) -> type[AbstractProcessModel]:
    """Build NcCELIF for a microcode file.

    Raises
    ------
    MicrocodeMissingError
        There is no such file.
    ImportError
        Intel's extension of Lava is not installed.
    """
    file = check_ucode(ucode)
    nc = {
        name: importlib.import_module(f"{INTERFACE}.{name}")
        for name in ("model", "ports", "type", "var")
    }
    ports = {PyInPort: nc["ports"].NcInPort, PyOutPort: nc["ports"].NcOutPort}
    members: dict[str, Any] = {}
    annotations: dict[str, Any] = {}
    for name, kind in _registers().items():
        port = next((there for here, there in ports.items() if issubclass(kind.cls, here)), None)
        cls = port or nc["var"].NcVar
        # A row of TE may be a cosine's increment, which is as wide as a state.
        whole = port or name == "te" or kind.precision is None
        bits = STATE_BITS if whole else kind.precision
        members[name] = nc["type"].LavaNcType(cls, np.int32, precision=bits)
        annotations[name] = cls
    model = type(
        "NcCELIF",
        (nc["model"].AbstractNcProcessModel,),
        {
            **members,
            "__annotations__": annotations,
            "__doc__": "CELIF on neurocores.",
            "__module__": __name__,
            "ucode": file,
            "allocate": _allocate,
        },
    )
    decorated = tag("ucoded")(requires(Loihi2NeuroCore)(model))
    found: type[AbstractProcessModel] = implements(proc=CELIF, protocol=LoihiProtocol)(decorated)
    return found
