"""A stand-in for Intel's extension of Lava, with which the way to the chip is walked on this CPU.

It has what public code shows of the extension: names of modules, signatures, ports, the order of
calls; and a ``sinfo`` that answers as SLURM's does, so that Lava's own utilities run unchanged.
Each part checks what it is given and writes it down, see :mod:`hw_tests.tests.loihi_calls`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from lava.magma.core import run_configs
from lava.magma.core.callback_fx import NxSdkCallbackFx
from lava.magma.core.decorator import implements, requires, tag
from lava.magma.core.process.process import AbstractProcess
from lava.magma.core.process.variable import Var
from lava.magma.core.resources import CPU
from lava.magma.core.run_conditions import RunSteps
from lava.magma.core.sync.protocols.loihi_protocol import LoihiProtocol
from lava.proc.lif.models import PyLifResetModelBitAcc
from lava.proc.lif.process import LIFReset
from lava.utils import loihi as lava_loihi

from export.loihi2 import REFRACTORY_COUNT
from hw_tests.tests import embedded_io, nc_standin
from hw_tests.tests.embedded_io import spike
from hw_tests.tests.loihi_calls import FOLDER, folder, note
from lava_procs import CELIF, register_chip_model, unregister_chip_model
from lava_procs.loihi.session import ChipCfg
from lava_procs.processes.celif.models import PyCELIFModelFixed

# As SLURM answers: two boards, one of them down, and a partition that is.
SINFO = """#!/bin/sh
case "$*" in
*format*) printf 'og-01 oheogulch down*\\nog-02 oheogulch idle\\nkp-01 kapoho down\\n' ;;
*) printf 'PARTITION AVAIL TIMELIMIT NODES STATE NODELIST\\noheogulch up 20:00 2 idle og-02\\n' ;;
esac
"""


def _series(process: int, var: str) -> Path:
    return folder() / f"{process}-{var}.series"


class StateProbe(NxSdkCallbackFx):
    """Stands in for ``lava.utils.loihi2_state_probes.StateProbe``: one Var at every step."""

    def __init__(self, var: Var):
        assert isinstance(var, Var), var
        self.size = int(np.prod(var.shape))
        self.file = _series(var.process.id, var.name)
        self.file.unlink(missing_ok=True)  # of a former run, whose processes had the same ids
        note("StateProbe", var.process.name, var.name)

    def pre_run_callback(self, board: Any = None, var_id_to_var_model_map: Any = None) -> None:
        """Nothing to prepare."""

    def post_run_callback(self, board: Any = None, var_id_to_var_model_map: Any = None) -> None:
        """Nothing to fetch."""

    @property
    def time_series(self) -> np.ndarray:
        """One row, neuron by neuron, each over all steps, as its users reshape it."""
        rows = np.frombuffer(self.file.read_bytes(), np.int64).reshape(-1, self.size)
        return np.ascontiguousarray(rows.T).ravel()


BOARD = "a board"
SHOWN_AFTER_SPIKE = "CELIF_STANDIN_V_AFTER_SPIKE"
"""What V of a stock LIF shows after a spike, if not a chip's refractory count."""


class _Profiler:
    """Stands in for a class of ``lava.utils.loihi2_profiler``."""

    def attach(self, board: Any) -> None:
        assert board is BOARD, board
        note("attach", type(self).__name__)


class Loihi2Power(_Profiler):
    """Watts; its results come from the board."""

    def __init__(self, num_steps: int) -> None:
        self.num_steps = num_steps

    def get_results(self, board: Any) -> None:
        assert board is BOARD, board
        self.total_power, self.static_total_power = np.array([0.5, 0.7]), 0.2


class Loihi2ExecutionTime(_Profiler):
    """Microseconds; its results come from the board."""

    def get_results(self, board: Any) -> None:
        assert board is BOARD, board
        self.avg_time_per_step, self.time_per_step = 12.5, np.array([12.0, 13.0])


class Loihi2Activity(_Profiler):
    """Counts, by core. The stand-in has no profiler of memory."""

    def get_results(self) -> None:
        self.synops, self.cores = np.array([3, 5]), "two"


@implements(proc=CELIF, protocol=LoihiProtocol)
@requires(CPU)
@tag("standin")
class ChipCELIF(PyCELIFModelFixed):
    """An on-chip model as far as celif can tell: registered, chosen, seen through state probes."""

    def __init__(self, proc_params: Any):
        super().__init__(proc_params)
        shape, clock = proc_params["shape"], proc_params["clock"]
        note("ChipCELIF", list(shape), clock.lag, clock.steps, clock.period)

    def run_spk(self) -> None:
        """One time step."""
        super().run_spk()
        for name in ("v", "theta", "s"):
            with _series(self.model_id, name).open("ab") as f:
                f.write(np.asarray(getattr(self, name), np.int64).tobytes())


@implements(proc=LIFReset, protocol=LoihiProtocol)
@requires(CPU)
@tag("standin", "fixed_pt")
class ChipLIFReset(PyLifResetModelBitAcc):
    """Lava's fixed-point LIF with the V that a chip shows: after a spike, its refractory count."""

    def __init__(self, proc_params: Any):
        super().__init__(proc_params)
        self.count = int(os.environ.get(SHOWN_AFTER_SPIKE, REFRACTORY_COUNT))

    def reset_voltage(self, spike_vector: np.ndarray) -> None:
        """Reset, and write down what a state probe would read."""
        super().reset_voltage(spike_vector)
        shown = np.where(spike_vector, self.count, self.v)
        with _series(self.model_id, "v").open("ab") as f:
            f.write(np.asarray(shown, np.int64).tobytes())


def _module(name: str, **contents: Any) -> ModuleType:
    module = ModuleType(name)
    module.__spec__ = ModuleSpec(name, None)
    vars(module).update(contents)
    return module


