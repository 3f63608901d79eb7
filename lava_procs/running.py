"""Feed samples to a network in Lava, all at once or from a stream, and collect its traces."""

from __future__ import annotations

import itertools
import os
import shutil
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import closing, nullcontext
from functools import partial

import numpy as np

from export import FixedNetwork, ModelError, Trace
from export.model.trace import joined
from lava_procs.loihi.host import Loihi
from lava_procs.loihi.session import ChipSession
from lava_procs.run_arguments import (
    check_runtime,
    checked,
    chip_of,
    count_of,
    file_of,
    new_folder,
    session_kind,
)
from lava_procs.runner.inline_session import InlineSession
from lava_procs.runner.session import HEARTBEAT_SECONDS, Session
from lava_procs.runner.shared_memory import check_shared_memory, needed
from lava_procs.runner.supervise import GuardedJob, supervise

_CHUNK_STEPS = 1000
"""Steps that a network of a stream should run for at least: starting one takes as long as 200."""


def run(
    net: str | os.PathLike[str] | FixedNetwork,
    x: np.ndarray,
    precision: str = "fixed",
    *,
    timeout: float | None = None,
    heartbeat: float | None = HEARTBEAT_SECONDS,
    workers: int | None = 1,
    trace: bool = True,
    probe: Collection[str] | None = None,
    layers: Collection[int] | None = None,
    progress: Callable[[int, int], None] | None = None,
    target: str | Loihi = "lava",
    runtime: str = "inline",
) -> Trace:
    """Run samples through a network in Lava, on this CPU or on a Loihi 2.

    Lava's models run in this process, or in processes that are gone when this returns or raises.

    Parameters
    ----------
    net
        A file that :func:`export.to_netx` wrote, or the network itself.
    x
        Samples (batch, channel, time): integers as they are, floats through the file's encoding.
        They may be shorter than the network's TE tables.
    precision
        ``"fixed"``, the integers of the file, or ``"float"``, the float32 that they stand for.
    timeout
        Seconds; by default a minute and ample time for every step.
    heartbeat
        Seconds without a single step after which the run is ended, and the model named that the
        others wait for; None waits for the timeout. The first step may take a minute.
    workers
        Lava networks that share the samples and run side by side, in processes of their own if
        there are several; None takes as many as there are cores. The result is the same.
    trace
        Collect every layer's spikes, V and Θ as well, not only the logits.
    probe, layers
        Collect only some of ``"v"``, ``"theta"`` and ``"s"``, and only of these layers, by number.
        What it costs is measured by ``python -m benchmarks.lava.probe_cost``.
    progress
        Called as ``progress(steps done, steps in all)`` now and then.
    target
        ``"lava"``, this CPU; ``"loihi2"``, or which one and how: a :class:`lava_procs.Loihi`.
    runtime
        ``"inline"`` runs Lava's models in one process (:func:`lava_procs.inline`); ``"lava"`` uses
        Lava's own runtime, with a process for each model, and ends all of them if one hangs. A run
        on a chip always uses Lava's own.

    Returns
    -------
    Trace
        Logits are the readout's sums, or else the last layer's spike counts. ``theta`` is
        None for all but CE-LIF layers; of sigma-delta layers, spikes are graded and ``v`` is σ.

    Raises
    ------
    LavaRunError
        A model raised or was killed; the message has its name and traceback.
    LavaTimeoutError
        The run did not end in time, or (LavaStalledError) stood still.
    LoihiMissingError
        Something that a run on the chip needs is not there.
    """
    fixed, probed = checked(net, precision, trace, probe, layers)
    check_runtime(runtime)
    chip = chip_of(target, precision, workers)
    samples = fixed.encode(x)
    parts = np.array_split(samples, max(1, min(count_of(workers), len(samples))))
    if chip is None and runtime == "lava":
        check_shared_memory(needed(fixed), len(parts))
    reached = nullcontext() if chip is None else chip.reached()
    with reached, tempfile.TemporaryDirectory(prefix="celif-") as root:
        path = file_of(net, root)
        if chip is None and runtime == "inline" and len(parts) == 1:
            single = InlineSession(fixed, path, "", samples, precision, probed)
            report_steps = None if progress is None else partial(_report, progress, single.total)
            found = single.run(timeout, heartbeat, report_steps)
            if progress is not None:
                progress(single.total, single.total)
            return found
        kind = session_kind(runtime) if chip is None else partial(ChipSession, chip=chip)
        sessions = [kind(fixed, path, new_folder(root), part, precision, probed) for part in parts]
        total = sum(session.total for session in sessions)

        def report() -> None:
            if progress is not None:
                progress(sum(session.done() for session in sessions), total)

        jobs = [session.job(root, timeout, heartbeat) for session in sessions]
        for _ in supervise(jobs, len(jobs), report):
            pass
        if progress is not None:
            progress(total, total)
        return joined([session.collect() for session in sessions])


