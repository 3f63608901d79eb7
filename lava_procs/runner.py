"""Feed samples to a network in Lava, back to back, and collect its trace."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from lava.magma.core.run_configs import Loihi2SimCfg
from lava.proc.io.source import RingBuffer

from export import FixedNetwork, ModelError, Trace, read_netx, write_netx
from export.model import CubaLayer
from lava_procs import probes
from lava_procs.netx.process import Network
from lava_procs.recorder.process import Recorder
from lava_procs.supervise import LavaTimeoutError, supervise
from lava_procs.watch import run_watched

TAGS = {"fixed": "fixed_pt", "float": "floating_pt"}
STATE_TYPE = {"fixed": np.int32, "float": np.float32}
SUM_TYPE = {"fixed": np.int64, "float": np.float64}

# Measured: less than 1 ms per layer and step on two busy cores. A run this much slower hangs.
START_SECONDS, STEP_SECONDS = 60.0, 0.02


def run(
    net: str | os.PathLike[str] | FixedNetwork,
    x: np.ndarray,
    precision: str = "fixed",
    *,
    timeout: float | None = None,
    trace: bool = True,
    progress: Callable[[int, int], None] | None = None,
) -> Trace:
    """Run samples through a network in Lava on this CPU.

    Everything happens in processes of its own, all of which are gone when this returns or raises.

    Parameters
    ----------
    net
        A file that :func:`export.to_netx` wrote, or the network itself.
    x
        Samples (batch, channel, time): integers as they are, floats through the file's encoding.
        They may be shorter than the network's TE tables.
    precision
        ``"fixed"``, as Loihi computes, or ``"float"``, the float32 that the integers stand for.
    timeout
        Seconds; by default a minute and ample time for every step.
    trace
        Collect every layer's spikes, V and Θ as well, not only the logits.
    progress
        Called as ``progress(steps done, steps in all)`` now and then.

    Returns
    -------
    Trace
        Logits are the readout's sums, or else the last layer's spike counts. ``v`` and ``theta``
        are None for CUBA layers.

    Raises
    ------
    LavaRunError
        A model raised or was killed; the message has its name and traceback.
    LavaTimeoutError
        The run did not end in time.
    """
    if precision not in TAGS:
        raise ValueError(f"precision: expected 'fixed' or 'float', got {precision!r}")
    fixed = net if isinstance(net, FixedNetwork) else read_netx(net)
    cuba = [layer.name for layer in fixed.layers if isinstance(layer, CubaLayer)]
    if precision == "float" and cuba:
        raise ModelError(
            f"precision 'float': expected CE-LIF layers only, found CUBA neurons in {cuba[0]}, "
            "whose integers mean nothing to Lava's float LIF; use precision='fixed'"
        )
    samples = fixed.encode(x)
    with tempfile.TemporaryDirectory(prefix="celif-") as folder:
        path = os.fspath(net) if not isinstance(net, FixedNetwork) else f"{folder}/net.net"
        if isinstance(net, FixedNetwork):
            write_netx(fixed, path)
        session = _Session(fixed, path, folder, samples, precision, trace)
        session.create_probes()
        session.supervise(timeout, progress)
        return session.collect()


class _Session:
    """One run: what goes in, where its traces lie, how long it is."""

    def __init__(
        self,
        fixed: FixedNetwork,
        path: str,
        folder: str,
        samples: np.ndarray,
        precision: str,
        trace: bool,
    ):
        self.fixed, self.path, self.folder, self.samples = fixed, path, folder, samples
        self.precision, self.trace = precision, trace
        self.batch, self.channels, self.steps = samples.shape
        self.period = self.steps + fixed.gap
        self.last = len(fixed.all_layers) - 1
        # The last layer finishes its last sample `lag` steps after the source.
        self.total = self.batch * self.period + fixed.all_layers[-1].lag

    def prefix(self, i: int) -> str:
        """Of layer i's trace files."""
        return f"{self.folder}/layer{i}"

    def create_probes(self) -> None:
        """Make the files that the models will write to."""
        state = STATE_TYPE[self.precision]
        for i, layer in enumerate(self.fixed.layers):
            shape = (self.batch, self.steps, layer.neurons)
            if self.trace or i == self.last:
                probes.create(self.prefix(i), "s", shape, np.int8)
            if self.trace and not isinstance(layer, CubaLayer):
                probes.create(self.prefix(i), "v", shape, state)
                probes.create(self.prefix(i), "theta", shape, state)
        if self.fixed.readout is not None:
            sums = (self.batch, self.fixed.readout.neurons)
            probes.create(self.prefix(self.last), "sum", sums, SUM_TYPE[self.precision])
        probes.create(self.prefix(self.last), "time", (1,), np.int64)

    def supervise(self, timeout: float | None, progress: Callable[[int, int], None] | None) -> None:
        """Run it, in a process of its own."""
        if timeout is None:
            timeout = START_SECONDS + STEP_SECONDS * self.total * (self.last + 1)
        name = Path(self.fixed.path).name or "a network"
        try:
            supervise(
                partial(_simulate, self),
                what=f"Lava run of {name} ({self.batch} × {self.steps} steps, {self.precision})",
                timeout=timeout,
                folder=self.folder,
                poll=None if progress is None else lambda: progress(self.done(), self.total),
            )
        except LavaTimeoutError as error:
            raise LavaTimeoutError(f"{error} (step {self.done()} of {self.total})") from None
        if progress is not None:
            progress(self.total, self.total)

    def done(self) -> int:
        """Steps that the last layer has taken."""
        return int(probes.load(self.prefix(self.last), "time")[0])

    def collect(self) -> Trace:
        """Read the traces back, time last."""
        layers = range(len(self.fixed.layers))

        def read(i: int, variable: str) -> np.ndarray:
            return probes.load(self.prefix(i), variable).transpose(0, 2, 1)

        if self.fixed.readout is not None:
            logits = probes.load(self.prefix(self.last), "sum")
        else:
            # Of a shifted layer, the last step's spikes leave it after the sample's end.
            sent = self.steps - self.fixed.layers[-1].delay_shift
            logits = read(self.last, "s")[..., :sent].sum(2, dtype=SUM_TYPE[self.precision])
        if not self.trace:
            return Trace(logits)
        seen = [not isinstance(layer, CubaLayer) for layer in self.fixed.layers]
        return Trace(
            logits,
            spikes=[read(i, "s") for i in layers],
            v=[read(i, "v") if seen[i] else None for i in layers],
            theta=[read(i, "theta") if seen[i] else None for i in layers],
        )


def _simulate(session: _Session) -> None:
    """Build the network, feed it, run it: in the worker."""
    data = np.zeros((session.channels, session.total), np.int32)
    for i, sample in enumerate(session.samples):
        start = i * session.period
        data[:, start : start + session.steps] = sample
    source = RingBuffer(data=data)
    source.name = "input"
    network = Network(net_config=session.path, steps=session.steps, probe=f"{session.folder}/layer")
    source.s_out.connect(network.inp)
    for i, layer in enumerate(session.fixed.layers):
        if isinstance(layer, CubaLayer) and (session.trace or i == session.last):
            recorder = Recorder(
                shape=(layer.neurons,),
                lag=layer.lag,
                steps=session.steps,
                period=session.period,
                probe=session.prefix(i),
                name=f"{layer.name} recorder",
            )
            network.layers[i].out.connect(recorder.a_in)
    run_watched(source, session.total, Loihi2SimCfg(select_tag=TAGS[session.precision]))
