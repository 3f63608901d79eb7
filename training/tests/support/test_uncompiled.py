"""torch.compile runs our networks: it compiles what is around the kernels and leaves them alone."""

from __future__ import annotations

import subprocess
import sys

import pytest
import torch
from torch import nn

from training import CELIF, Network, baselines, block, tasks

# Remarks of torch's compiler about itself, in torch 2.13 and on Python 3.13.0.
pytestmark = [
    pytest.mark.filterwarnings("ignore:Guards may run slower on Python 3.13.0"),
    pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf"),
]
STEPS, CLASSES = 12, 3


class Mine(nn.Module):
    """A user's own module around our neurons."""

    def __init__(self) -> None:
        super().__init__()
        self.linear, self.neurons = nn.Linear(2, 8), CELIF(8, STEPS)
        self.readout = nn.Linear(8, CLASSES)

    def forward(self, x):
        current = 4 * self.linear(x.transpose(1, 2)).transpose(1, 2)
        return self.readout(self.neurons(current).mean(-1))


def lif() -> nn.Module:
    x, y = torch.rand(40, 2, STEPS), torch.arange(40) % CLASSES
    return baselines.build("LIF", tasks.from_arrays("t", x, y), (9, 8))


NETWORKS = {
    "network": lambda: Network(2, (9, 8), CLASSES, STEPS),
    "recurrent": lambda: Network(2, (9, 8), CLASSES, STEPS, recurrent=True),
    "own-module": Mine,
    "blocks": lambda: nn.Sequential(
        block.Dense({"steps": STEPS}, 2, 8, weight_scale=4), block.Readout(8, CLASSES)
    ),
    "rival": lif,
}


@pytest.mark.parametrize("make", NETWORKS.values(), ids=NETWORKS)
def test_compiled_network_has_the_same_outputs_and_gradients(make) -> None:
    torch.manual_seed(0)
    net, x = make(), 3 * torch.rand(4, 2, STEPS)
    expected = net(x)
    expected.sum().backward()
    before = [p.grad.clone() for p in net.parameters() if p.grad is not None]
    assert any(grad.any() for grad in before)
    net.zero_grad()
    torch._dynamo.reset()
    found = torch.compile(net, backend="eager")(x)
    found.sum().backward()
    assert torch.equal(found, expected)
    after = [p.grad for p in net.parameters() if p.grad is not None]
    assert all(map(torch.equal, before, after))


def test_a_forward_pass_does_not_import_torchs_compiler() -> None:
    code = """
import sys, torch
from training import Network
Network(2, (5,), 3, 6)(torch.rand(2, 2, 6))
assert "torch._dynamo" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)
