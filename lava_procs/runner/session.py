"""One Lava network that is fed samples back to back: what goes in, how it runs, what comes out."""

from __future__ import annotations

import sys
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
from lava.magma.core.process.process import AbstractProcess
from lava.magma.core.run_configs import Loihi2SimCfg
from lava.proc.io.source import RingBuffer
from numpy.typing import DTypeLike

from export import FixedNetwork, Trace
from export.model.geometry import delayed
from export.model.layer import SpikingLayer
from export.model.lif import LeakyLayer
from lava_procs import probes
from lava_procs.processes.network.process import Network
from lava_procs.processes.recorder.process import Recorder
from lava_procs.runner.guard import GuardedJob
from lava_procs.runner.watch import run_watched

TAGS = {"fixed": "fixed_pt", "float": "floating_pt"}
STATE_TYPE = {"fixed": np.int32, "float": np.float32}
SUM_TYPE = {"fixed": np.int64, "float": np.float64}

VARIABLES = ("v", "theta", "s")
"""What a probe can see of a layer."""

# Measured: less than 1 ms per layer and step on two busy cores. A run this much slower hangs.
START_SECONDS, STEP_SECONDS = 60.0, 0.02
HEARTBEAT_SECONDS = 60.0


@dataclass(frozen=True)
class Probed:
    """Which variables of which layers a run writes down."""

    variables: tuple[str, ...]
    layers: tuple[int, ...]

    @classmethod
    def of(
        cls,
        fixed: FixedNetwork,
        trace: bool,
        variables: Collection[str] | None,
        layers: Collection[int] | None,
    ) -> Probed:
        """Check what was asked for; without anything, all of it, or nothing without a trace."""
        if variables is None:
            variables = VARIABLES if trace else ()
        if unknown := sorted(set(variables) - set(VARIABLES)):
            raise ValueError(f"probe: expected some of {', '.join(VARIABLES)}, got {unknown}")
        count = len(fixed.layers)
        chosen = range(count) if layers is None else sorted(set(layers))
        if wrong := [i for i in chosen if not 0 <= i < count]:
            raise ValueError(f"layers: expected some of 0..{count - 1}, got {wrong}")
        return cls(tuple(variables), tuple(chosen))

    def sees(self, i: int, variable: str) -> bool:
        """Whether layer i's variable is written down."""
        return variable in self.variables and i in self.layers


