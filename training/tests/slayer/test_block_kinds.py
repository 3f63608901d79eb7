"""Blocks other than Dense: convolution, pooling, recurrence, input, delays, readout."""

from __future__ import annotations

import copy

import pytest
import torch

slayer = pytest.importorskip("lava.lib.dl.slayer", reason="Lava is not installed")

from training import block
from training.functional import celif

STEPS = 14
PARAMS = {"steps": STEPS, "width": 1.0}
CUBA = {"threshold": 0.3, "current_decay": 0.5, "voltage_decay": 0.3}


def spikes(*shape: int, rate: float = 0.4) -> torch.Tensor:
    return (torch.rand(*shape, STEPS, generator=torch.Generator().manual_seed(0)) < rate).float()


def fires(out: torch.Tensor) -> bool:
    return 0.02 < out.mean() < 0.98


def test_convolution_is_celif_of_each_pixel():
    torch.manual_seed(1)
    made = block.Conv(PARAMS, 2, 4, (3, 2), stride=(2, 1), padding=(1, 0), groups=2, weight_scale=3)
    torch.nn.init.uniform_(made.neuron.bias, 0, 0.2)
    x = spikes(3, 2, 5, 4)
    out = made(x)
    assert fires(out)
    weight = made.neuron.quantize_weight(made.synapse.weight)[..., 0]
    current = torch.stack(
        [
            torch.nn.functional.conv2d(x[..., t], weight, None, (2, 1), (1, 0), groups=2)
            for t in range(STEPS)
        ],
        -1,
    )
    assert out.shape == current.shape == (3, 4, 3, 3, STEPS)
    assert made.shape == (4, 3, 3)
    for row in range(3):
        for column in range(3):
            pixel = current[:, :, row, column]
            expected = celif(pixel, made.neuron.te, width=1.0, bias=made.neuron.bias)
            assert torch.equal(out[:, :, row, column], expected)


def test_pooling_is_the_mean_of_a_window():
    made = block.Pool(PARAMS | {"weight_bits": 6}, 3, 2, weight_scale=2)
    x = spikes(2, 3, 4, 6)
    out = made(x)
    assert out.shape == (2, 3, 2, 3, STEPS)
    assert fires(out)
    means = torch.nn.functional.avg_pool2d(x.movedim(-1, 1).flatten(0, 1), 2) * 2
    means = means.reshape(2, STEPS, 3, 2, 3).movedim(1, -1)
    expected = celif(means[:, :, 1, 2], made.neuron.te, width=1.0)
    assert torch.equal(out[:, :, 1, 2], expected)
    assert not made.synapse.weight.requires_grad


def recurrent(**options) -> block.Recurrent:
    torch.manual_seed(2)
    return block.Recurrent(PARAMS, 5, 6, weight_scale=2, **options)


def test_recurrent_block_feeds_back_one_step_later():
    made, x = recurrent(), spikes(4, 5)
    # Weights of one scale: neither is rounded more finely than the export will.
    with torch.no_grad():
        made.recurrent_synapse.weight /= 9
    both = [made.input_synapse, made.recurrent_synapse]
    weight, own = (made._quantize(s.weight).flatten(1) for s in both)
    mantissas = [made._quantize(s.weight, descale=True) for s in both]
    assert 64 <= mantissas[0].abs().max() <= 127
    assert 3 < mantissas[1].abs().max() < 32
    current = torch.einsum("nm,bmt->bnt", weight, x)
    expected = celif(current, made.neuron.te, width=1.0, bias=made.neuron.bias, weight_rec=own)
    out = made(x)
    assert fires(out)
    assert torch.equal(out, expected)
    assert torch.equal(made(x), out), "the state starts again with every sequence"


@pytest.mark.filterwarnings("ignore:.?torch.nn.utils.weight_norm.? is deprecated")  # SLAYER uses it
def test_recurrent_block_uses_its_present_normalised_weights():
    made, x = recurrent(weight_norm=True), spikes(4, 5)
    before = made(x)
    with torch.no_grad():
        made.recurrent_synapse.weight_g *= -3
    changed = made(x)
    assert not torch.equal(before, changed)
    assert torch.equal(changed, made(x))


def test_recurrent_block_leaves_its_parameters_alone_and_learns():
    params = dict(PARAMS)
    made = block.Recurrent(params, 5, 6, weight_scale=2)
    assert params == PARAMS
    made(spikes(4, 5)).square().sum().backward()
    assert made.recurrent_synapse.weight.grad.any()
    fixed = block.Recurrent(params, 5, 6, requires_grad=False)
    assert not fixed.recurrent_synapse.weight.requires_grad


