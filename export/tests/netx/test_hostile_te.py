"""Packed and generated TE in files that are not what they should be, named as any dataset is."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np
import pytest

from export import read_netx, write_netx
from export.tests.netx.test_hostile_files import put, refusal
from hw_tests.networks.random_nets import random_network

TE = "/layer/0/neuron/te"


@pytest.fixture
def path(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """A sound file whose one layer has four neurons and nine steps."""
    form = request.param if hasattr(request, "param") else "cosine"
    rng, bits = np.random.default_rng(0), 4 if form == "packed" else 8
    write_netx(random_network(rng, (4,), 9, te_form=form, te_bits=bits), tmp_path / "net.net")
    return tmp_path / "net.net"


# What is put where, which dataset is blamed, what is expected and found.
COSINE = {
    "no-wave": ("teWave", None, "teWave", "a dataset", "nothing"),
    "odd-wave": ("teWave", np.ones(3, np.int8), "teWave", "a power of two up to 1024", "3"),
    "long-wave": ("teWave", np.ones(2048, np.int8), "teWave", "a power of two up to 1024", "2048"),
    "empty-wave": ("teWave", np.ones(0, np.int8), "teWave", "a non-empty array", "(0,)"),
    "flat-wave": ("teWave", np.ones((2, 2), np.int8), "teWave", "1 axes", "(2, 2)"),
    "large-wave": ("teWave", np.full(2, 128), "teWave", "-127..127", "128..128"),
    "increments": ("te", np.full(4, (1 << 21) + 1), "te", "0..2097152", "2097153..2097153"),
    "negative": ("te", np.full(4, -1), "te", "0..2097152", "-1..-1"),
    "too-few": ("te", np.zeros(3, int), "te", "4 values, one per neuron", "3"),
    "a-table": ("te", np.zeros((4, 9), int), "te", "1 axes", "(4, 9)"),
    "held": ("teHold", 2, "teHold", "1", "2"),
    "no-steps": ("teSteps", 0, "teSteps", "1..1048576", "0"),
    "other-steps": ("teSteps", 8, "te", "9 steps, as the network has", "8"),
    "not-packed": ("teEncoding", "packed", "te", "2 axes", "(4,)"),
}


@pytest.mark.parametrize(
    ("name", "value", "blamed", "expected", "found"), COSINE.values(), ids=COSINE
)
def test_cosine_that_cannot_be_is_named(path, name, value, blamed, expected, found):
    put(path, f"/layer/0/neuron/{name}", value)
    error = refusal(path)
    assert error.dataset == f"/layer/0/neuron/{blamed}"
    assert expected in error.expected
    assert found in error.found


@pytest.mark.parametrize("path", ["packed"], indirect=True)
def test_packed_bytes_that_cannot_be_are_named(path):
    with h5py.File(path) as f:
        sound = f[TE][()]
    assert sound.shape == (4, 5)
    assert sound.dtype == np.uint8
    assert not (sound[:, -1] >> 4).any(), "nine steps are an odd number"
    for spoil, expected in (
        (lambda b: b.__setitem__((0, 4), b[0, 4] | 0x10), "bytes of two mantissas each"),
        (lambda b: b.__setitem__((1, 0), 0x08), "-7..7"),
    ):
        spoilt = sound.copy()
        spoil(spoilt)
        put(path, TE, spoilt)
        error = refusal(path)
        assert error.dataset == TE
        assert expected in error.expected
    put(path, TE, sound[:, :4])
    assert "5 columns, for 9 steps" in refusal(path).expected
    put(path, TE, sound)
    assert read_netx(path).layers[0].te_form.packed
    put(path, "/layer/0/neuron/teBits", 5)
    assert "2..4 for packed TE" in refusal(path).expected
