"""A case on disk: parameters as JSON, vectors as npz and CSV; the same bytes every time.

``input.csv`` and ``logits.csv`` hold what the names say.
``trace.npz`` has the names that ``celif run --output`` writes: ``logits`` (sample, class) and, for
layer i, ``spikes/i``, ``v/i``, ``theta/i`` (sample, neuron, step); beside them ``input`` and
``sum/i``, the synaptic sum that arrived. ``trace.csv`` has a row for each sample, layer, neuron and
step of the period, with Lava's time step; past the sample's end nothing is sent.
"""

from __future__ import annotations

import io
import json
import zipfile
import zlib
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import numpy as np

from export import FixedNetwork, Trace, simulate
from export.model import geometry
from export.model.geometry import Geometry
from export.model.layer import Layer
from export.model.lif import LeakyLayer
from export.model.network import CelifLayer
from export.model.slayer import SigmaDeltaLayer
from export.model.te import CosineTable, Table
from export.twin.scans import arriving_sums
from training.support.plain_files import check_npz

COLUMNS = ("sample", "layer", "neuron", "k", "time_step", "sum", "theta", "v", "s")
_EPOCH = (1980, 1, 1, 0, 0, 0)


def _sums(net: FixedNetwork, graded: np.ndarray, spikes: list[np.ndarray]) -> list[np.ndarray]:
    """What arrives at every layer, (sample, neuron, step), from itself too."""
    arriving, input_max = graded.transpose(0, 2, 1), max(map(abs, net.encoding.range))
    found = []
    for layer, own in zip(net.layers, spikes, strict=True):
        sums = arriving_sums(layer, np.ascontiguousarray(arriving), input_max)
        fired = np.ascontiguousarray(own.transpose(0, 2, 1))
        if layer.weight_rec is not None:
            before = np.zeros_like(fired)
            before[:, 1:] = fired[:, :-1]
            sums = sums + layer.align_recurrent(before.astype(np.int64) @ layer.weight_rec.T)
        found.append(sums.astype(np.int64).transpose(0, 2, 1))
        arriving = geometry.delayed(fired, layer.output_delay)
        input_max = max(map(abs, layer.output_range))
    return found


def vectors(net: FixedNetwork, x: np.ndarray) -> dict[str, np.ndarray]:
    """Every array of a case, by its name in the archive."""
    graded = net.encode(x)
    trace = simulate(net, graded, trace=True)
    spikes = trace.spikes or []
    arrays: dict[str, np.ndarray] = {"input": graded.astype(np.int32), "logits": trace.logits}
    for i, sums in enumerate(_sums(net, graded, spikes)):
        arrays[f"sum/{i}"] = sums
    arrays |= state_arrays(trace)
    return {name: np.ascontiguousarray(arrays[name]) for name in sorted(arrays)}


def state_arrays(trace: Trace) -> dict[str, np.ndarray]:
    """What a run shows of its layers, by name."""
    return {
        f"{name}/{i}": values
        for name in ("spikes", "v", "theta")
        for i, values in enumerate(getattr(trace, name) or ())
        if values is not None
    }


def npz_bytes(arrays: dict[str, np.ndarray]) -> bytes:
    """An npz archive without times and compression: the same bytes every time."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for name, array in arrays.items():
            member = io.BytesIO()
            np.lib.format.write_array(member, array, version=(1, 0), allow_pickle=False)
            archive.writestr(zipfile.ZipInfo(f"{name}.npy", _EPOCH), member.getvalue())
    return buffer.getvalue()


def npy_bytes(array: np.ndarray) -> bytes:
    """One array in numpy's format."""
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, array, version=(1, 0), allow_pickle=False)
    return buffer.getvalue()


def flat_csv(array: np.ndarray, columns: tuple[str, ...]) -> str:
    """Any array as rows of its indices and the value."""
    lines = [",".join((*columns, "value"))]
    lines += [",".join(map(str, (*at, value))) for at, value in np.ndenumerate(array)]
    return "\n".join(lines) + "\n"


