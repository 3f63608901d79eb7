"""``verify``: compare a file with its network, rung by rung, and measure what rounding costs."""

from __future__ import annotations

import os
from collections.abc import Collection
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import nn

from celif.verification.alarms import Alarm, alarms, input_alarm
from celif.verification.file_check import COMPARED, Provenance, examine
from celif.verification.float_run import Source, float_source
from celif.verification.gap import Gap, measure_gap
from export import FixedNetwork, read_netx
from export.convert.reading.from_blocks import members
from export.convert.to_integers import is_followed
from export.graph.blocks import is_convolution
from hw_tests import ladder
from hw_tests.backends import Backend
from hw_tests.ladder import Result, climb
from training import Network
from training.support.summary import Summarised, Summary
from training.tasks.labels import class_labels

if TYPE_CHECKING:
    from lava_procs import Loihi

LAVA_SAMPLES = 4
"""Samples that go through Lava, where a step costs milliseconds."""


@dataclass(frozen=True)
class Verification(Summarised):
    """The result of every rung and, where the float network is known, its export and the gap."""

    rungs: tuple[Result, ...]
    source: Provenance | None = None
    """The comparison of the file with the network that it was exported from."""
    gap: Gap | None = None
    alarms: tuple[Alarm, ...] = ()

    def summary(self) -> Summary:
        """Return every comparison with its verdict, the gap in a line, and the verdict of all."""
        rows = [
            (f"rung {rung.rung}", rung.compared, f"{rung.values:,}", rung.verdict)
            for rung in self.rungs
        ]
        if self.source is not None:
            checked = ("file", COMPARED, f"{self.source.values:,}", self.source.verdict)
            rows.insert(0, checked)
        lines = [] if self.gap is None else [str(self.gap)]
        lines += map(str, self.alarms)
        title = f"Verification: {self.verdict}"
        return Summary(title, ("", "compared", "values", "verdict"), tuple(rows), "; ".join(lines))

    @property
    def verdict(self) -> str:
        """``passed``, ``FAILED`` or ``incomplete``."""
        if self.failed:
            return "FAILED"
        return "passed" if self.equal else "incomplete"

    @property
    def differs(self) -> bool:
        """Whether anything that must be equal is not."""
        source = self.source is not None and not self.source.equal
        forward = self.gap is not None and self.gap.otherwise is not None
        return source or forward or any(result.verdict == "DIFFERS" for result in self.rungs)

    @property
    def equal(self) -> bool:
        """Whether every rung that was asked for ran, at least one, and nothing differs."""
        asked = [r for r in self.rungs if r.why not in (ladder.UNASKED, ladder.INAPPLICABLE)]
        ran = bool(asked) and all(result.verdict != "not run" for result in asked)
        return ran and not self.differs

    @property
    def failed(self) -> bool:
        """Whether something differs, or the accuracy fell although all integers are equal."""
        return self.differs or any(alarm.fails for alarm in self.alarms)

    @property
    def complete(self) -> bool:
        """Whether every rung below the chip ran that applies to the network."""
        below = [result for result in self.rungs if result.rung < ladder.CHIP]
        return not any(result.why in (ladder.UNASKED, ladder.UNAVAILABLE) for result in below)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        source = (
            None if self.source is None else {"equal": self.source.equal, **asdict(self.source)}
        )
        return {
            "equal": self.equal,
            "failed": self.failed,
            "complete": self.complete,
            "source": source,
            "rungs": [result.to_dict() for result in self.rungs],
            "gap": None if self.gap is None else asdict(self.gap),
            "alarms": [asdict(alarm) for alarm in self.alarms],
        }


def verify(
    path: str | os.PathLike[str] | FixedNetwork,
    net: Source | None,
    x: torch.Tensor | np.ndarray,
    y: torch.Tensor | np.ndarray | None = None,
    *,
    targets: Collection[str] = ("torch", "twin", "lava"),
    lava_samples: int = LAVA_SAMPLES,
    chip: Loihi | Backend | None = None,
    refractory: bool = True,
) -> Verification:
    """Compare a file with what it was exported from, climb the ladder, and measure the gap.

    Parameters
    ----------
    path
        The netx file, or what :func:`export.read_netx` made of it.
    net
        The network it was exported from: a float network, a quantisation-aware one, or blocks. It
        is called as its user calls it, ``net(x)``, and a forward pass that is not what the file
        holds counts as a difference. None leaves out the comparison with it, and the gap.
    x, y
        Inputs (batch, channel, time) or, of images, (batch, channel, row, column, time), as the
        float network takes them, and the class of each, for accuracy.
        The gap uses all of them, the rungs the first ``lava_samples``.
    targets
        Back ends to compare, of ``torch``, ``twin``, ``lava`` and ``loihi2``, or their names in a
        string, such as ``"twin,lava"``.
    lava_samples
        How many samples climb the ladder.
    chip
        The Loihi 2 of target ``loihi2``; by default the one that the environment names, or a
        recorded one (:func:`hw_tests.recorded.recorded_loihi2`).
    refractory
        Whether V of stock LIF neurons is compared with a chip's as the chip shows it after a
        spike, with its refractory count.
    """
    fixed = path if isinstance(path, FixedNetwork) else read_netx(path)
    values = np.asarray(x)
    if values.ndim == 5:  # a file numbers the pixels of images as torch flattens them
        values = values.reshape(len(values), -1, values.shape[-1])
    graded = fixed.encode(values)
    labels = None
    if y is not None:
        labels = class_labels("y", y, len(values), fixed.all_layers[-1].neurons)
    rungs = tuple(climb(fixed, graded[:lava_samples], targets, chip, refractory))
    if net is None:
        return Verification(rungs)
    if not isinstance(net, nn.Module):
        net = list(net)  # to be gone through more than once
    samples = as_floats(fixed, values)
    floats = float_source(net)
    if isinstance(floats, nn.Module) and is_followed(floats):
        samples = samples.reshape(*np.shape(x)[:-1], -1)  # in the user's own shape
    elif not isinstance(floats, Network):
        samples = as_images(fixed, floats, samples)
    source = examine(fixed, net, samples[:lava_samples], graded[:lava_samples])
    gap = measure_gap(fixed, net, samples, graded, labels)
    inputs = None if values.dtype.kind != "f" else input_alarm(values, fixed.encoding)
    return Verification(rungs, source, gap, alarms(gap, inputs))


def as_floats(fixed: FixedNetwork, x: np.ndarray) -> np.ndarray:
    """Samples as the float network takes them; graded spikes are scaled, and put back in order."""
    if not (np.issubdtype(x.dtype, np.integer) or x.dtype == bool):
        return x
    order = fixed.encoding.permutation
    values = x * fixed.encoding.scale
    return values if order is None else values[:, :, np.argsort(order)]


def as_images(fixed: FixedNetwork, blocks: Source, samples: np.ndarray) -> np.ndarray:
    """Samples in the shape that the first block wants: images for a convolution."""
    geometry = fixed.layers[0].geometry
    if geometry is None or not is_convolution(members(blocks)[0]):
        return samples
    return samples.reshape(len(samples), *geometry.input_shape, samples.shape[-1])
