"""Networks whose forward pass a file cannot hold are refused by name."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from export import ModelError, quantize, to_netx
from export.tests.convert.users_modules import INPUTS, STEPS, WIDTH, Base, ResidualCurrent, made


def test_graded_input_beyond_the_first_layer_is_refused(tmp_path):
    net, _ = made(ResidualCurrent)
    graded = torch.rand(8, INPUTS, STEPS, generator=torch.Generator().manual_seed(2))
    with pytest.raises(ModelError, match="expected spikes, 0 or 1, as input, because it reaches"):
        to_netx(net, tmp_path / "net.net", calibration=graded)


UNEXPRESSED = {
    "relu": (lambda self, x: self.readout(torch.relu(self.a(x)).mean(-1)), "relu in Bad"),
    "product": (
        lambda self, x: self.readout((self.a(x) * self.a(x)).mean(-1)),
        r"a product of two sums of spikes \(mul in Bad\)",
    ),
    "last-step": (lambda self, x: self.readout(self.a(x)[..., -1]), "expected"),
    "every-step": (
        lambda self, x: self.readout(self.a(x).transpose(1, 2)),
        "expected logits that are means over time",
    ),
    "half-the-steps": (
        lambda self, x: self.readout(self.a(x)[..., :10].mean(-1)),
        "a sum over something else than all steps",
    ),
    "batch-statistics": (
        lambda self, x: self.readout((self.a(x) - self.a(x).mean(0, True)).mean(-1)),
        "a sum over something else than all steps",
    ),
    "set-item": (lambda self, x: self.written(x), "__setitem__ in Bad"),
    "data": (lambda self, x: self.zeroed(x), r"Bad: expected .* got \.data, .* change unseen"),
    "two-outputs": (lambda self, x: (self.a(x), x), "expected one tensor from Bad"),
}


@pytest.mark.parametrize(("forward", "message"), UNEXPRESSED.values(), ids=UNEXPRESSED)
def test_operation_that_no_file_holds_is_named(forward, message, tmp_path):
    class Bad(Base):
        def written(self, x: torch.Tensor) -> torch.Tensor:
            h = self.a(x)
            h[:, 0] = 0
            return self.readout(h.mean(-1))

        def zeroed(self, x: torch.Tensor) -> torch.Tensor:
            h = self.a(x)
            h.data[:, :1, :4] = 0
            return self.readout(h.double().mean(-1).float())  # in float32 only

    Bad.forward = forward
    torch.manual_seed(5)
    x = (torch.rand(8, INPUTS, STEPS) < 0.4).float()
    with pytest.raises(ModelError, match=message):
        to_netx(Bad(), tmp_path / "net.net", calibration=x)


class Normalised(Base):
    """The classifier of the first layer's rates, with a norm and a divisor of its current."""

    def __init__(self) -> None:
        super().__init__()
        self.norm, self.divisor = nn.BatchNorm1d(WIDTH), 2.0
        self.mixing = nn.Parameter(torch.eye(WIDTH))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        current = torch.einsum("oi,bit->bot", self.mixing, self.a.current(x)) / self.divisor
        return self.readout(self.a.neurons(self.norm(current)).mean(-1))


DIVERGED = {
    "weight": ("a.linear.weight", r"network a\.linear\.weight: .* nan at \(0, .*training diverged"),
    "matrix": ("mixing", r"network mixing: expected finite numbers, got nan at \(0, 0\)"),
    "buffer": ("norm.running_var", r"network norm\.running_var: .* nan at .* training diverged"),
    "readout": ("readout.bias", r"network readout\.bias: .* nan at \(0,\).* training diverged"),
}


@pytest.mark.parametrize(("name", "message"), DIVERGED.values(), ids=DIVERGED)
def test_nan_is_named_by_its_parameter(name: str, message: str, tmp_path) -> None:
    net, x = made(Normalised)
    with torch.no_grad():
        net.state_dict()[name].view(-1)[0] = torch.nan
    with pytest.raises(ModelError, match=message):
        to_netx(net, tmp_path / "net.net", calibration=x)


def test_constant_that_is_infinite_is_no_fault_of_the_training(tmp_path) -> None:
    net, x = made(Normalised)
    net.divisor = 0.0
    with pytest.raises(ModelError, match=r"layer 0 weight: .*look for a constant of the forward"):
        to_netx(net, tmp_path / "net.net", calibration=x)


def test_nan_in_training_of_the_integers_is_named() -> None:
    net, x = made(Normalised)
    aware = quantize(net, calibration=x)
    with torch.no_grad():
        aware.get_parameter("net.net.norm.weight")[2] = torch.nan
    with pytest.raises(ModelError, match=r"network norm\.weight: expected finite .* diverged"):
        aware(x)


def test_buffer_that_no_layer_uses_may_be_infinite(tmp_path) -> None:
    net, x = made(Normalised)
    net.register_buffer("largest", torch.tensor(torch.inf))
    to_netx(net, tmp_path / "net.net", calibration=x)


@pytest.mark.parametrize("export", [to_netx, quantize], ids=["to_netx", "quantize"])
def test_module_without_calibration_is_told_to_pass_some(export, tmp_path) -> None:
    net, _ = made(Normalised)
    path = (tmp_path / "net.net",) if export is to_netx else ()
    with pytest.raises(ModelError, match=r"forward pass of Normalised is .*; pass calibration=x"):
        export(net, *path, calibration=None)


def test_branch_on_the_data_is_noticed(tmp_path):
    class Choosing(Base):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            h = self.a(x)
            return self.readout(h.mean(-1) if x.sum() > 250 else self.b(h).mean(-1))

    torch.manual_seed(5)
    x = torch.cat([torch.ones(4, INPUTS, STEPS), torch.zeros(12, INPUTS, STEPS)])
    x[4:, :, ::5] = 1
    with (
        pytest.warns(UserWarning, match="Choosing reads numbers out of its tensors"),
        pytest.raises(ModelError, match=r"Choosing\.forward computes another network"),
    ):
        to_netx(Choosing(), tmp_path / "net.net", calibration=x.flip(0))
