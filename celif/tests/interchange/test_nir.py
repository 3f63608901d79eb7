"""NIR: graphs become modules that are exported, and exports become graphs."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest
import torch

nir = pytest.importorskip("nir", reason="needs the package nir")

from celif import from_nir, to_nir
from celif.interchange.nodes import NirError
from export import read_netx, simulate, to_netx
from hw_tests.ladder import climb
from training import Network

DT, STEPS = 1e-3, 24


def lif(n: int, **change) -> nir.LIF:
    values = {
        "tau": np.full(n, 4e-3),
        "r": np.full(n, 2.0),
        "v_leak": np.zeros(n),
        "v_threshold": np.linspace(0.5, 1.0, n),
        "v_reset": np.zeros(n),
    }
    return nir.LIF(**{**values, **change})


def graph(*nodes, inputs=(5,), outputs=(4,), edges=None) -> nir.NIRGraph:
    named = {"input": nir.Input({"input": np.array(inputs)})}
    named |= {f"n{i}": node for i, node in enumerate(nodes)}
    named["output"] = nir.Output({"output": np.array(outputs)})
    names = list(named)
    chain = list(itertools.pairwise(names))
    return nir.NIRGraph(named, chain + (edges or []), type_check=False)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(3)


@pytest.fixture
def x() -> torch.Tensor:
    return (torch.rand(6, 5, STEPS, generator=torch.Generator().manual_seed(1)) < 0.4).float()


def require_climb(fixed, x: torch.Tensor) -> None:
    """Rungs up to Lava's fixed-point models are equal."""
    pytest.importorskip("lava.magma", reason="Lava is not installed")
    rungs = climb(fixed, fixed.encode(x.numpy())[:2], ("torch", "twin", "lava"))
    assert not [r for r in rungs if r.verdict == "DIFFERS"]
    assert {2, 3} <= {r.rung for r in rungs if r.verdict == "equal"}


def by_hand(weight, node, x, feedback=None, bias=0.0, dt=DT) -> np.ndarray:
    """The equations of a LIF node, step by step, in float64."""
    v = s = np.zeros((len(x), len(weight)))
    out = []
    for t in range(x.shape[2]):
        current = x[:, :, t] @ weight.T + bias
        if feedback is not None:
            current = current + s @ feedback.T
        v = v * (1 - s)
        v = v + dt / node.tau * (node.v_leak - v + node.r * current)
        s = (v >= node.v_threshold).astype(float)
        out.append(s)
    return np.stack(out, 2)


@pytest.mark.parametrize("recurrent", [False, True], ids=["plain", "recurrent"])
def test_lif_follows_its_equation_and_climbs(rng, x, tmp_path: Path, recurrent):
    weight, own = rng.normal(0, 2, (4, 5)), rng.normal(0, 1, (4, 4))
    node = lif(4)
    made = graph(nir.Linear(weight=weight), node)
    if recurrent:
        made.nodes["own"] = nir.Linear(weight=own)
        made.edges += [("n1", "own"), ("own", "n1")]
    nir.write(tmp_path / "net.nir", made)
    net = from_nir(tmp_path / "net.nir", DT, STEPS)
    expected = by_hand(weight, node, x.numpy().astype(float), own if recurrent else None)
    assert 0.02 < expected.mean() < 0.9
    with torch.no_grad():
        assert (net(x).numpy() == expected).mean() > 0.99  # float32 against float64
    to_netx(net, tmp_path / "net.net", calibration=x)
    fixed = read_netx(tmp_path / "net.net")
    assert fixed.layers[0].kind == "LIF"
    require_climb(fixed, x)


