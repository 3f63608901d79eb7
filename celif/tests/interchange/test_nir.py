"""NIR: graphs become modules that are exported, and exports become graphs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

nir = pytest.importorskip("nir", reason="needs the package nir")

from celif import from_nir, to_nir
from celif.interchange.nodes import NirError
from celif.tests.interchange.graphs import DT, STEPS, by_hand, graph, lif, require_climb
from export import read_netx, simulate, to_netx, write_netx
from hw_tests.networks.random_nets import random_network
from training import Network


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


def convolution(rng, channels: int) -> nir.Conv2d:
    return nir.Conv2d(
        input_shape=(3, 3), weight=rng.normal(0, 2, (channels, 1, 3, 3)), stride=1, padding=1,
        dilation=1, groups=1, bias=np.zeros(channels),
    )  # fmt: skip


def test_parameters_of_channels_hold_for_their_pixels(rng):
    # As many channels as columns: numpy's own rule would take the one for the other.
    images = (torch.rand(4, 1, 3, 3, STEPS, generator=torch.Generator().manual_seed(1)) < 0.4) * 1.0
    conv, node = convolution(rng, 3), lif(3, tau=np.full(3, 4e-3), r=np.linspace(0.5, 3, 3))
    fields = ("tau", "r", "v_leak", "v_threshold", "v_reset")
    pixels = {f: np.tile(getattr(node, f)[:, None, None], (1, 3, 3)) for f in fields}
    found, expected = (
        from_nir(graph(conv, each, inputs=(1, 3, 3)), DT, STEPS)(images).detach().numpy()
        for each in (node, nir.LIF(**pixels))
    )
    assert 0.02 < expected.mean() < 0.9
    np.testing.assert_array_equal(found, expected)


def test_parameters_of_other_than_the_channels_are_refused(rng):
    with pytest.raises(NirError, match="NIR node n1: expected v_threshold of 2 channels"):
        from_nir(graph(convolution(rng, 2), lif(3), inputs=(1, 3, 3)), DT, STEPS)


@pytest.mark.parametrize("own_decays", [False, True], ids=["one-decay", "own-decays"])
@pytest.mark.parametrize("recurrent", [False, True], ids=["plain", "recurrent"])
@pytest.mark.parametrize("neuron", ["celif", "lif"])
def test_export_survives_the_way_through_nir(x, tmp_path: Path, neuron, recurrent, own_decays):
    torch.manual_seed(0)
    decays = {"alpha": [np.linspace(0.1, 0.9, 8), 0.3]} if own_decays else {}
    if own_decays and neuron == "celif":
        decays["beta"] = [0.9, np.linspace(0.5, 0.99, 6)]
    net = Network(5, (8, 6), 3, STEPS, neuron=neuron, recurrent=recurrent, **decays)
    with torch.no_grad():
        for layer in net.layers:
            layer.weight *= 3
    to_netx(net, tmp_path / "net.net", calibration=x)
    first = read_netx(tmp_path / "net.net")
    to_nir(first, tmp_path / "net.nir", dt=DT)
    again = from_nir(tmp_path / "net.nir", DT, STEPS)
    to_netx(again, tmp_path / "again.net", calibration=x)
    second = read_netx(tmp_path / "again.net")
    for before, after in zip(first.layers, second.layers, strict=True):
        np.testing.assert_array_equal(before.alpha_mant, after.alpha_mant)
    found, expected = (
        simulate(fixed, x.numpy()).logits * 2.0**-fixed.readout.weight_exp
        for fixed in (second, first)
    )
    assert np.abs(expected).max() > 0
    # τ and thresholds pass through float64, weights through float32: spikes may move by a step.
    np.testing.assert_allclose(found / STEPS, expected / STEPS, atol=0.1)


REFUSED = {
    "reset": (lambda: lif(4, v_reset=np.full(4, 0.1)), "NIR node n1: expected v_reset = 0"),
    "time-constants": (
        lambda: nir.LIF(
            tau=np.linspace(2e-3, 4e-3, 4).reshape(1, 2, 2),
            **{name: np.ones((1, 2, 2)) for name in ("r", "v_leak", "v_threshold")},
        ),
        "NIR node n1: expected one tau for all neurons, got 4 values",
    ),
    "short": (
        lambda: lif(4, tau=np.full(4, 1e-4)),
        r"expected a finite tau of at least dt = 0\.001",
    ),
    "no-threshold": (
        lambda: lif(4, v_threshold=np.zeros(4)),
        r"NIR node n1: expected v_threshold > 0, got 0\.0",
    ),
    "delay": (lambda: nir.Delay(np.ones(4)), "NIR node n1: expected one of .* got Delay"),
}


@pytest.mark.parametrize(("node", "message"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_read_is_named(rng, node, message):
    with pytest.raises(NirError, match=message):
        from_nir(graph(nir.Linear(weight=rng.normal(0, 1, (4, 5))), node()), DT, STEPS)


NO_STEP = [0, -1, float("nan"), float("inf"), True, "0.001", None]


@pytest.mark.parametrize("dt", NO_STEP, ids=str)
def test_dt_that_is_no_length_of_a_step_is_refused(dt, rng, x, tmp_path: Path):
    made = graph(nir.Linear(weight=rng.normal(0, 1, (4, 5))), lif(4))
    fixed = random_network(rng, (4, 3), STEPS)
    for call in (
        lambda: from_nir(made, dt, STEPS),
        lambda: from_nir(made, dt, STEPS, discretisation="exact"),
        lambda: to_nir(fixed, tmp_path / "net.nir", dt=dt),
    ):
        with pytest.raises(ValueError, match=r"^dt: expected a finite number above 0, .* got "):
            call()
    assert not (tmp_path / "net.nir").exists()


@pytest.mark.parametrize("steps", [0, -5, 3.5, float("nan"), True, "10"], ids=str)
def test_steps_that_are_no_number_of_steps_are_refused_at_the_call(steps, rng):
    made = graph(nir.Linear(weight=rng.normal(0, 1, (4, 5))), lif(4))
    with pytest.raises(ValueError, match=r"^steps: expected a whole number of at least 1, .* got "):
        from_nir(made, DT, steps)


def test_time_constant_is_refused_in_the_words_of_its_discretisation(rng):
    taus = np.array([2e-3, -1e-3, 2e-3, 2e-3])
    made = graph(nir.Linear(weight=rng.normal(0, 1, (4, 5))), lif(4, tau=taus))
    with pytest.raises(
        NirError, match=r"expected a finite tau of at least dt = 0\.001, got -0\.001"
    ):
        from_nir(made, DT, STEPS)
    for wrong in (-1e-3, np.inf):
        taus[1] = wrong
        with pytest.raises(NirError, match=rf"expected a finite tau above 0, got {wrong:g}"):
            from_nir(made, DT, STEPS, discretisation="exact")


def test_folder_is_not_taken_for_a_graph(tmp_path: Path):
    with pytest.raises(ValueError, match="expected a NIR file, found a folder; name a file in it"):
        from_nir(tmp_path, DT, STEPS)


def test_graph_is_not_written_over_the_network_it_is_of(rng, tmp_path: Path):
    path = tmp_path / "net.net"
    write_netx(random_network(rng, (4, 3), STEPS), path)
    before = path.read_bytes()
    with pytest.raises(FileExistsError, match="or a NIR file to replace, found a file of another"):
        to_nir(path, path, dt=DT)
    assert path.read_bytes() == before
    for _ in range(2):
        to_nir(path, tmp_path / "net.nir", dt=DT)
