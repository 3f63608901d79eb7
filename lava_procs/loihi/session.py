"""A run on Loihi 2: what is placed where, what lies between, and what comes back.

::

    host:  input ── PyToNxAdapter
    chip:                └─ layers 0 … n ── NxToPyAdapter
    host:                                        └─ readout, or recorder of the last spikes

The readout stays on the host: its sums have 32 bits, and it has no on-chip model. V, Θ and S of
the layers on the chip come back through state probes; of stock LIF layers V alone, as the chip
shows it after the step (0, or after a spike its refractory count), and their spikes through an
adapter. In the hybrid mode every CELIF is on the host, see
:mod:`lava_procs.processes.hosted.process`.

The calls are those of Lava's and lava-dl's public code (netx tests on the chip, GradedVec
networks, PilotNet's run configuration). None of it has met a chip: the tests walk it with a
stand-in.
"""

from __future__ import annotations

import importlib
import itertools
from collections.abc import Collection
from typing import Any

import numpy as np
from lava.magma.core.process.process import AbstractProcess
from lava.magma.core.run_configs import Loihi2HwCfg, Loihi2SimCfg
from lava.proc.io.source import RingBuffer

from export import FixedNetwork, ModelError
from export.loihi2 import STATE_BITS
from export.model.layer import SpikingLayer
from export.model.lif import LeakyLayer
from export.model.network import CubaLayer, Layer, SigmaDeltaLayer
from lava_procs import probes
from lava_procs.loihi.chip_models import chip_models
from lava_procs.loihi.host import Loihi
from lava_procs.loihi.profile import hooks
from lava_procs.neuron_processes import process_for
from lava_procs.processes.hosted.process import Hosted
from lava_procs.processes.network.process import Network
from lava_procs.processes.readout.process import Readout
from lava_procs.processes.recorder.process import Recorder
from lava_procs.processes.sign_extend.process import SignExtend
from lava_procs.runner.guard import GuardedJob
from lava_procs.runner.session import VARIABLES, Probed, Session
from lava_procs.runner.watch import run_watched

# Boards are queued for, booted and loaded before the first step.
START_SECONDS = 1800.0

_ON_HOST = (RingBuffer, Readout, Recorder, SignExtend)


class ChipCfg(Loihi2HwCfg):
    """Loihi2HwCfg that keeps some Processes on the host, in fixed point.

    Lava's own takes an on-chip model wherever there is one, and otherwise the first in the file,
    which is in float.
    """

    def __init__(
        self, on_host: Collection[AbstractProcess], host_types: tuple[type, ...], **options: Any
    ):
        super().__init__(**options)
        self._on_host, self._host_types = set(on_host), host_types
        self._host_cfg = Loihi2SimCfg(select_tag="fixed_pt")

    def select(self, process: AbstractProcess, proc_models: list[type]) -> type:
        """Choose the model that runs a Process."""
        if process in self._on_host or isinstance(process, self._host_types):
            return self._host_cfg.select(process, proc_models)
        return super().select(process, proc_models)


