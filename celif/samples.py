"""The samples and checkpoints that the commands read, and the traces that they write."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from celif import console
from export import FixedNetwork, Trace, simulate
from export.model.trace import joined
from training import checkpoint, tasks
from training.support.atomic import atomic_file

if TYPE_CHECKING:
    from torch import nn

_MAGIC = b"\x93NUMPY"
_CHUNK = 256
"""Samples that the twin runs between two reports of its progress."""


def read_checkpoint(path: Path) -> tuple[nn.Module, dict[str, Any]]:
    """Read a checkpoint once: its module in evaluation mode, and everything that lies beside it."""
    content = checkpoint.read(path)
    try:
        return checkpoint.build(content).eval(), content
    except checkpoint.CheckpointError as error:
        raise checkpoint.CheckpointError(f"{path}: {error}") from None


def load(
    task: str | None, data: Path | None, file: Path | None, count: int | None
) -> tuple[np.ndarray, np.ndarray | None]:
    """Samples (batch, channel, time), and labels where they are known.

    Parameters
    ----------
    task, data
        Name of a task, whose test samples are taken, and the folder of its data.
    file
        In place of a task, a ``.npy`` file.
    count
        Take only the first ones; None takes all.
    """
    if (task is None) == (file is None):
        raise ValueError("samples: expected either --task or --input, got both or neither")
    if file is not None:
        return read_array(file)[:count], None
    test = tasks.load(task or "", data).test
    return test.x.numpy()[:count], test.y.numpy()[:count]


def read_array(file: Path) -> np.ndarray:
    """Numbers of three axes from a ``.npy`` file; nothing in it is executed."""

    def error(found: str, remedy: str) -> ValueError:
        return ValueError(
            f"--input {file}: expected a .npy file of numbers, (batch, channel, time), "
            f"found {found}; {remedy}"
        )

    again = "write it with numpy.save(file, array)"
    if not file.is_file():
        raise error("no such file", again)
    with file.open("rb") as f:
        start = f.read(len(_MAGIC))
    if start.startswith(b"PK"):
        raise error("an .npz archive", "write one array, alone, with numpy.save(file, array)")
    if start != _MAGIC:
        raise error("something else", again)
    try:
        x = np.load(file, allow_pickle=False)
    except (ValueError, EOFError) as reason:
        if "pickle" in str(reason) or "Object arrays" in str(reason):
            raise error("Python objects", "convert with array.astype(numpy.float32)") from None
        raise error(f"damage ({reason})", again) from None
    if x.dtype.kind not in "biuf":
        raise error(f"values of type {x.dtype}", "convert with array.astype(numpy.float32)")
    if x.ndim != 3:
        remedy = "give it the missing axes, of length 1 where there is one sample or channel"
        raise error(f"shape {x.shape}", remedy if x.ndim < 3 else "reshape it")
    return x


def run_twin(fixed: FixedNetwork, x: np.ndarray, trace: bool = False) -> Trace:
    """:func:`export.simulate`, with a progress bar and a warning of saturations."""
    graded = fixed.encode(x)
    parts = []
    with console.progress_bar("samples") as report:
        for start in range(0, len(graded), _CHUNK):
            parts.append(simulate(fixed, graded[start : start + _CHUNK], trace=trace))
            report(min(start + _CHUNK, len(graded)), len(graded))
    whole = joined(parts)
    counts = zip(fixed.layers, whole.saturations or (), strict=True)
    if full := [f"{layer.name} ({n:,})" for layer, n in counts if n]:
        console.warn(
            f"V or Θ stood at the end of its register in {', '.join(full)}, and was cut off "
            "there; export with calibration samples that are like these"
        )
    return whole


def save_trace(trace: Trace, path: Path | None) -> None:
    """Write logits, and spikes, V and Θ of each layer, as ``.npz``."""
    if path is None:
        return
    arrays = {"logits": trace.logits}
    for name in ("spikes", "v", "theta"):
        for i, values in enumerate(getattr(trace, name) or ()):
            if values is not None:
                arrays[f"{name}/{i}"] = values
    with atomic_file(path) as draft, draft.open("wb") as f:
        np.savez_compressed(f, **arrays)


def summary(trace: Trace, labels: np.ndarray | None) -> dict[str, Any]:
    """Print what a run found; return it as plain values, for JSON."""
    result: dict[str, Any] = {
        "samples": len(trace.logits),
        "predictions": trace.predictions.tolist(),
    }
    line = f"{result['samples']} samples"
    if labels is not None:
        result["accuracy"] = float((trace.predictions == labels).mean())
        line += f", accuracy {result['accuracy']:.2%}"
    if trace.saturations is not None:
        result["saturations"] = trace.saturations
        line += f", {sum(trace.saturations):,} saturations"
    console.say(line)
    return result
