"""Trained networks of the plug-in neurons: exported, proven, and run as in float."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from export import ModelError, quantize, read_netx, simulate, to_netx
from export.loihi2 import DECAY_ONE
from export.proof.certificate import certify
from hw_tests.ladder import climb
from hw_tests.networks.kinds import LEAKY
from training import Network

STEPS = 40


@pytest.fixture(params=LEAKY)
def neuron(request: pytest.FixtureRequest) -> str:
    return request.param.lower()


def network(neuron: str, recurrent: bool) -> Network:
    torch.manual_seed(3)
    net = Network(2, (14, 11), 4, STEPS, neuron=neuron, recurrent=recurrent)
    with torch.no_grad():
        for parameter in net.parameters():
            parameter.add_(0.25 * torch.randn_like(parameter))
    return net.eval()


@pytest.mark.parametrize("recurrent", [False, True], ids=["feedforward", "recurrent"])
def test_export_spikes_as_the_float_network_does(neuron, recurrent, tmp_path):
    net, x = network(neuron, recurrent), torch.rand(32, 2, STEPS)
    report = to_netx(net, tmp_path / "net.net", calibration=x)
    fixed = read_netx(tmp_path / "net.net")
    assert {layer.kind for layer in fixed.layers} == {neuron.upper()}
    assert report.proven
    assert certify(fixed).proven
    trace = simulate(fixed, x.numpy(), trace=True)
    with torch.no_grad():
        floats = net.hidden_states(x)
    for ours, layer in zip(trace.spikes, floats, strict=True):
        rate = float(layer.spikes.mean())
        assert 0.02 < rate < 0.9
        # A spike that differs is fed back; most stay where they are in float.
        assert (ours == layer.spikes.numpy()).mean() > (0.9 if recurrent else 0.97)


def test_constants_are_rounded_to_their_registers(neuron, tmp_path):
    net = network(neuron, False)
    to_netx(net, tmp_path / "net.net", calibration=torch.rand(8, 2, STEPS))
    layer = read_netx(tmp_path / "net.net").layers[0]
    assert set(layer.floats) <= {"alpha", "beta", "theta0", "gamma"}
    for name, value in layer.floats.items():
        unit = max(1 / DECAY_ONE, 2.0**-layer.fraction_bits)
        assert value == pytest.approx(net.config[name], abs=unit / 2)
        assert value != 0


@pytest.mark.parametrize("recurrent", [False, True], ids=["feedforward", "recurrent"])
def test_rungs_without_lava_are_equal(neuron, recurrent, tmp_path):
    x = torch.rand(6, 2, STEPS)
    to_netx(network(neuron, recurrent), tmp_path / "net.net", calibration=x)
    fixed = read_netx(tmp_path / "net.net")
    results = [r for r in climb(fixed, x.numpy(), ["torch", "twin"]) if r.verdict != "not run"]
    assert {r.rung for r in results} >= {0, 2}
    assert {r.verdict for r in results} == {"equal"}
    assert all(r.values > 0 for r in results)


def test_quantisation_aware_training_is_refused_by_name(neuron):
    found = rf"layer 0 neuron: expected CE-LIF or SLAYER's .* got {neuron.upper()}; train"
    with pytest.raises(ModelError, match=found):
        quantize(network(neuron, False), torch.rand(8, 2, STEPS))


def test_file_of_exported_network_keeps_no_temporal_encoding(neuron, tmp_path):
    import h5py

    to_netx(network(neuron, False), tmp_path / "net.net", calibration=torch.rand(8, 2, STEPS))
    with h5py.File(tmp_path / "net.net") as f:
        assert "te" not in f
        assert not [name for name in f["layer/0/neuron"] if name.startswith("te")]


def test_logits_are_near_those_of_the_float_network(neuron, tmp_path):
    net, x = network(neuron, False), torch.rand(64, 2, STEPS)
    to_netx(net, tmp_path / "net.net", calibration=x)
    fixed = read_netx(tmp_path / "net.net")
    with torch.no_grad():
        floats = net(x).numpy()
    logits = simulate(fixed, x.numpy()).logits * 2.0**-fixed.readout.weight_exp / STEPS
    assert floats.std() > 0.05
    assert np.abs(logits - floats).mean() < 0.1 * floats.std()


def blocks(neuron: str) -> torch.nn.Sequential:
    pytest.importorskip("lava.lib.dl.slayer", reason="Lava is not installed")
    from training import block

    torch.manual_seed(1)
    params = {"kind": neuron, "steps": STEPS}
    net = torch.nn.Sequential(
        block.Dense(params, 3, 8, delay_shift=True), block.Recurrent(params, 8, 6)
    )
    with torch.no_grad():
        for parameter in net.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
    return net.eval()


def test_blocks_are_exported_with_their_kind(neuron, tmp_path):
    net, x = blocks(neuron), (torch.rand(12, 3, STEPS) < 0.4).float()
    to_netx(net, tmp_path / "net.net", calibration=x)
    fixed = read_netx(tmp_path / "net.net")
    assert [layer.kind for layer in fixed.layers] == [neuron.upper()] * 2
    trace = simulate(fixed, x.numpy(), trace=True)
    with torch.no_grad():
        first = net[0](x).numpy()
    assert 0.02 < trace.spikes[0].mean() < 0.9
    # The block shifts its output by a step.
    assert (trace.spikes[0][..., :-1] == first[..., 1:]).mean() > 0.97


def test_block_that_writes_itself_needs_a_temporal_encoding(neuron, tmp_path):
    import h5py

    net = blocks(neuron)
    with (
        h5py.File(tmp_path / "block.net", "w") as f,
        pytest.raises(ModelError, match=f"layer 0 neuron: expected CE-LIF.* got {neuron.upper()};"),
    ):
        net[0].export_hdf5(f.create_group("layer/0"))