class ChipSession(Session):
    """A run that is on the chip wholly or in part; see :class:`lava_procs.loihi.host.Loihi`."""

    def __init__(
        self,
        fixed: FixedNetwork,
        path: str,
        folder: str,
        samples: np.ndarray,
        precision: str,
        probed: Probed,
        chip: Loihi,
    ):
        super().__init__(fixed, path, folder, samples, precision, probed)
        check_layers(fixed, chip.hybrid)
        leaky = (layer for layer in fixed.layers if isinstance(layer, LeakyLayer))
        self.neurons = {process_for(layer) for layer in leaky}
        self.chip = chip
        self.into, self.out_of = chip.adapter_steps
        self.on_chip = len(fixed.layers)
        # Room for a sign, whatever the encoding has.
        self.message_bits = STATE_BITS if fixed.encoding.message_bits else 0
        if any(isinstance(layer, CubaLayer) for layer in fixed.layers):
            # On the chip LIFReset counts its interval in powers of two.
            self.period = 1 << (self.period - 1).bit_length()
        self.hosted = [
            layer is fixed.readout or (chip.hybrid and isinstance(layer, LeakyLayer))
            for layer in fixed.all_layers
        ]
        self.late = _lateness(self.hosted, self.into, self.out_of)
        # A spike recorded by an adapter comes that much later still.
        lag = fixed.all_layers[-1].lag + self.late[-1] + self.out_of
        self.total = self.batch * self.period + lag

    def job(self, root: str, timeout: float | None, heartbeat: float | None) -> GuardedJob:
        job = super().job(root, timeout, heartbeat)
        return GuardedJob(
            **{
                **job.__dict__,
                "what": job.what.replace("Lava run", f"{self.chip} run", 1),
                "timeout": job.timeout + START_SECONDS if timeout is None else timeout,
                "start": START_SECONDS,
            }
        )

    def shows(self, layer: SpikingLayer, variable: str) -> bool:
        """Whether a layer's variable is traced."""
        return variable == "s" or super().shows(layer, variable)

    def simulate(self) -> None:
        """Build, place, run and stop the network, in the worker."""
        adapters = importlib.import_module("lava.proc.embedded_io.spike")
        source = self.source()
        network = self.network(adapters, num_layers=None if self.chip.hybrid else self.on_chip)
        # A convolution's input has an adapter of its own.
        images = len(network.inp.shape) == 3
        into = adapters.PyToN3ConvAdapter if images else adapters.PyToNxAdapter
        entry = into(shape=network.inp.shape, num_message_bits=self.message_bits)
        source.s_out.connect(entry.inp)
        entry.out.connect(network.inp)
        on_host = self.attach_readout(network, adapters)
        self.record_spikes(network, adapters)
        seen = self.state_probes(network)
        profilers = hooks(self.chip.profile, self.total) if self.chip.profile else []
        run_cfg = ChipCfg(
            on_host,
            (*_ON_HOST, *(self.neurons if self.chip.hybrid else ())),
            exception_proc_model_map={} if self.chip.hybrid else chip_models(),
            callback_fxs=[*seen.values(), *profilers],
        )
        run_watched(source, self.total, run_cfg, self.folder)
        source.stop()  # gives the board back
        for (i, variable), probe in seen.items():
            self.write(i, variable, probe.time_series)

    def network(self, adapters: Any, **options: Any) -> Network:
        """Build the file's network, or part of it, with the lags that adapters add."""

        def host(neuron: AbstractProcess) -> AbstractProcess:
            returns = neuron.name != self.fixed.all_layers[-1].name
            return Hosted(neuron=neuron, adapters=adapters, returns=returns)

        return Network(
            net_config=self.path,
            input_message_bits=options.pop("input_message_bits", self.message_bits),
            steps=self.steps,
            reset_interval=self.period,
            probe=f"{self.folder}/layer",
            late=options.pop("late", self.late),
            host=host if self.chip.hybrid else None,
            stock_neurons=True,
            **options,
        )

    def attach_readout(self, network: Network, adapters: Any) -> list[AbstractProcess]:
        """Let the last layer's spikes into the readout on the host; return its synapses.

        They have an on-chip model as well, which Lava would choose.
        """
        if self.fixed.readout is None or self.chip.hybrid:
            return []
        # A network without its first layers knows nothing of their lag.
        start = self.fixed.layers[-1].lag
        late = [start + steps for steps in self.late]
        readout = self.network(adapters, skip_layers=self.on_chip, late=late, input_message_bits=0)
        leave = adapters.NxToPyAdapter(shape=network.out.shape)
        network.out.connect(leave.inp)
        leave.out.connect(readout.inp)
        return [layer.synapse for layer in readout.layers]

    def record_spikes(self, network: Network, adapters: Any) -> None:
        """Attach recorders on the host for spikes that would leave no trace."""
        for i, layer in enumerate(self.fixed.layers):
            counted = i == self.last and not self.hosted[i]
            if not counted and not (isinstance(layer, CubaLayer) and self.records(i)):
                continue
            leave = adapters.NxToPyAdapter(shape=network.layers[i].out.shape)
            network.layers[i].out.connect(leave.inp)
            self.record(i, leave.out, layer.lag + self.late[i] + self.out_of)

    def state_probes(self, network: Network) -> dict[tuple[int, str], Any]:
        """Make Lava's probes of V, Θ and S of the layers on the chip; of stock LIF of V alone."""
        seen = [
            (i, variable)
            for i, layer in enumerate(self.fixed.layers)
            for variable in VARIABLES
            if not self.hosted[i]
            and (variable == "v" or isinstance(layer, LeakyLayer))
            and self.traces(i, variable)
            and not (variable == "s" and i == self.last)
        ]
        if not seen:
            return {}
        probe = importlib.import_module("lava.utils.loihi2_state_probes").StateProbe
        return {
            (i, variable): probe(getattr(network.layers[i].neuron, variable))
            for i, variable in seen
        }

    def write(self, i: int, variable: str, series: np.ndarray) -> None:
        """Cut a state probe's series, neuron by neuron, into samples."""
        layer = self.fixed.layers[i]
        values = np.asarray(series).reshape(layer.neurons, -1)
        if values.shape[1] < self.total:
            raise ModelError(
                f"{layer.name} {variable}: expected {self.total} steps from the chip's state "
                f"probe, got {values.shape[1]}"
            )
        trace = probes.load(self.prefix(i), variable)
        first = layer.lag + self.late[i]
        for sample in range(self.batch):
            start = first + sample * self.period
            trace[sample] = values[:, start : start + self.steps].T
        probes.store(self.prefix(i), variable, trace)


