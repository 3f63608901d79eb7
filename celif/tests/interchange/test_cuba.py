"""CubaLIF and IF nodes as SLAYER's blocks, and integrators at the end of a graph."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

nir = pytest.importorskip("nir", reason="needs the package nir")

from celif import from_nir, to_nir
from celif.interchange.nodes import NirError
from celif.tests.interchange.graphs import DT, STEPS, by_hand, graph, lif, require_climb
from celif.verification.verify import verify
from export import ModelError, read_netx, simulate, to_netx


def cuba(n: int, **change) -> nir.CubaLIF:
    values = {
        "tau_syn": np.full(n, 2e-3),
        "tau_mem": np.full(n, 5e-3),
        "r": np.ones(n),
        "v_leak": np.zeros(n),
        "v_threshold": np.full(n, 0.05),
        "v_reset": np.zeros(n),
        "w_in": np.ones(n),
    }
    return nir.CubaLIF(**{**values, **change})


def integrate_and_fire(n: int, threshold: float = 2.0) -> nir.IF:
    full = np.full(n, threshold)
    return nir.IF(r=np.full(n, 1 / DT), v_threshold=full, v_reset=np.zeros(n))


@pytest.fixture
def slayer() -> None:
    pytest.importorskip("lava.lib.dl.slayer", reason="Lava is not installed")


@pytest.mark.usefixtures("slayer")
@pytest.mark.parametrize("recurrent", [False, True], ids=["plain", "recurrent"])
@pytest.mark.parametrize("neurons", [cuba, integrate_and_fire])
def test_chain_of_cuba_neurons_climbs(rng, x, tmp_path: Path, neurons, recurrent):
    made = graph(nir.Linear(weight=rng.normal(0, 1, (4, 5))), neurons(4))
    if recurrent:
        made.nodes["own"] = nir.Linear(weight=rng.normal(0, 1, (4, 4)))
        made.edges += [("n1", "own"), ("own", "n1")]
    net = from_nir(made, DT, STEPS)
    to_netx(net, tmp_path / "net.net", calibration=x)
    fixed = read_netx(tmp_path / "net.net")
    (layer,) = fixed.layers
    assert layer.kind == "CUBA"
    assert (layer.weight_rec is not None) == recurrent
    with torch.no_grad():
        expected = net(x).sum(-1).numpy()
    assert expected.any()
    np.testing.assert_array_equal(simulate(fixed, x.numpy()).logits, expected)
    if recurrent == (neurons is cuba):
        require_climb(fixed, x)


@pytest.mark.usefixtures("slayer")
def test_cuba_network_from_nir_is_verified_on_every_rung(rng, x, tmp_path: Path):
    pytest.importorskip("lava.magma", reason="Lava is not installed")
    weights = [nir.Linear(weight=rng.normal(0, 1, shape)) for shape in ((6, 5), (4, 6))]
    net = from_nir(graph(weights[0], cuba(6), weights[1], cuba(4)), DT, STEPS)
    to_netx(net, tmp_path / "net.net", calibration=x)
    result = verify(tmp_path / "net.net", net, x, lava_samples=2)
    assert result.equal
    assert {1, 2, 3} <= {rung.rung for rung in result.rungs if rung.verdict == "equal"}
    assert result.gap is not None
    assert min(layer.rate_fixed for layer in result.gap.layers) > 0.02


@pytest.mark.usefixtures("slayer")
@pytest.mark.parametrize("recurrent", [False, True], ids=["plain", "recurrent"])
def test_integrate_and_fire_follows_its_equation(rng, x, recurrent):
    weight, own = rng.normal(0, 1, (4, 5)), rng.normal(0, 0.5, (4, 4))
    # Multiples of SLAYER's own step, so that only the equation is compared.
    weight, own = (np.rint(w * 20) / 20 / 1.95 for w in (weight, own))
    made = graph(nir.Linear(weight=weight), integrate_and_fire(4))
    if recurrent:
        made.nodes["own"] = nir.Linear(weight=own)
        made.edges += [("n1", "own"), ("own", "n1")]
    v = s = np.zeros((len(x), 4))
    expected = []
    for t in range(STEPS):
        current = x[:, :, t].numpy() @ weight.T + (s @ own.T if recurrent else 0)
        v = v * (1 - s) + current
        s = (v >= 2.0).astype(float)
        expected.append(s)
    wanted = np.stack(expected, 2)
    assert 0.02 < wanted.mean() < 0.9
    with torch.no_grad():
        found = from_nir(made, DT, STEPS)(x).numpy()
    assert (found == wanted).mean() > 0.9
    assert np.abs(found.sum(-1) - wanted.sum(-1)).max() <= 1


@pytest.mark.usefixtures("slayer")
@pytest.mark.parametrize("neurons", [cuba, integrate_and_fire])
def test_cuba_export_survives_the_way_through_nir(rng, x, tmp_path: Path, neurons):
    net = from_nir(graph(nir.Linear(weight=rng.normal(0, 1, (4, 5))), neurons(4)), DT, STEPS)
    to_netx(net, tmp_path / "net.net", calibration=x)
    to_nir(tmp_path / "net.net", tmp_path / "net.nir", dt=DT)
    kinds = {type(node).__name__ for node in nir.read(tmp_path / "net.nir").nodes.values()}
    assert ("IF" if neurons is integrate_and_fire else "CubaLIF") in kinds
    to_netx(from_nir(tmp_path / "net.nir", DT, STEPS), tmp_path / "again.net", calibration=x)
    first, second = (
        simulate(read_netx(tmp_path / name), x.numpy()).logits for name in ("net.net", "again.net")
    )
    assert first.any()
    # Weights are scaled to SLAYER's range again, and rounded once more.
    np.testing.assert_allclose(second, first, atol=1)


@pytest.mark.parametrize("first", ["lif", "cuba"])
def test_graph_that_ends_with_an_integrator_has_a_readout(rng, x, tmp_path: Path, first):
    if first == "cuba":
        pytest.importorskip("lava.lib.dl.slayer", reason="Lava is not installed")
    hidden = nir.Linear(weight=rng.normal(0, 2, (6, 5)))
    last = nir.Affine(weight=rng.normal(0, 1, (4, 6)), bias=rng.normal(0, 0.1, 4))
    node = lif(6) if first == "lif" else cuba(6)
    net = from_nir(graph(hidden, node, last, nir.I(r=np.linspace(100, 200, 4))), DT, STEPS)
    with torch.no_grad():
        potentials = net(x).numpy()
    if first == "lif":
        spikes = by_hand(hidden.weight, node, x.numpy().astype(float))
        currents = np.einsum("oi,bit->bot", last.weight, spikes) + last.bias[:, None]
        wanted = DT * np.linspace(100, 200, 4) * currents.sum(-1)
        assert np.abs(wanted).max() > 1
        np.testing.assert_allclose(potentials, wanted, rtol=1e-4, atol=1e-4)
    to_netx(net, tmp_path / "net.net", calibration=x)
    fixed = read_netx(tmp_path / "net.net")
    assert fixed.readout is not None
    found = simulate(fixed, x.numpy()).logits * 2.0**-fixed.readout.weight_exp / STEPS
    assert np.abs(found - potentials).max() < 0.2 * np.abs(potentials).max()
    if first == "cuba":
        require_climb(fixed, x)


@pytest.mark.parametrize("neurons", [lif, cuba])
def test_one_number_for_all_integrators_is_read(rng, x, neurons):
    if neurons is cuba:
        pytest.importorskip("lava.lib.dl.slayer", reason="Lava is not installed")
    hidden, last = (nir.Linear(weight=rng.normal(0, 2, s)) for s in ((6, 5), (4, 6)))
    one, each = (
        from_nir(graph(hidden, neurons(6), last, nir.I(r=r)), DT, STEPS)(x).detach().numpy()
        for r in (np.array(150.0), np.full(4, 150.0))
    )
    assert np.abs(each).max() > 1
    np.testing.assert_array_equal(one, each)


@pytest.mark.usefixtures("slayer")
def test_cuba_neurons_without_weights_are_silent(x):
    silent = graph(nir.Linear(weight=np.zeros((4, 5))), integrate_and_fire(4))
    driven = graph(nir.Linear(weight=np.ones((4, 5))), integrate_and_fire(4))
    with torch.no_grad():
        assert from_nir(driven, DT, STEPS)(x).any()
        assert not from_nir(silent, DT, STEPS)(x).any()


@pytest.mark.usefixtures("slayer")
def test_cuba_readout_survives_the_way_through_nir(rng, x, tmp_path: Path):
    hidden = nir.Linear(weight=rng.normal(0, 2, (6, 5)))
    last = nir.Affine(weight=rng.normal(0, 1, (4, 6)), bias=rng.normal(0, 0.1, 4))
    to_netx(from_nir(graph(hidden, cuba(6), last), DT, STEPS), tmp_path / "0.net", calibration=x)
    to_nir(tmp_path / "0.net", tmp_path / "net.nir", dt=DT)
    to_netx(from_nir(tmp_path / "net.nir", DT, STEPS), tmp_path / "1.net", calibration=x)
    files = [read_netx(tmp_path / name) for name in ("0.net", "1.net")]
    first, second = (
        simulate(each, x.numpy()).logits * 2.0**-each.readout.weight_exp / STEPS for each in files
    )
    assert np.abs(first).max() > 0.1
    np.testing.assert_allclose(second, first, atol=0.1)


def test_leaky_integrator_follows_its_equation_and_is_not_exported(rng, x, tmp_path: Path):
    weight = rng.normal(0, 2, (4, 5))
    end = nir.LI(tau=np.linspace(4e-3, 8e-3, 4), r=np.ones(4), v_leak=np.full(4, 0.1))
    own = nir.Linear(weight=np.eye(4))
    net = from_nir(graph(nir.Linear(weight=weight), lif(4), own, end), DT, STEPS)
    spikes = by_hand(weight, lif(4), x.numpy().astype(float))
    v = np.zeros((len(x), 4))
    for t in range(STEPS):
        v = v + DT / end.tau * (end.v_leak - v + spikes[:, :, t])
    with torch.no_grad():
        found = net(x).numpy()
    assert v.std() > 0
    np.testing.assert_allclose(found, v, rtol=1e-4)
    with pytest.raises(ModelError, match=r"NirNetwork\.parts\.n3"):
        to_netx(net, tmp_path / "net.net", calibration=x)


REFUSED = {
    "integrator-between": (
        lambda w: (w(4, 5), nir.I(r=np.ones(4)), w(4, 4), lif(4)),
        "NIR node n1: expected an integrator at the end of the graph",
    ),
    "bias": (
        lambda w: (nir.Affine(weight=w(4, 5).weight, bias=np.ones(4)), cuba(4)),
        "NIR node n0: expected no bias",
    ),
    "leak": (lambda w: (w(4, 5), cuba(4, v_leak=np.ones(4))), "NIR node n1: expected v_leak = 0"),
    "mixed": (
        lambda w: (w(6, 5), cuba(6), w(4, 6), lif(4)),
        "NIR node n2: expected weights, perhaps before an I node, at the end, got Linear → LIF",
    ),
    "end": (
        lambda w: (w(4, 5), cuba(4), w(4, 4), nir.LI(np.full(4, 4e-3), np.ones(4), np.zeros(4))),
        "NIR node n2: expected weights, perhaps before an I node",
    ),
}


@pytest.mark.parametrize(("nodes", "message"), REFUSED.values(), ids=REFUSED)
@pytest.mark.usefixtures("slayer")
def test_what_cannot_be_read_is_named(rng, nodes, message):
    made = graph(*nodes(lambda out, into: nir.Linear(weight=rng.normal(0, 1, (out, into)))))
    with pytest.raises(NirError, match=message):
        from_nir(made, DT, STEPS)
