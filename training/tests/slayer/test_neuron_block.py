"""CE-LIF blocks among SLAYER's: forward, backward, quantised weights, timing, refusals."""

from __future__ import annotations

import copy

import pytest
import torch

slayer = pytest.importorskip("lava.lib.dl.slayer", reason="Lava is not installed")

from training import block
from training.functional import celif
from training.slayer.neuron import Neuron

STEPS = 16
CUBA = {"threshold": 0.3, "current_decay": 0.5, "voltage_decay": 0.3}


@pytest.fixture
def spikes() -> torch.Tensor:
    """Input spikes (batch, 5, time)."""
    return (torch.rand(4, 5, STEPS, generator=torch.Generator().manual_seed(0)) < 0.4).float()


def dense(**options) -> block.Dense:
    torch.manual_seed(1)
    made = block.Dense({"steps": STEPS, "width": 1.0}, 5, 8, weight_scale=2, **options)
    torch.nn.init.uniform_(made.neuron.bias, 0, 0.2)
    return made


@pytest.mark.parametrize("shifted", [False, True], ids=["unshifted", "shifted"])
def test_block_stands_between_slayer_blocks(spikes, shifted):
    torch.manual_seed(2)
    stack = torch.nn.Sequential(
        slayer.block.cuba.Dense(CUBA, 5, 12, weight_scale=4, delay_shift=shifted),
        block.Dense({"steps": STEPS, "width": 1.0}, 12, 10, weight_scale=3, delay_shift=shifted),
        slayer.block.cuba.Dense(CUBA, 10, 3, weight_scale=5, delay_shift=shifted),
    )
    out = stack(spikes)
    assert out.shape == (4, 3, STEPS)
    assert 0.02 < out.mean() < 0.98
    out.square().sum().backward()
    for name, parameter in stack.named_parameters():
        if parameter.requires_grad:
            assert parameter.grad is not None, name
            assert parameter.grad.any(), name
    assert stack[1].neuron.te.grad is not None


def test_block_computes_celif_of_quantised_weights(spikes):
    made = dense()
    mantissas = made.synapse.pre_hook_fx(made.synapse.weight, descale=True)
    assert torch.equal(mantissas, mantissas.round())
    assert 64 <= mantissas.abs().max() <= 127
    weight = made.neuron.quantize_weight(made.synapse.weight).flatten(1)
    assert not torch.equal(weight, made.synapse.weight.flatten(1))
    current = torch.einsum("nm,bmt->bnt", weight, spikes) + made.neuron.bias[:, None]
    expected = celif(current, made.neuron.te, width=1.0)
    assert 0.02 < expected.mean() < 0.98
    # Mantissas of up to 7 bits: sums of five are exact in any order.
    assert torch.equal(made(spikes), expected)


def test_delay_shift_moves_the_output_one_step(spikes):
    plain, shifted = dense()(spikes), dense(delay_shift=True)(spikes)
    assert plain[..., :-1].any()
    assert torch.equal(shifted[..., 1:], plain[..., :-1])
    assert not shifted[..., 0].any()


def test_default_timing_is_the_papers():
    assert dense().delay_shift is False


def test_state_starts_afresh_with_every_sequence(spikes):
    made = dense()
    assert torch.equal(made(spikes), made(spikes))


def test_callers_parameters_are_left_alone():
    params = {"steps": STEPS, "alpha": 0.25, "bias": False}
    before = copy.deepcopy(params)
    made = block.Dense(params, 5, 8)
    assert params == before
    assert made.neuron.alpha == 0.25
    assert made.neuron.bias is None


def test_mask_silences_synapses(spikes):
    mask = torch.ones(8, 5)
    mask[:, 2:] = 0
    made = dense(mask=mask)
    out = made(spikes)
    assert not made.synapse.weight[:, 2:].any()
    silenced = spikes.clone()
    silenced[:, 2:] = 0
    assert out.any()
    assert torch.equal(made(silenced), out)


def test_hook_of_the_caller_replaces_ours(spikes):
    made = dense(pre_hook_fx=lambda weight, descale=False: weight * 0)
    torch.nn.init.zeros_(made.neuron.bias)
    assert not made(spikes).any()


def test_table_can_be_shared(spikes):
    table = torch.nn.Parameter(torch.full((12, STEPS), 0.05))
    wide = block.Dense({"steps": STEPS, "te": table, "width": 1.0}, 5, 12)
    narrow = block.Dense({"steps": STEPS, "te": table, "width": 1.0}, 12, 4)
    assert wide.neuron.te is narrow.neuron.te
    stack = torch.nn.Sequential(wide, narrow)
    assert sum(p.numel() for p in stack.parameters()) == 12 * 5 + 12 + 4 * 12 + 4 + table.numel()


def test_device_params_are_rounded_to_twelve_bits():
    assert Neuron(3, 4, alpha=0.5, beta=0.99, weight_bits=6).device_params == {
        "type": "CELIF",
        "alphaMant": 2048,
        "betaMant": 4055,
        "wgtBits": 6,
    }


@pytest.mark.parametrize("name", ["alpha", "beta"])
def test_decay_that_a_device_would_take_for_none_is_refused(name):
    with pytest.raises(ValueError, match=rf"{name}: .* 0\.99988 .* got 0\.9999; use a faster"):
        _ = Neuron(3, 4, **{name: 0.9999}).device_params
    assert Neuron(3, 4, **{name: 0.99987}).device_params[f"{name}Mant"] == 4095


REFUSED = {
    "delay": ({"delay": 63}, r"delay: expected True, or whole steps 0\.\.62 .* each of 8, got 63"),
    "count-log": ({"count_log": True}, "count_log: expected False, got True"),
    "image": ({"in_neurons": (4, 4, 1)}, r"in_neurons: .* got \(4, 4, 1\); flatten"),
    "steps": ({"neuron_params": {"alpha": 0.5}}, r"expected 'steps', .*got only \['alpha'\]; add"),
    "unknown": (
        {"neuron_params": {"threshold": 0.5}},
        "neuron_params: expected steps, kind, alpha, beta, .* got 'threshold'; leave it out",
    ),
    "beta": ({"neuron_params": {"steps": 4, "beta": 1}}, r"beta: expected .*\[0, 1\), got 1"),
    "bits": (
        {"neuron_params": {"steps": 4, "weight_bits": 9}},
        "weight_bits: expected 2..8, got 9",
    ),
    "per-neuron": (
        {"neuron_params": {"steps": 4, "alpha": torch.rand(7)}},
        r"alpha: expected a number or 8 values, one per neuron, got shape \(7,\)",
    ),
    "table": (
        {"neuron_params": {"steps": 4, "te": torch.nn.Parameter(torch.zeros(7, 4))}},
        r"te: expected at least 8 rows and 4 columns, got shape \(7, 4\)",
    ),
    "mask": (
        {"weight_norm": True, "mask": torch.ones(8, 5)},
        "mask: expected none with weight_norm",
    ),
}


@pytest.mark.parametrize(("change", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_option_is_refused_by_name(change, message):
    arguments = {"neuron_params": {"steps": 4}, "in_neurons": 5, "out_neurons": 8} | change
    with pytest.raises(ValueError, match=message):
        block.Dense(**arguments)


def test_wrong_number_of_steps_is_refused():
    with pytest.raises(ValueError, match=r"CELIF input: expected 1\.\.16 time steps.* got 17"):
        dense()(torch.zeros(1, 5, 17))