@contextmanager
def installed(where: Path, *, model: bool = True) -> Iterator[None]:
    """Put the stand-in where the extension would be; ``model`` brings an on-chip CELIF along."""
    nc, c = nc_standin.AbstractNcProcessModel, type("CLoihiProcessModel", (), {})
    modules = {
        "lava.utils.loihi2_profiler": {
            cls.__name__: cls for cls in (Loihi2Power, Loihi2ExecutionTime, Loihi2Activity)
        },
        "lava.utils.loihi2_state_probes": {"StateProbe": StateProbe},
        "lava.magma.compiler.subcompilers.nc.ncproc_compiler": {},
        "lava.magma.core.model.nc.model": {"AbstractNcProcessModel": nc},
        "lava.magma.core.model.nc.ports": {
            "NcInPort": nc_standin.NcInPort,
            "NcOutPort": nc_standin.NcOutPort,
        },
        "lava.magma.core.model.nc.type": {"LavaNcType": nc_standin.LavaNcType},
        "lava.magma.core.model.nc.var": {"NcVar": nc_standin.NcVar},
        "lava.magma.core.model.nc.net": {"NetL2": nc_standin.NetL2},
        "lava.magma.core.model.nc.tables": {"Nodes": nc_standin.Nodes},
        "lava.magma.core.model.c.model": {"CLoihiProcessModel": c},
    }
    (where / "sinfo").write_text(SINFO)
    (where / "sinfo").chmod(0o755)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(FOLDER, str(where))
        patch.setenv("PATH", f"{where}{os.pathsep}{os.environ['PATH']}")
        for name, contents in modules.items():
            patch.setitem(sys.modules, name, _module(name, **contents))
        patch.setitem(sys.modules, "lava.proc.embedded_io", embedded_io)
        patch.setitem(sys.modules, "lava.proc.embedded_io.spike", spike)
        # What Lava would have imported itself, had they been there from the start.
        patch.setattr(run_configs, "CLoihiProcessModel", c, raising=False)
        patch.setattr(run_configs, "AbstractNcProcessModel", nc)
        _prefer_integers(patch)
        _compile_on_chip_models(patch)
        _listen(patch)
        if model:
            register_chip_model(CELIF, ChipCELIF)
        try:
            yield
        finally:
            unregister_chip_model(CELIF)


def _prefer_integers(patch: pytest.MonkeyPatch) -> None:
    """Stand in for on-chip synapses by Lava's fixed-point models; by default it takes float."""
    ordered = run_configs.Loihi2HwCfg._order_according_to_resources

    def order(self: Any, models: list[Any]) -> list[int]:
        return sorted(ordered(self, models), key=lambda i: "fixed_pt" not in models[i].tags)

    patch.setattr(run_configs.Loihi2HwCfg, "_order_according_to_resources", order)


def _compile_on_chip_models(patch: pytest.MonkeyPatch) -> None:
    """Walk a model for neurocores to where the chip takes over, and compute in its place here."""
    select = ChipCfg.select

    def walked(self: Any, process: AbstractProcess, proc_models: list[type]) -> type:
        model = select(self, process, proc_models)
        if isinstance(process, LIFReset):
            return ChipLIFReset
        if not issubclass(model, nc_standin.AbstractNcProcessModel):
            return model
        net = nc_standin.walk(model, process)
        constants, state = net.nodes["neurons_cfg"].fields, net.nodes["neurons"].fields
        note("allocate", model.__name__, sorted(constants), sorted(state))
        return ChipCELIF

    patch.setattr(ChipCfg, "select", walked)


def _listen(patch: pytest.MonkeyPatch) -> None:
    """Write down the calls by which Lava is told where to run, what, how long, and to stop."""
    slurm, ethernet = lava_loihi.use_slurm_host, lava_loihi.use_ethernet_host
    start, stop = AbstractProcess.run, AbstractProcess.stop

    def use_slurm_host(partition=None, board=None, loihi_gen=None):  # type: ignore[no-untyped-def]
        assert isinstance(loihi_gen, lava_loihi.ChipGeneration), loihi_gen
        slurm(partition=partition, board=board, loihi_gen=loihi_gen)
        note("use_slurm_host", partition, board, loihi_gen.value)

    def use_ethernet_host(host_address, **options):  # type: ignore[no-untyped-def]
        assert isinstance(options["loihi_gen"], lava_loihi.ChipGeneration), options
        ethernet(host_address, **options)
        note("use_ethernet_host", host_address, options["loihi_gen"].value)

    def run(self, condition, run_cfg=None, compile_config=None):  # type: ignore[no-untyped-def]
        assert isinstance(condition, RunSteps), condition
        if isinstance(run_cfg, run_configs.Loihi2HwCfg):
            assert all(isinstance(f, NxSdkCallbackFx) for f in run_cfg.callback_fxs)
            places = {name: os.environ.get(name) for name in ("SLURM", "PARTITION", "BOARD")}
            note("run", condition.num_steps, places, lava_loihi.host)
            for hook in run_cfg.callback_fxs:
                hook.pre_run_callback(BOARD, {})
            start(self, condition, run_cfg, compile_config)
            for hook in run_cfg.callback_fxs:
                hook.post_run_callback(BOARD, {})
            return None
        return start(self, condition, run_cfg, compile_config)

    def stopped(self):  # type: ignore[no-untyped-def]
        if self._runtime is not None:
            note("stop")
        stop(self)

    patch.setattr(lava_loihi, "use_slurm_host", use_slurm_host)
    patch.setattr(lava_loihi, "use_ethernet_host", use_ethernet_host)
    patch.setattr(AbstractProcess, "run", run)
    patch.setattr(AbstractProcess, "stop", stopped)
