"""Single functions of torch in a forward pass: each becomes weights, or is refused by its name."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import nn

from export import ModelError, read_netx, simulate, to_netx
from training import CELIF, functional

STEPS, INPUTS, WIDTH = 20, 6, 9


class OneLayer(nn.Module):
    """A layer whose current is computed by a function of its own."""

    def __init__(self, current) -> None:
        super().__init__()
        self.weight = nn.Parameter(2 * torch.randn(WIDTH, INPUTS))
        self.neurons = CELIF(WIDTH, STEPS)
        self.current = current

    def forward(self, x):
        return self.neurons(self.current(self.weight, x))


@pytest.fixture
def x() -> torch.Tensor:
    return (torch.rand(8, INPUTS, STEPS, generator=torch.Generator().manual_seed(0)) < 0.4).float()


def exported(current, x: torch.Tensor, folder: Path) -> tuple[OneLayer, torch.Tensor]:
    torch.manual_seed(0)
    net = OneLayer(current)
    to_netx(net, folder / "net.net", calibration=x)
    fixed = read_netx(folder / "net.net")
    trace = simulate(fixed, fixed.encode(x.numpy()), trace=True)
    return net, torch.from_numpy(trace.spikes[0]).float()


def einsum(equation: str, turn: bool = False):
    def current(weight: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        weight = weight.t() if turn else weight
        first = equation.startswith(("oi", "io"))
        return torch.einsum(equation, *((weight, x) if first else (x, weight)))

    return current


@pytest.mark.parametrize(
    ("equation", "turn"),
    [("oi,bit->bot", False), ("bit,oi->bot", False), ("io, bit -> bot", True)],
)
def test_einsum_with_a_matrix_becomes_weights(equation, turn, x, tmp_path) -> None:
    net, spikes = exported(einsum(equation, turn), x, tmp_path)
    plain, other = exported(lambda weight, x: weight @ x, x, tmp_path)
    assert 0.02 < spikes.mean() < 0.98
    assert torch.equal(spikes, other)
    torch.testing.assert_close(net(x), plain(x))


@pytest.mark.parametrize(
    ("equation", "why"),
    [("oi,bit->bo", "no product along one axis"), ("oi,b...->bo...", "other than that of a value")],
)
def test_other_einsums_are_refused_by_name(equation, why, x, tmp_path) -> None:
    def current(weight, x):
        if "..." in equation:
            return torch.einsum("oi,bi...->bo...", weight, x)
        return torch.einsum(equation, weight, x)[..., None].expand(-1, -1, STEPS)

    with pytest.raises(ModelError, match=rf"{why}.*einsum in OneLayer"):
        exported(current, x, tmp_path)


LOOPS = {
    "select": lambda w, x: torch.stack([x[..., t] @ w.t() for t in range(STEPS)], -1),
    "unbind": lambda w, x: torch.stack([each @ w.t() for each in x.unbind(-1)], 2),
    "linear": lambda w, x: torch.stack(
        [nn.functional.linear(each, w) for each in x.permute(2, 0, 1)], dim=-1
    ),
    "time-first": lambda w, x: torch.stack([each @ w.t() for each in x.unbind(-1)]).permute(
        1, 2, 0
    ),
    "concatenated": lambda w, x: torch.cat([w @ x[:, :, t : t + 1] for t in range(STEPS)], -1),
}
"""The product of a matrix and every step, in loops over time."""


@pytest.mark.parametrize("loop", LOOPS)
def test_loop_over_the_steps_is_one_synapse(loop, x, tmp_path) -> None:
    net, spikes = exported(LOOPS[loop], x, tmp_path)
    plain, other = exported(lambda weight, x: weight @ x, x, tmp_path)
    assert 0.02 < spikes.mean() < 0.98
    assert torch.equal(spikes, other)
    torch.testing.assert_close(net(x), plain(x))


def over_steps(made):
    return lambda w, x: torch.stack([made(w, x, t) for t in range(STEPS)], -1)


NO_SYNAPSES = {
    "weights": (lambda w, x, t: x[..., t] @ w.t() * (1 + t), "steps with different weights"),
    "biases": (lambda w, x, t: x[..., t] @ w.t() + t, "steps with different weights"),
    "backwards": (lambda w, x, t: x[..., -1 - t] @ w.t(), "steps in another order"),
    "twice": (lambda w, x, t: x[..., t // 2] @ w.t(), "steps in another order"),
    "constant": (
        lambda w, x, t: x[..., t] @ w.t() if t else torch.zeros(len(x), WIDTH),
        r"a stack with something that is no sum of spikes \(stack in OneLayer\)",
    ),
}
"""What loops over time make of each step, and why it is refused."""


@pytest.mark.parametrize("steps", [range(STEPS - 1), range(1, STEPS)], ids=["last", "first"])
def test_loop_that_misses_a_step_is_refused_by_name(steps, x, tmp_path) -> None:
    def current(weight, x):
        return torch.stack([x[..., t] @ weight.t() for t in steps], -1)

    why = r"receive 19 steps instead of 20; .* a loop over time must produce every step \("
    with pytest.raises(ModelError, match=why):
        exported(current, x, tmp_path)


@pytest.mark.parametrize(("made", "why"), NO_SYNAPSES.values(), ids=NO_SYNAPSES)
def test_loop_that_is_no_synapse_is_refused_by_name(made, why, x, tmp_path) -> None:
    with pytest.raises(ModelError, match=why):
        exported(over_steps(made), x, tmp_path)


def test_readout_of_every_step_may_be_averaged(x, tmp_path) -> None:
    class Averaged(OneLayer):
        def __init__(self) -> None:
            super().__init__(LOOPS["unbind"])
            self.readout = nn.Linear(WIDTH, 3)

        def forward(self, x):
            steps = super().forward(x).unbind(-1)
            return torch.stack([self.readout(each) for each in steps]).mean(0)

    torch.manual_seed(0)
    net = Averaged()
    to_netx(net, tmp_path / "net.net", calibration=x)
    fixed = read_netx(tmp_path / "net.net")
    trace = simulate(fixed, x.numpy(), trace=True)
    rates = torch.from_numpy(trace.spikes[0]).float().mean(-1)
    assert rates.mean() > 0.02
    found = trace.logits * 2.0**-fixed.readout.weight_exp / STEPS
    with torch.no_grad():
        expected = net.readout(rates).numpy()
    assert abs(found - expected).max() < 0.02, "weights of 8 bits"


READINGS = {
    "bool": lambda x: x.mean() > 0.2,
    "item": lambda x: x.mean().item() > 0.2,
    "numpy": lambda x: x.detach().numpy().mean() > 0.2,
    "equal": lambda x: not torch.equal(x, torch.zeros_like(x)),
}


@pytest.mark.parametrize("reading", READINGS)
def test_forward_that_reads_its_tensors_warns_of_it(reading, x, tmp_path) -> None:
    def current(weight, x):
        return (2 if READINGS[reading](x) else 1) * (weight @ x)

    with pytest.warns(UserWarning, match="OneLayer reads numbers out of its tensors"):
        _, spikes = exported(current, x, tmp_path)
    assert spikes.any()


@pytest.mark.parametrize("change", ["clamp_", "setitem", "add_"])
def test_tensor_that_is_changed_through_a_view_is_refused_by_name(change, x, tmp_path) -> None:
    def current(weight, x):
        made = weight @ x
        if change == "clamp_":
            made[:, :4].clamp_(min=-100.0)
        elif change == "add_":
            made[:, :4].add_(0.0)
        else:
            made[:, :4][:] = made[:, :4].clamp(min=-100.0)
        return made

    with pytest.raises(ModelError, match="a tensor that was changed in place"):
        exported(current, x, tmp_path)


@pytest.mark.parametrize("change", ["written", "replaced", "only-read"])
def test_data_of_a_tensor_is_refused_by_name(change, x, tmp_path) -> None:
    def current(weight, x):
        made = weight @ x
        if change == "written":
            made.data[:, :4, :4] = 0
        elif change == "replaced":
            made.data = torch.zeros_like(made)
        else:
            made = made.data
        return made

    with pytest.raises(
        ModelError, match=r"OneLayer: expected .* got \.data, .* use .*h\.detach\(\)"
    ):
        exported(current, x, tmp_path)


def test_sliced_tables_of_te_keep_formats_of_their_own(x, tmp_path) -> None:
    class Sliced(nn.Module):
        def __init__(self, inputs: int, scale: float) -> None:
            super().__init__()
            self.weight = nn.Parameter(torch.randn(WIDTH, inputs))
            self.te = nn.Parameter(scale * torch.rand(WIDTH, 2 * STEPS))

        def forward(self, x):
            current, tried = self.weight @ x, []
            for _ in range(200):  # for a slice in the place of one that was used and freed
                tried.append(self.te[:, :STEPS])
                if id(tried[-1]) in used:
                    break
            used.add(id(tried[-1]))
            return functional.celif(current, tried.pop())

    used: set[int] = set()
    torch.manual_seed(0)
    net = nn.Sequential(Sliced(INPUTS, 0.01), Sliced(WIDTH, 2.0), Sliced(WIDTH, 0.1))
    for _ in range(5):
        used.clear()
        to_netx(net, tmp_path / "net.net", calibration=x)
        layers = read_netx(tmp_path / "net.net").layers
        for layer, module in zip(layers, net, strict=True):
            te = layer.te / 2.0**layer.te_exp
            assert abs(te - module.te[:, :STEPS].detach().numpy()).max() <= module.te.max() / 100


def test_tensor_that_is_changed_itself_is_followed(x, tmp_path) -> None:
    def current(weight, x):
        made = weight @ x
        made *= 1.5
        return made.add_(0.1)

    net, spikes = exported(current, x, tmp_path)
    assert 0.02 < spikes.mean() < 0.98
    assert (spikes == net(x)).float().mean() > 0.9, "but for the rounding of weights"
