"""NIR files as snnTorch, Norse and SpikingJelly write them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

nir = pytest.importorskip("nir", reason="needs the package nir")

from celif import from_nir
from celif.tests.interchange.graphs import STEPS, by_hand, require_climb
from export import read_netx, simulate, to_netx

DATA = Path(__file__).parent / "data"
FOREIGN = {
    # Written by snnTorch 1.0.0, whose dt is 1e-4, and by Norse 1.1.0, which divides dt = 1e-3 by
    # 1/τ in Hz: in the unit of the file's τ its step is 1e-6.
    "snntorch-leaky": (1e-4, "LIF"),
    "snntorch-rleaky": (1e-4, "LIF"),
    "snntorch-synaptic": (1e-4, "CUBA"),
    "norse-lifbox": (1e-6, "LIF"),
    "norse-deep": (1e-6, "LIF"),
    "norse-lif": (1e-6, "CUBA"),
    # Written by SpikingJelly 2.0.0 with dt = 1e-4.
    "spikingjelly-lif": (1e-4, "LIF"),
    "spikingjelly-if": (1e-4, "CUBA"),
    "spikingjelly-cuba": (1e-4, "CUBA"),
}


@pytest.mark.parametrize("name", FOREIGN)
def test_file_of_another_framework_is_exported(name, x, tmp_path: Path):
    dt, kind = FOREIGN[name]
    if kind == "CUBA":
        pytest.importorskip("lava.lib.dl.slayer", reason="needs the extra [lava]")
    busy = 8 * x if kind == "LIF" and "jelly" not in name else x
    net = from_nir(DATA / f"{name}.nir", dt, STEPS)
    to_netx(net, tmp_path / "net.net", calibration=busy)
    fixed = read_netx(tmp_path / "net.net")
    assert {layer.kind for layer in fixed.layers} == {kind}
    with torch.no_grad():
        expected = net(busy).sum(-1).numpy()
    found = simulate(fixed, busy.numpy()).logits
    assert expected.any()
    if kind == "CUBA":  # SLAYER's forward pass is the integer one
        np.testing.assert_array_equal(found, expected)
    else:
        np.testing.assert_allclose(found, expected, atol=3)
    require_climb(fixed, busy)


def test_chain_of_another_framework_follows_its_equations(x):
    source = nir.read(DATA / "snntorch-leaky.nir", type_check=False)
    h = 8 * x.numpy().astype(float)
    for weights, neurons in (("0", "1"), ("2", "3")):
        affine, node = source.nodes[weights], source.nodes[neurons]
        h = by_hand(affine.weight, node, h, bias=affine.bias, dt=1e-4)
    with torch.no_grad():
        found = from_nir(source, 1e-4, STEPS)(8 * x).numpy()
    assert h.mean() > 0.02
    assert (found == h).mean() > 0.99


@pytest.mark.parametrize("name", ["lif", "if", "cuba", "conv"])
def test_spikes_are_those_that_spikingjelly_computed(name):
    """SpikingJelly's own neurons ran on the same inputs when the files were made."""
    if name in ("if", "cuba"):
        pytest.importorskip("lava.lib.dl.slayer", reason="needs the extra [lava]")
    with np.load(DATA / "spikingjelly-spikes.npz") as made:
        x, expected = made["images" if name == "conv" else "x"], made[name]
    net = from_nir(DATA / f"spikingjelly-{name}.nir", 1e-4, STEPS).eval()
    with torch.no_grad():
        found = net(torch.from_numpy(x).float()).numpy()
    assert expected.mean() > 0.03
    # SLAYER's blocks have weights of 8 bits: a spike may come a step earlier or later.
    least = 0.97 if name in ("if", "cuba") else 1.0
    assert (found == expected).mean() >= least
    np.testing.assert_allclose(found.sum(-1), expected.sum(-1), atol=0 if least == 1 else 1)


def test_convolutional_file_of_spikingjelly_is_exported(tmp_path: Path):
    with np.load(DATA / "spikingjelly-spikes.npz") as made:
        images, expected = torch.from_numpy(made["images"]).float(), made["conv"]
    net = from_nir(DATA / "spikingjelly-conv.nir", 1e-4, STEPS)
    to_netx(net, tmp_path / "net.net", calibration=images)
    found = simulate(read_netx(tmp_path / "net.net"), images.flatten(1, 3).numpy()).logits
    np.testing.assert_allclose(found, expected.sum(-1), atol=2)