def csv_text(net: FixedNetwork, arrays: dict[str, np.ndarray]) -> str:
    """The vectors as rows; what a layer does not show is empty."""
    steps = arrays["input"].shape[2]
    period = steps + net.gap
    lines = [",".join(COLUMNS)]
    for sample in range(len(arrays["input"])):
        for i, layer in enumerate(net.layers):
            # From the layer's k = (time_step − 1 − lag) mod P, turned round.
            start = 1 + layer.lag + sample * period
            columns = [
                arrays[f"{name}/{i}"][sample].tolist() if f"{name}/{i}" in arrays else None
                for name in ("sum", "theta", "v", "spikes")
            ]
            for n in range(layer.neurons):
                place = f"{sample},{i},{n}"
                rows = [None if column is None else column[n] for column in columns]
                for k in range(steps):
                    values = ",".join("" if row is None else str(row[k]) for row in rows)
                    lines.append(f"{place},{k},{start + k},{values}")
                lines += [f"{place},{k},{start + k},,,,0" for k in range(steps, period)]
    return "\n".join(lines) + "\n"


def _plain(value: Any) -> Any:
    """Numbers and lists in place of arrays and records."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, Geometry):
        return {**asdict(value), "input_shape": list(value.input_shape)}
    return value


def _layer(layer: Layer) -> dict[str, Any]:
    about: dict[str, Any] = {"kind": layer.kind}
    about |= {f.name: _plain(getattr(layer, f.name)) for f in fields(layer) if f.name != "te_form"}
    # By how many bits sums are shifted, which follows from the exponents.
    about |= {"sum_right_shift": layer.sum_right_shift, "recurrent_shift": layer.recurrent_shift}
    if isinstance(layer, LeakyLayer):
        about["shift"] = layer.shift.tolist()
    if isinstance(layer, CelifLayer):
        form = layer.te_form
        kept: dict[str, Any] = {"encoding": form.encoding, "hold": form.hold}
        if isinstance(form, CosineTable):
            kept |= {"increment": form.increment.tolist(), "wave": form.wave.tolist()}
        elif isinstance(form, Table):
            kept["stored"] = form.stored(layer.te).tolist()
        about["te_form"] = kept
    if isinstance(layer, SigmaDeltaLayer):
        about["shift"] = layer.params.shift
    return about


def parameters_text(net: FixedNetwork) -> str:
    """Every register and table of a network, as JSON."""
    code = net.encoding
    about = {
        "steps": net.steps,
        "gap": net.gap,
        "input": {"channels": code.channels, "bits": code.bits, "signed": code.signed},
        "layers": [_layer(layer) for layer in net.all_layers],
    }
    return json.dumps(about, separators=(",", ":")) + "\n"


def read_vectors(file: Path) -> dict[str, np.ndarray]:
    """Arrays of numbers from an npz archive; nothing in it is executed."""
    problem = f"{file}: expected an .npz archive of numbers, as numpy.savez writes it, found"
    try:
        # Opened here, because numpy leaves a broken archive open.
        with file.open("rb") as f:
            if f.read(6) == b"\x93NUMPY":
                raise ValueError("one array alone")
            check_npz(file)
            f.seek(0)
            archive = np.load(f, allow_pickle=False)
            arrays = {name: archive[name] for name in archive.files}
    except FileNotFoundError:
        raise ValueError(f"{problem} no such file") from None
    except (
        OSError, ValueError, zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError,
    ) as reason:  # fmt: skip
        # numpy takes what it does not know for a pickle.
        found = "something else" if "pickle" in str(reason) else reason
        raise ValueError(f"{problem} {found}") from None
    for name, array in arrays.items():
        if array.dtype.kind not in "biuf":
            raise ValueError(f"{problem} {name} of type {array.dtype}")
    return arrays
