"""A reader written from FORMAT.md alone computes what the twin computes, integer by integer."""

from __future__ import annotations

import ast
from pathlib import Path

import h5py
import numpy as np
import pytest

from export import FixedNetwork, read_netx, simulate, write_netx
from export.model.network import Encoding
from export.model.slayer import CubaLayer
from hw_tests import independent_reader
from hw_tests.independent_reader import Network
from hw_tests.networks.kinds import KINDS, Kind

ROOT = Path(__file__).parents[2]
MODELS = sorted((ROOT / "models").glob("*.net"))
VERSIONS = sorted((ROOT / "export" / "tests" / "data").glob("*.net"))


def _assert_same(path: Path, x: np.ndarray) -> None:
    trace = simulate(read_netx(path), x, trace=True)
    assert trace.spikes is not None
    assert trace.v is not None
    assert trace.theta is not None
    found = Network(path).run(x)
    assert all(spikes.any() for spikes in trace.spikes)
    np.testing.assert_array_equal(found.logits, trace.logits)
    assert len(found.spikes) == len(trace.spikes)
    for i, (spikes, v, theta) in enumerate(zip(trace.spikes, trace.v, trace.theta, strict=True)):
        np.testing.assert_array_equal(found.spikes[i], spikes, f"layer {i} S")
        if v is not None:
            np.testing.assert_array_equal(found.v[i], v, f"layer {i} V")
        if theta is not None:
            np.testing.assert_array_equal(found.theta[i], theta, f"layer {i} theta")


def _random_inputs(path: Path, samples: int, steps: int) -> np.ndarray:
    encoding = read_netx(path).encoding
    low, high = encoding.range
    rng = np.random.default_rng(0)
    return rng.integers(low, high + 1, (samples, encoding.channels, steps))


def test_independent_reader_imports_nothing_of_the_project() -> None:
    tree = ast.parse(Path(independent_reader.__file__).read_text())
    modules = {
        name.split(".")[0]
        for node in ast.walk(tree)
        for name in (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [node.module or ""]
            if isinstance(node, ast.ImportFrom)
            else []
        )
    }
    assert modules == {"__future__", "dataclasses", "h5py", "hashlib", "numpy", "pathlib", "typing"}


@pytest.mark.parametrize("path", MODELS, ids=lambda path: path.stem)
def test_independent_reader_equals_twin_on_shipped_models(path: Path) -> None:
    _assert_same(path, _random_inputs(path, 2, read_netx(path).steps))


@pytest.mark.parametrize("path", VERSIONS, ids=lambda path: path.stem)
def test_independent_reader_equals_twin_on_every_version(path: Path) -> None:
    for steps in (read_netx(path).steps, read_netx(path).steps - 1):  # the whole TE, and less
        _assert_same(path, _random_inputs(path, 3, steps))


@pytest.mark.parametrize("kind", KINDS, ids=[kind.name for kind in KINDS])
def test_independent_reader_equals_twin_on_every_kind(kind: Kind, tmp_path: Path) -> None:
    net, x = kind.build()
    write_netx(net, tmp_path / "net.net")
    _assert_same(tmp_path / "net.net", x)


def test_independent_reader_equals_twin_where_a_current_wraps(tmp_path: Path) -> None:
    layer = CubaLayer(
        name="layer 0",
        weight=np.array([[128], [-128], [126], [-130]]),
        lag=1,
        delay_shift=False,
        bias_mant=np.zeros(4, np.int64),
        du=4095,
        dv=0,
        vth=1000,
    )
    encoding = Encoding(1, 1.0, 11, signed=True)
    net = FixedNetwork((layer,), None, steps=6, gap=0, encoding=encoding, digests={}, path=None)
    write_netx(net, tmp_path / "net.net")
    # 1024 · 128 · 2⁶ is exactly half a turn, at which the two signs differ.
    x = np.array([[[1024, -1024, 1023, -1023, 1025, 2047]]])
    _assert_same(tmp_path / "net.net", x)


def test_independent_reader_equals_twin_on_blocks_that_wrote_themselves(tmp_path: Path) -> None:
    pytest.importorskip("lava.lib.dl.slayer", reason="Lava is not installed")
    import torch

    from training import block

    torch.manual_seed(0)
    celif = {"steps": 24, "width": 1.0}
    widths = ((6, 5, True), (5, 4, False))
    with h5py.File(tmp_path / "loop.net", "w") as file:
        for i, (inputs, outputs, shift) in enumerate(widths):
            part = block.Dense(celif, inputs, outputs, weight_scale=3, delay_shift=shift)
            part.export_hdf5(file.create_group(f"layer/{i}"))
    _assert_same(tmp_path / "loop.net", np.random.default_rng(1).integers(0, 2, (3, 6, 24)))


@pytest.mark.parametrize("path", MODELS, ids=lambda path: path.stem)
def test_independent_reader_encodes_floats_as_the_project_does(path: Path) -> None:
    fixed = read_netx(path)
    x = np.random.default_rng(1).random((3, fixed.encoding.channels, fixed.steps))
    x = x.astype(np.float32)
    found = Network(path).encode(x)
    assert found.any()
    np.testing.assert_array_equal(found, fixed.encode(x))


def test_independent_reader_notices_a_changed_weight(tmp_path: Path) -> None:
    path = tmp_path / "net.net"
    path.write_bytes(VERSIONS[-1].read_bytes())
    with h5py.File(path, "r+") as file:
        file["layer/0/weight"][0, 0] += 1
    with pytest.raises(ValueError, match="checksum"):
        Network(path)
