"""Networks that feed back, and networks whose output layer spikes."""

from __future__ import annotations

import pytest
import torch

from training import Network
from training.functional import celif

# The paper's counts fit two recurrent layers, each recurrence with a bias of its own.
SIZES = {"small": ((64, 136, 136), 158_386), "large": ((64, 152, 152), 181_378)}


def fired(net: Network) -> Network:
    """The network with weights that make it fire, evaluating."""
    with torch.no_grad():
        for layer in net.spiking_layers:
            layer.weight.mul_(3)
            layer.bias.uniform_(0, 0.3)
        net.te.normal_(0, 0.3)
    return net.eval()


@pytest.fixture
def x() -> torch.Tensor:
    return torch.rand(6, 2, 20, generator=torch.Generator().manual_seed(1))


@pytest.fixture
def net() -> Network:
    torch.manual_seed(0)
    return fired(Network(2, (7, 12, 5), 3, 20, recurrent=True))


@pytest.mark.parametrize(("hidden", "parameters"), SIZES.values(), ids=SIZES.keys())
def test_recurrent_network_has_the_papers_number_of_parameters(hidden, parameters):
    net = Network(1, hidden, 10, 784, recurrent=True)
    assert net.num_parameters == parameters


@pytest.mark.parametrize(
    ("hidden", "recurrent", "expected"),
    [
        ((7, 12, 5), True, [True, True, False]),
        ((7,), True, [True]),
        ((7, 12), (False, True), [False, True]),
        ((7, 12), False, [False, False]),
    ],
)
def test_recurrent_names_the_layers(hidden, recurrent, expected):
    net = Network(2, hidden, 3, 20, recurrent=recurrent)
    assert list(net.config.recurrent) == expected
    assert [net.recurrent_layer(i) is not None for i in range(len(hidden))] == expected
    assert Network(**net.config).num_parameters == net.num_parameters


def test_wrong_number_of_layers_is_refused():
    with pytest.raises(ValueError, match=r"recurrent: expected True, False or 2 of them.* got 3"):
        Network(2, (7, 12), 3, 20, recurrent=(True, False, True))


def test_layer_is_celif_of_what_it_received_and_fed_back(net, x):
    states = net.hidden_states(x)
    for i, (state, width) in enumerate(zip(states, (7, 12, 5), strict=True)):
        assert 0.02 < state.spikes.mean() < 0.98
        # The current, feedback included, drives a feedforward layer to the same spikes: the
        # recurrence adds nothing else. Sums in another order may round elsewhere, hence not ==.
        again = celif(state.current, net.te[:width], **net.neuron)
        assert (again == state.spikes).float().mean() > 0.99
        assert (state.weight_rec is not None) == (i < 2)
    with torch.no_grad():
        net.recurrent["1"].weight.zero_()
    assert not torch.equal(net.hidden_states(x)[1].spikes, states[1].spikes)


def test_gradient_reaches_every_parameter(net, x):
    net(x).square().sum().backward()
    for name, parameter in net.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.any(), name


def test_spiking_readout_gives_firing_rates(x):
    torch.manual_seed(3)
    net = fired(Network(2, (7, 5), 13, 20, readout="spikes"))
    assert net.te.shape == (13, 20), "the output layer uses the table, too"
    states = net.hidden_states(x)
    assert len(states) == 3
    logits = net(x)
    assert torch.equal(logits, states[-1].spikes.sum(-1) / 20)
    assert 0.02 < logits.mean() < 0.98
    logits.square().sum().backward()
    assert net.readout.weight.grad.any()


def test_recurrent_network_learns(x):
    torch.manual_seed(0)
    net = fired(Network(2, (12, 8), 2, 20, recurrent=True)).train()
    labels = torch.tensor([0, 1, 0, 1, 1, 0])
    optimizer = torch.optim.Adam(net.parameters(), lr=0.02)
    losses = []
    for _ in range(40):
        loss = torch.nn.functional.cross_entropy(net(x), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.5 * losses[0]