def run_stream(
    net: str | os.PathLike[str] | FixedNetwork,
    samples: Iterable[np.ndarray],
    precision: str = "fixed",
    *,
    chunk: int | None = None,
    timeout: float | None = None,
    heartbeat: float | None = HEARTBEAT_SECONDS,
    workers: int | None = 1,
    trace: bool = True,
    probe: Collection[str] | None = None,
    layers: Collection[int] | None = None,
    runtime: str = "inline",
) -> Iterator[Trace]:
    """Run samples as they come, and yield a Trace of one for each, in order.

    No more than ``chunk`` × ``workers`` samples, and what was seen of them, are held at a time.
    Whoever stops early closes the generator, which ends every process.

    Parameters
    ----------
    samples
        Each (channel, time), of any length that the network takes.
    chunk
        Samples that one Lava network takes before the next is started; by default enough for a
        thousand steps, against the time that a start takes.
    timeout
        Seconds for one chunk.
    net, precision, heartbeat, workers, trace, probe, layers, runtime
        As in :func:`run`.
    """
    fixed, probed = checked(net, precision, trace, probe, layers)
    check_runtime(runtime)
    if chunk is not None and chunk < 1:
        raise ValueError(f"chunk: expected 1 or more, got {chunk}")
    count = count_of(workers)
    if runtime == "lava":
        check_shared_memory(needed(fixed), count)

    def inline_traces() -> Iterator[Trace]:
        with tempfile.TemporaryDirectory(prefix="celif-") as root:
            path = file_of(net, root)
            for group in _chunks(samples, fixed, chunk):
                single = InlineSession(fixed, path, "", group, precision, probed)
                seen = single.run(timeout, heartbeat)
                for i in range(single.batch):
                    yield seen.sample(i)

    def traces() -> Iterator[Trace]:
        kind = session_kind(runtime)
        sessions: list[Session] = []

        def jobs() -> Iterator[GuardedJob]:
            for group in _chunks(samples, fixed, chunk):
                session = kind(fixed, path, new_folder(root), group, precision, probed)
                sessions.append(session)
                yield session.job(root, timeout, heartbeat)

        with tempfile.TemporaryDirectory(prefix="celif-") as root:
            path = file_of(net, root)
            # Closed before its folder goes, whether the stream ends or is left.
            with closing(supervise(jobs(), count)) as results:
                for _ in results:
                    session = sessions.pop(0)
                    seen = session.collect()
                    shutil.rmtree(session.folder)
                    for i in range(session.batch):
                        yield seen.sample(i)

    return inline_traces() if runtime == "inline" and count == 1 else traces()


def _chunks(
    samples: Iterable[np.ndarray], fixed: FixedNetwork, chunk: int | None
) -> Iterator[np.ndarray]:
    """Successive samples of one shape, encoded, in groups."""

    def encoded() -> Iterator[np.ndarray]:
        for i, sample in enumerate(samples):
            values = np.asarray(sample)
            if values.ndim != 2:
                raise ModelError(
                    f"sample {i}: expected (channel, time), got shape {values.shape}; "
                    "run takes a batch at once"
                )
            yield fixed.encode(values[None])

    for shape, alike in itertools.groupby(encoded(), key=np.shape):
        size = chunk or -(-_CHUNK_STEPS // (shape[2] + fixed.gap))
        while group := list(itertools.islice(alike, size)):
            yield np.concatenate(group)


def _report(progress: Callable[[int, int], None], total: int, done: int) -> None:
    progress(done, total)