def test_input_block_scales_and_offsets_each_input():
    made = block.Input(PARAMS | {"neurons": 3}, weight=0.7, bias=0.1)
    x = torch.rand(2, 3, STEPS, generator=torch.Generator().manual_seed(4))
    factor = made.neuron.quantize_weight(made.weight)
    expected = celif(x * factor + made.bias, made.neuron.te, width=1.0, bias=made.neuron.bias)
    out = made(x)
    assert fires(out)
    assert torch.equal(out, expected)
    out.sum().backward()
    assert made.weight.grad.any()
    assert made.bias.grad.any()


def test_input_block_takes_images():
    made = block.Input(PARAMS | {"neurons": 2}, weight=1.0)
    x = torch.rand(2, 2, 3, 4, STEPS, generator=torch.Generator().manual_seed(4))
    out = made(x)
    assert fires(out)
    assert torch.equal(out[:, :, 1, 2], celif(x[:, :, 1, 2], made.neuron.te, width=1.0))


@pytest.mark.parametrize("delay", [3, [0, 1, 2, 3, 13, 20]], ids=["all", "each"])
@pytest.mark.parametrize("shifted", [False, True], ids=["unshifted", "shifted"])
def test_set_delay_moves_the_output(delay, shifted):
    torch.manual_seed(0)
    plain = block.Dense(PARAMS, 5, 6, weight_scale=2)
    late = block.Dense(PARAMS, 5, 6, delay=delay, delay_shift=shifted)
    late.load_state_dict(plain.state_dict(), strict=False)
    assert not late.delay.delay.requires_grad
    out, expected = late(spikes(4, 5)), plain(spikes(4, 5))
    assert fires(expected)
    for n in range(6):
        steps = shifted + (delay if isinstance(delay, int) else delay[n])
        moved = torch.zeros(4, STEPS)
        moved[:, steps:] = expected[:, n, : max(STEPS - steps, 0)]
        assert torch.equal(out[:, n], moved)


def test_learnable_delay_is_slayers():
    torch.manual_seed(0)
    made = block.Conv(PARAMS, 2, 3, 2, delay=True, weight_scale=3)
    out = made(spikes(2, 2, 3, 3))
    assert made.delay.delay.shape == (3,)
    (out * torch.linspace(0, 1, STEPS)).sum().backward()
    assert made.delay.delay.grad.any()


def test_stack_of_every_block_trains_through():
    torch.manual_seed(5)
    stack = torch.nn.Sequential(
        block.Input(PARAMS | {"neurons": 2}, weight=2.0),
        slayer.block.cuba.Conv(CUBA, 2, 4, 3, padding=1, weight_scale=6, delay_shift=False),
        block.Conv(PARAMS, 4, 4, 3, padding=1, weight_scale=4, delay_shift=True),
        block.Pool(PARAMS, 4, 2, weight_scale=4),
        block.Flatten(),
        block.Recurrent(PARAMS, 16, 8, weight_scale=3, delay=True),
        slayer.block.cuba.Dense(CUBA, 8, 6, weight_scale=6, delay_shift=False),
        block.Readout(6, 3),
    )
    logits = stack(spikes(4, 2, 4, 4, rate=0.8))
    assert logits.shape == (4, 3)
    assert logits.std() > 0
    logits.square().sum().backward()
    for name, parameter in stack.named_parameters():
        if parameter.requires_grad:
            assert parameter.grad is not None, name
            assert parameter.grad.any(), name


def test_copy_of_a_block_quantises_its_own_weights():
    made, x = recurrent(delay=2), spikes(4, 5)
    again = copy.deepcopy(made)
    again.load_state_dict(made.state_dict())
    expected = made(x)
    assert torch.equal(again(x), expected)
    with torch.no_grad():
        again.input_synapse.weight *= 50
    assert torch.equal(made(x), expected)
    assert not torch.equal(again(x), expected)


REFUSED = {
    "neurons": (lambda: block.Input({"steps": 4}), "block.Input neuron_params: expected 'neurons'"),
    "steps": (lambda: block.Conv({}, 2, 3, 2), "block.Conv neuron_params: expected 'steps'"),
    "delay": (
        lambda: block.Dense({"steps": 4}, 2, 3, delay=[1, 2.5, 3]),
        r"block.Dense delay: expected True, or whole steps 0\.\.62 .* got \[1, 2.5, 3\]",
    ),
    "image": (lambda: block.Recurrent({"steps": 4}, (2, 2), 3), "in_neurons: .* block.Conv"),
    "unknown": (
        lambda: block.Recurrent({"steps": 4, "persistent_state": True}, 2, 3),
        "expected steps, .* got 'persistent_state'; leave it out",
    ),
}


@pytest.mark.parametrize(("make", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_option_is_refused_by_name(make, message):
    with pytest.raises(ValueError, match=message):
        make()
