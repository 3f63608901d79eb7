"""NeuroBench's metrics: our definitions next to what its own library counts."""

import numpy as np
import pytest
import torch

from export import simulate
from export.fit import fit, network_fit
from export.fit.energy import installed, library, neurobench
from hw_tests.networks.kinds import KINDS
from training import Network

needs_library = pytest.mark.skipif(
    not installed(),
    reason="neurobench is not installed (pip install --no-deps neurobench snntorch)",
)
METRICS = (
    "footprint",
    "connection_sparsity",
    "activation_sparsity",
    "synaptic_operations",
    "membrane_updates",
)


# What neurobench 2.3.0 (with snntorch 1.0.0, torch 2.3.1, Python 3.10) counted on 2026-11-18: what
# library(net, x, trace) returns for these networks where it is installed.
# footprint, connection and activation sparsity, MACs, ACs, all operations, membrane updates
COUNTED = {
    "images": (317, 0.0, 0.5041728031418753, 2972.0, 705.0, 4578.0, 1263.0),
    "recurrent": (373, 0.0063, 0.5567765567765568, 581 / 3, 2593 / 3, 2226.0, 182.0),
    "delays": (351, 0.0095, 0.5682539682539682, 230.0, 1408 / 3, 1470.0, 610 / 3),
    "sigma-delta": (352, 0.0, 0.6438095238095238, 1336 / 3, 998 / 3, 1792.0, 344.0),
    "lif": (179, 0.0073, 0.4656084656084656, 581 / 3, 2758 / 3, 1918.0, 632 / 3),
}


@pytest.mark.parametrize("name", COUNTED)
def test_definitions_give_the_numbers_that_the_library_gave(name):
    net, x = next(kind for kind in KINDS if kind.name == name).build()
    trace = simulate(net, x, trace=True)
    found = neurobench(net, x, trace)
    footprint, connections, activations, macs, acs, dense, updates = COUNTED[name]
    assert found["footprint"] == footprint
    assert found["connection_sparsity"] == connections
    assert found["activation_sparsity"] == pytest.approx(activations, rel=1e-12)
    operations = found["synaptic_operations"]
    assert operations["Effective_MACs"] == pytest.approx(macs, rel=1e-12)
    assert operations["Effective_ACs"] == pytest.approx(acs, rel=1e-12)
    assert operations["Dense"] == pytest.approx(dense, rel=1e-12)
    assert found["membrane_updates"] == pytest.approx(updates, rel=1e-12)
    assert all(spikes.any() for spikes in trace.spikes)


@needs_library
def test_the_library_counts_what_its_definitions_give():
    """On a network of every kind of layer."""
    for kind in KINDS:
        net, x = kind.build()
        trace = simulate(net, x, trace=True)
        ours, theirs = neurobench(net, x, trace), library(net, x, trace)
        for name in METRICS:
            assert theirs[name] == pytest.approx(ours[name], rel=1e-12), (kind.name, name)
        assert theirs["by"].startswith("neurobench 2.")


@needs_library
def test_the_library_counts_a_float_network_of_ours():
    """Its modules are those of torch, so the library's hooks work on it as it is."""
    from neurobench.metrics.static import ConnectionSparsity, Footprint
    from neurobench.metrics.workload import SynapticOperations
    from neurobench.models import TorchModel

    torch.manual_seed(0)
    net = Network(in_features=2, hidden=(9, 8), classes=3, steps=16)
    net.layers[1].weight.data[:, 0] = 0
    x = torch.rand(4, 2, 16)
    model = TorchModel(net)
    model.register_hooks()
    with torch.no_grad():
        out = model(x)
    heard = [
        hook.inputs[0][0].reshape(-1, hook.layer.in_features) for hook in model.connection_hooks
    ]
    found = SynapticOperations()(model, out, (x, None))
    model.cleanup_hooks()
    weights = [net.layers[0].weight, net.layers[1].weight, net.readout.weight]
    effective = [
        int((h != 0).sum(0) @ (w != 0).sum(0)) for h, w in zip(heard, weights, strict=True)
    ]
    assert heard[1].any()
    assert found["Effective_ACs"] + found["Effective_MACs"] == sum(effective) / 4
    assert ConnectionSparsity()(model) == round(8 / (18 + 72 + 24), 4)
    stored = [*net.parameters(), *net.buffers()]
    assert Footprint()(model) == sum(t.numel() * t.element_size() for t in stored)


@needs_library
def test_the_library_leaves_nothing_behind():
    import snntorch

    net, x = KINDS[0].build()
    before = list(snntorch.SpikingNeuron.instances)
    library(net, x, simulate(net, x, trace=True))
    assert snntorch.SpikingNeuron.instances == before


@pytest.mark.parametrize("there", [False, True])
def test_fit_says_who_counted(there, monkeypatch):
    net, x = KINDS[0].build()
    monkeypatch.setattr(network_fit, "installed", lambda: there)
    monkeypatch.setattr(
        network_fit, "library", lambda *run: {**neurobench(*run), "by": "neurobench 2.3.0"}
    )
    said = fit(net, x=x).to_dict()["neurobench"]
    assert said["by"] == ("neurobench 2.3.0" if there else "celif")
    assert said["footprint"] > 0


def test_a_run_without_a_trace_is_refused():
    net, x = KINDS[0].build()
    with pytest.raises(ValueError, match="expected spikes and v, got none; run with trace=True"):
        neurobench(net, x, simulate(net, np.asarray(x)))