def _lateness(hosted: list[bool], into: int, out_of: int) -> list[int]:
    """Return the steps that adapters add to each layer's lag."""
    late, before = [], into
    for on_host in hosted:
        late.append(before + out_of * on_host)
        before += (into + out_of) * on_host
    return late


def _is_cuba(layer: Layer | None) -> bool:
    return isinstance(layer, CubaLayer)


def check_layers(fixed: FixedNetwork, hybrid: bool) -> None:
    """Refuse layers that cannot be placed."""
    models = {} if hybrid else chip_models()
    for layer, after in itertools.zip_longest(fixed.layers, fixed.all_layers[1:]):
        if isinstance(layer, LeakyLayer) and not hybrid and process_for(layer) not in models:
            raise ModelError(
                f"{layer.name}: expected an on-chip model of {layer.kind}, found none; register "
                "one with lava_procs.register_chip_model, or use --hybrid, which keeps such "
                "neurons on the host"
            )
        if isinstance(layer, SigmaDeltaLayer):
            raise ModelError(
                f"{layer.name}: expected spiking neurons, found sigma-delta ones, which Lava's "
                "stock Process does not reset between samples; run it with target lava"
            )
        if layer.delay is not None and after is not None and after.sum_right_shift:
            raise ModelError(
                f"{layer.name} delay: expected none before {after.name}, whose synapses shift "
                "their sums, and on a chip those of each delay apart; run it with target lava"
            )
        # A shift takes one step's spikes into the next sample, which CELIF and Readout ignore.
        ignored = layer.delay is None and layer.weight_rec is None and not _is_cuba(after)
        if _is_cuba(layer) and layer.gap and not ignored:
            raise ModelError(
                f"{layer.name}: expected CUBA neurons whose spikes are on time, found a delay, a "
                "recurrence or a shift before another CUBA layer: Lava's stock LIF, which the "
                "chip has, is not silent between samples, so spikes would leak from one into the "
                "next; run it with target lava"
            )
        if hybrid and getattr(layer, "weight_rec", None) is not None:
            raise ModelError(
                f"{layer.name}: expected feedforward layers in the hybrid mode, found a recurrent "
                "one, whose own spikes would come back steps too late; run it with an on-chip "
                "model of CELIF"
            )