def test_convolution_pooling_and_flattening(rng, tmp_path: Path):
    images = (
        torch.rand(4, 1, 4, 4, STEPS, generator=torch.Generator().manual_seed(1)) < 0.4
    ).float()
    conv = nir.Conv2d(
        input_shape=(4, 4), weight=rng.normal(0, 2, (2, 1, 3, 3)), stride=1, padding=1, dilation=1,
        groups=1, bias=np.zeros(2),
    )  # fmt: skip
    first = lif(2 * 16)
    for field in ("tau", "r", "v_leak", "v_threshold", "v_reset"):
        setattr(first, field, np.full((2, 4, 4), getattr(first, field).ravel()[0]))
    pool = nir.AvgPool2d(np.array([2, 2]), np.array([2, 2]), np.array([0, 0]))
    flat = nir.Flatten({"input": np.array([2, 2, 2])}, 0, -1)
    affine = nir.Affine(weight=rng.normal(0, 3, (4, 8)), bias=rng.normal(0, 0.1, 4))
    made = graph(conv, first, pool, flat, affine, lif(4), inputs=(1, 4, 4))
    net = from_nir(made, DT, STEPS)
    with torch.no_grad():
        assert net(images).any()
    to_netx(net, tmp_path / "net.net", calibration=images)
    assert [layer.kind for layer in read_netx(tmp_path / "net.net").layers] == ["LIF", "LIF"]


@pytest.mark.parametrize("neuron", ["celif", "lif"])
def test_export_survives_the_way_through_nir(x, tmp_path: Path, neuron):
    torch.manual_seed(0)
    net = Network(5, (8, 6), 3, STEPS, neuron=neuron)
    with torch.no_grad():
        for layer in net.layers:
            layer.weight *= 3
    to_netx(net, tmp_path / "net.net", calibration=x)
    first = read_netx(tmp_path / "net.net")
    to_nir(first, tmp_path / "net.nir", dt=DT)
    again = from_nir(tmp_path / "net.nir", DT, STEPS)

    class Mean(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.net = again

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.net(x).mean(-1)

    to_netx(Mean(), tmp_path / "again.net", calibration=x)
    second = read_netx(tmp_path / "again.net")
    found, expected = (
        simulate(fixed, x.numpy()).logits * 2.0**-fixed.readout.weight_exp
        for fixed in (second, first)
    )
    assert np.abs(expected).max() > 0
    # τ and thresholds pass through float64, weights through float32: spikes may move by a step.
    np.testing.assert_allclose(found / STEPS, expected / STEPS, atol=0.1)


def test_chain_of_cuba_neurons_climbs(rng, x, tmp_path: Path):
    pytest.importorskip("lava.lib.dl.slayer", reason="Lava is not installed")
    n = 4
    node = nir.CubaLIF(
        tau_syn=np.full(n, 2e-3), tau_mem=np.full(n, 5e-3), r=np.ones(n), v_leak=np.zeros(n),
        v_threshold=np.full(n, 0.05), v_reset=np.zeros(n), w_in=np.ones(n),
    )  # fmt: skip
    net = from_nir(graph(nir.Linear(weight=rng.normal(0, 1, (4, 5))), node), DT, STEPS)
    to_netx(net, tmp_path / "net.net", calibration=x)
    fixed = read_netx(tmp_path / "net.net")
    assert [layer.kind for layer in fixed.layers] == ["CUBA"]
    assert simulate(fixed, x.numpy()).logits.any()
    require_climb(fixed, x)


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
}


@pytest.mark.parametrize("name", FOREIGN)
def test_file_of_another_framework_is_exported(name, x, tmp_path: Path):
    dt, kind = FOREIGN[name]
    if kind == "CUBA":
        pytest.importorskip("lava.lib.dl.slayer", reason="needs the extra [lava]")
    busy = 8 * x if kind == "LIF" else x
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


REFUSED = {
    "reset": (lambda: lif(4, v_reset=np.full(4, 0.1)), "NIR node n1: expected v_reset = 0"),
    "time-constants": (
        lambda: lif(4, tau=np.linspace(2e-3, 4e-3, 4)),
        "NIR node n1: expected one tau for all neurons, got 4 values",
    ),
    "short": (lambda: lif(4, tau=np.full(4, 1e-4)), r"expected tau of at least dt = 0\.001"),
    "no-leak": (
        lambda: nir.IF(r=np.ones(4), v_threshold=np.ones(4), v_reset=np.zeros(4)),
        "NIR node n1: expected one of .* got IF; a file's neurons leak",
    ),
}


@pytest.mark.parametrize(("node", "message"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_read_is_named(rng, node, message):
    with pytest.raises(NirError, match=message):
        from_nir(graph(nir.Linear(weight=rng.normal(0, 1, (4, 5))), node()), DT, STEPS)
