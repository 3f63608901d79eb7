"""torch.compile runs quantisation-aware networks, whose integer scan it leaves alone."""

from __future__ import annotations

import torch

from export import quantize
from training import Network


def test_compiled_quantised_network_has_the_same_logits_and_gradients() -> None:
    torch.manual_seed(0)
    x = torch.rand(6, 2, 20)
    net = quantize(Network(2, (9, 8), 3, 20), calibration=x)
    expected = net(x)
    expected.sum().backward()
    before = [p.grad.clone() for p in net.parameters() if p.grad is not None]
    assert any(grad.any() for grad in before)
    net.zero_grad()
    torch._dynamo.reset()
    found = torch.compile(net, backend="eager")(x)
    found.sum().backward()
    assert torch.equal(found, expected)
    assert all(map(torch.equal, before, [p.grad for p in net.parameters() if p.grad is not None]))