class Session:
    """A run in Lava on this CPU.

    Parameters
    ----------
    fixed, path
        The network, and the file that it is built from.
    folder
        Where its traces lie.
    samples
        Graded spikes (batch, channel, time).
    """

    in_memory: ClassVar[bool] = False
    """Whether the models write their traces to memory, which only this process sees."""

    def __init__(
        self,
        fixed: FixedNetwork,
        path: str,
        folder: str,
        samples: np.ndarray,
        precision: str,
        probed: Probed,
    ):
        self.fixed, self.path, self.folder, self.samples = fixed, path, folder, samples
        self.precision, self.probed = precision, probed
        self.batch, self.channels, self.steps = samples.shape
        self.period = self.steps + fixed.gap
        self.last = len(fixed.all_layers) - 1
        # The last layer finishes its last sample `lag` steps after the source.
        self.total = self.batch * self.period + fixed.all_layers[-1].lag

    def job(self, root: str, timeout: float | None, heartbeat: float | None) -> GuardedJob:
        """The run as a guard takes it, once its probes are there."""
        for name, seconds in (("timeout", timeout), ("heartbeat", heartbeat)):
            if seconds is not None and not seconds > 0:  # NaN neither is more nor ever passes
                raise ValueError(f"{name}: expected seconds, more than 0, or None, got {seconds}")
        self.create_probes()
        if timeout is None:
            timeout = START_SECONDS + STEP_SECONDS * self.total * (self.last + 1)
        name = Path(self.fixed.path).name or "a network"
        return GuardedJob(
            function=self.simulate,
            what=f"Lava run of {name} ({self.batch} × {self.steps} steps, {self.precision})",
            timeout=timeout,
            folder=self.folder,
            root=root,
            done=self.done,
            total=self.total,
            heartbeat=heartbeat,
            start=START_SECONDS,
        )

    def prefix(self, i: int) -> str:
        """Prefix of the names of layer i's trace files."""
        return f"{self.folder}/layer{i}"

    def shows(self, layer: SpikingLayer, variable: str) -> bool:
        """Whether a layer's neurons show a variable: not all have a Θ that changes."""
        return variable != "theta" or "theta" in layer.registers.values()

    def traces(self, i: int, variable: str) -> bool:
        """Whether layer i's variable ends up in the trace."""
        return self.probed.sees(i, variable) and self.shows(self.fixed.layers[i], variable)

    def records(self, i: int) -> bool:
        """Whether layer i's spikes are written down: the last one's count as logits."""
        return self.probed.sees(i, "s") or i == self.last

    def create_probes(self) -> None:
        """Make the files that the models will write to."""
        for i, layer in enumerate(self.fixed.layers):
            shape = (self.batch, self.steps, layer.neurons)
            if self.records(i):
                spikes = np.int8 if layer.output_range == (0, 1) else np.int32
                self._create(i, "s", shape, spikes)
            # SLAYER's neurons compute in integers, in whatever arithmetic the others do.
            state = STATE_TYPE[self.precision if isinstance(layer, LeakyLayer) else "fixed"]
            for variable in ("v", "theta"):
                if self.traces(i, variable):
                    self._create(i, variable, shape, state)
        if self.fixed.readout is not None:
            sums = (self.batch, self.fixed.readout.neurons)
            self._create(self.last, "sum", sums, SUM_TYPE[self.precision])
        self._create(self.last, "time", (1,), np.int64)

    def _create(self, i: int, variable: str, shape: tuple[int, ...], dtype: DTypeLike) -> None:
        probes.create(self.prefix(i), variable, shape, dtype, self.in_memory)

    def done(self) -> int:
        """Steps that the last layer has taken."""
        return int(probes.load(self.prefix(self.last), "time")[0])

    def source(self) -> RingBuffer:
        """The samples, one after another, as a Process."""
        data = np.zeros((self.channels, self.total), np.int32)
        for i, sample in enumerate(self.samples):
            start = i * self.period
            data[:, start : start + self.steps] = sample
        conv = self.fixed.layers[0].geometry
        if conv is not None:  # Lava has images as (width, height, channel)
            data = data.reshape(*conv.input_shape, -1).transpose(2, 1, 0, 3)
        source = RingBuffer(data=data)
        source.name = "input"
        return source

    def record(self, i: int, port: AbstractProcess, lag: int) -> None:
        """Write what leaves a port as layer i's spikes."""
        layer = self.fixed.layers[i]
        recorder = Recorder(
            shape=(layer.neurons,),
            lag=lag,
            steps=self.steps,
            period=self.period,
            probe=self.prefix(i),
            name=f"{layer.name} recorder",
        )
        port.connect(recorder.a_in)

    def simulate(self) -> None:
        """Build the network, feed it, run it: in the worker."""
        use_one_torch_thread()
        source, _ = self.build()
        run_watched(source, self.total, self.run_cfg(), self.folder)

    def build(self) -> tuple[RingBuffer, Network]:
        """Build the source and the network that it feeds."""
        source = self.source()
        network = Network(net_config=self.path, steps=self.steps, probe=f"{self.folder}/layer")
        source.s_out.connect(network.inp)
        return source, network

    def run_cfg(self) -> Loihi2SimCfg:
        """Say which models Lava is to choose."""
        return Loihi2SimCfg(select_tag=TAGS[self.precision])

    def collect(self) -> Trace:
        """Read the traces back, time last."""

        def read(i: int, variable: str) -> np.ndarray:
            return probes.load(self.prefix(i), variable).transpose(0, 2, 1)

        if self.fixed.readout is not None:
            logits = probes.load(self.prefix(self.last), "sum")
        else:
            # Late spikes leave the layer after the sample's end.
            spikes = probes.load(self.prefix(self.last), "s")
            left = delayed(spikes, self.fixed.layers[-1].output_delay)
            logits = left.sum(1, dtype=SUM_TYPE[self.precision])

        def column(variable: str) -> list[np.ndarray | None] | None:
            if variable not in self.probed.variables:
                return None
            return [
                read(i, variable) if self.traces(i, variable) else None
                for i in range(len(self.fixed.layers))
            ]

        return Trace(logits, spikes=column("s"), v=column("v"), theta=column("theta"))  # type: ignore[arg-type]


def check_precision(precision: str) -> None:
    """Refuse an arithmetic that there is not."""
    if precision not in TAGS:
        raise ValueError(f"precision: expected 'fixed' or 'float', got {precision!r}")


def use_one_torch_thread() -> None:
    """Keep torch, if it is imported, from waiting for threads that a fork does not have.

    Reading a file with wide layers multiplies matrices to check their sums.
    """
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)
