"""The on-chip models that a run on the chip uses.

celif brings one, :mod:`lava_procs.loihi.nc_celif`, which lacks nothing but its microcode: Intel's
assembler and instruction set are for members of INRC only. Name the microcode's file in
``CELIF_UCODE`` and it is used. A model of your own takes precedence. Register it in Python,

>>> register_chip_model(CELIF, MyCelif)  # doctest: +SKIP

or in the package that brings it, which is then used wherever it is installed::

    [project.entry-points."celif.chip_models"]
    celif = "my_package.models:MyCelif"

The model is a ProcessModel of Lava's, ``@implements(proc=CELIF, protocol=LoihiProtocol)`` and
``@requires(Loihi2NeuroCore)``. Its ``allocate`` finds the layer's integers in the Process's Vars
and, in ``proc_params``, ``shape``, ``clock`` (lag, steps and period: when it resets and which TE it
uses), ``te_form`` and ``ignore_first``. ``v`` (before the reset), ``theta`` and ``s`` must be its
Vars, or rung 4 of the ladder cannot see them.
"""

from __future__ import annotations

import os
from importlib import metadata
from typing import Any

from lava.magma.core.model.model import AbstractProcessModel
from lava.magma.core.process.process import AbstractProcess

from lava_procs.loihi.nc_celif import UCODE, nc_celif
from lava_procs.processes.celif.process import CELIF

GROUP = "celif.chip_models"
"""Name of the entry points."""

_registered: dict[type[AbstractProcess], type[AbstractProcessModel]] = {}


def register_chip_model(process: type[AbstractProcess], model: type[AbstractProcessModel]) -> None:
    """Let ``model`` run ``process`` on the chip; the last one registered is used.

    Raises
    ------
    TypeError
        It is no model of that Process.
    """
    if not (isinstance(model, type) and issubclass(model, AbstractProcessModel)):
        raise TypeError(f"chip model: expected a ProcessModel class of Lava's, got {model!r}")
    found = getattr(model, "implements_process", None)
    if found is not process:
        raise TypeError(
            f"chip model {model.__name__}: expected one that implements {process.__name__}, "
            f"found {getattr(found, '__name__', found)}; decorate it with "
            f"@implements(proc={process.__name__}, protocol=LoihiProtocol)"
        )
    _registered[process] = model


def unregister_chip_model(process: type[AbstractProcess]) -> None:
    """Remove a model that was registered in Python."""
    _registered.pop(process, None)


def chip_models() -> dict[type[AbstractProcess], type[AbstractProcessModel]]:
    """Return the on-chip models by Process: registered ones, then those of installed packages.

    Without either, NcCELIF runs the microcode that ``CELIF_UCODE`` names.

    Raises
    ------
    MicrocodeMissingError
        ``CELIF_UCODE`` names no file.
    """
    found: dict[type[AbstractProcess], type[AbstractProcessModel]] = {}
    for entry in metadata.entry_points(group=GROUP):
        model: Any = _load(entry)
        process = getattr(model, "implements_process", None)
        if process is not None:
            found[process] = model
    found |= _registered
    if CELIF not in found and (ucode := os.environ.get(UCODE)):
        found[CELIF] = nc_celif(ucode)
    return found


def _load(entry: metadata.EntryPoint) -> Any:
    try:
        return entry.load()
    except Exception as error:
        raise ImportError(
            f"chip model {entry.name} = {entry.value!r}: expected a ProcessModel class, found "
            f"{type(error).__name__}: {error}; mend the package that brings it, or uninstall it"
        ) from error
