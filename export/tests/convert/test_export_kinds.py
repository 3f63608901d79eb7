"""Blocks of every kind, trained in float, exported: each layer does what its block does."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pytest
import torch

slayer = pytest.importorskip("lava.lib.dl.slayer", reason="Lava is not installed")

from export import FixedNetwork, read_netx, simulate, to_netx
from export.model.geometry import delayed
from export.model.layer import Layer
from export.twin.scans import arriving_sums, run_layer
from training import Network, block

STEPS = 20
CELIF = {"steps": STEPS, "width": 1.0}
CUBA = {"threshold": 0.4, "current_decay": 0.6, "voltage_decay": 0.3}
SDNN = {"threshold": 0.1, "activation": torch.nn.functional.relu}
IMAGE = (2, 5, 4)
ALIKE = 0.97


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "net.net"


def spikes(*shape: int, rate: float = 0.4, seed: int = 1) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return (torch.rand(4, *shape, STEPS, generator=generator) < rate).float()


def export(blocks, path: Path, x: torch.Tensor, **options) -> FixedNetwork:
    to_netx(blocks, path, calibration=x, **options)
    return read_netx(path)


def twin_output(layer: Layer, h: torch.Tensor, unit: float = 1.0) -> np.ndarray:
    """What the layer sends for what its block gets, (batch, neuron, time), in the block's unit."""
    whole = (h.flatten(1, -2) / unit).round()
    inputs = whole.transpose(1, 2).contiguous().numpy()
    run = run_layer(layer, arriving_sums(layer, inputs, int(np.abs(inputs).max())), keep=False)
    return delayed(run.spikes, layer.output_delay).transpose(0, 2, 1) * 2.0**-layer.output_exp


def compare(blocks, fixed: FixedNetwork, x: torch.Tensor) -> None:
    """Each layer against its block, on what the float blocks before it send."""
    h, unit = x, fixed.encoding.scale
    layers = iter(fixed.layers)
    with torch.no_grad():
        for made in blocks:
            if not hasattr(made, "neuron"):
                h = made(h)
                continue
            layer, out = next(layers), made(h)
            found = twin_output(layer, h, unit)
            assert found.any(), layer.name
            if layer.kind == "CELIF":  # float against fixed: a measured gap, not an equality
                assert (found == out.flatten(1, -2).numpy()).mean() > ALIKE, layer.name
            else:
                np.testing.assert_array_equal(found, out.flatten(1, -2).numpy(), layer.name)
            h, unit = out, 2.0**-layer.output_exp
    assert next(layers, None) is None


def everything() -> list[torch.nn.Module]:
    return [
        block.Input(CELIF | {"neurons": 2}, weight=2.0, bias=0.1),
        slayer.block.cuba.Conv(CUBA, 2, 4, 3, padding=1, weight_scale=6, delay_shift=False),
        block.Conv(CELIF, 4, 4, (3, 2), stride=(2, 1), padding=(1, 0), weight_scale=4, delay=2),
        block.Pool(CELIF, 4, (1, 2), weight_scale=4, delay_shift=True),
        block.Flatten(),
        block.Recurrent(CELIF, 12, 8, weight_scale=3, delay=[0, 1, 2, 3, 4, 5, 6, 7]),
        slayer.block.cuba.Dense(CUBA, 8, 6, weight_scale=6),
        slayer.block.cuba.Dense(CUBA, 6, 6, weight_scale=6),
        block.Readout(6, 3),
    ]


STACKS: dict[str, tuple[Callable[[], list], tuple[int, ...]]] = {
    "everything": (everything, IMAGE),
    "conv-first": (
        lambda: [
            block.Conv(CELIF, 2, 3, 2, groups=1, dilation=(2, 1), weight_scale=3),
            block.Flatten(),
            block.Dense(CELIF, 27, 4, weight_scale=3),
        ],
        IMAGE,
    ),
    "learnt-delays": (
        lambda: [
            block.Dense(CELIF, 6, 8, weight_scale=3, delay=True),
            slayer.block.cuba.Dense(CUBA, 8, 6, weight_scale=6, delay=True),
            block.Dense(CELIF, 6, 4, weight_scale=3),
        ],
        (6,),
    ),
    "slayers-recurrent": (
        lambda: [
            slayer.block.cuba.Recurrent(dict(CUBA), 6, 8, weight_scale=4, delay_shift=False),
            block.Dense(CELIF, 8, 4, weight_scale=3),
        ],
        (6,),
    ),
    "sigma-delta": (
        lambda: [
            block.Dense(CELIF, 6, 8, weight_scale=3),
            slayer.block.sigma_delta.Dense(SDNN, 8, 7, weight_scale=2),
            slayer.block.sigma_delta.Dense(SDNN, 7, 6, weight_scale=2),
            block.Recurrent(CELIF, 6, 5, weight_scale=2),
            slayer.block.sigma_delta.Dense(SDNN, 5, 4, weight_scale=2),
        ],
        (6,),
    ),
}


@pytest.mark.parametrize(("make", "shape"), STACKS.values(), ids=STACKS.keys())
def test_layers_do_what_their_blocks_do(path, make, shape):
    torch.manual_seed(5)
    blocks, x = make(), spikes(*shape)
    with torch.no_grad():  # SLAYER draws shapes and delays at the first forward pass
        for made in blocks:
            if getattr(made, "delay", None) is not None and not made.delay.init:
                rows = made.synapse.out_channels
                made.delay.delay.data, made.delay.init = torch.arange(rows) * 0.8, True
    fixed = export(blocks, path, x.numpy())
    compare(blocks, fixed, x)
    if isinstance(blocks[-1], block.Readout):
        assert fixed.readout is not None


def test_slayer_recurrent_is_exported_as_it_starts(path):
    torch.manual_seed(5)
    made = slayer.block.cuba.Recurrent(dict(CUBA), 6, 8, weight_scale=4, delay_shift=False)
    blocks, x = [made, block.Dense(CELIF, 8, 4)], spikes(6)
    with torch.no_grad():
        expected = made(x).numpy()
    fixed = export(blocks, path, x)
    np.testing.assert_array_equal(twin_output(fixed.layers[0], x), expected)


@pytest.mark.parametrize("bits", [1, 4, 8, 16])
def test_graded_input_of_a_recurrent_layer_keeps_both_weights(path, bits):
    torch.manual_seed(0)
    made = block.Recurrent(CELIF, 6, 12, weight_scale=3)
    generator = torch.Generator().manual_seed(2)
    x = torch.rand(4, 6, STEPS, generator=generator) * 2 - 1
    fixed = export([made], path, x, input_bits=bits)
    layer = fixed.layers[0]
    for weight in (layer.weight, layer.weight_rec):
        assert 32 <= np.abs(weight).max() <= 127, "neither weight should lose its bits"
    encoded = torch.from_numpy(fixed.encode(x.numpy())).float() * fixed.encoding.scale
    with torch.no_grad():
        expected = made(encoded).numpy()
    found = twin_output(layer, encoded, fixed.encoding.scale)
    assert 0.05 < expected.mean() < 0.95
    assert (found == expected).mean() > ALIKE


@pytest.mark.parametrize("bits", [12, 16])
def test_fine_input_costs_the_weights_no_bits(path, bits):
    torch.manual_seed(0)
    made = block.Dense(CELIF, 6, 12, weight_scale=3)
    x = torch.rand(4, 6, STEPS, generator=torch.Generator().manual_seed(2))
    fixed = export([made], path, x, input_bits=bits)
    layer = fixed.layers[0]
    assert np.abs(layer.weight).max() > 63
    assert layer.sum_right_shift > 0
    with torch.no_grad():
        assert (twin_output(layer, x, fixed.encoding.scale) == made(x).numpy()).mean() > ALIKE


def fired(net: Network) -> Network:
    with torch.no_grad():
        for layer in net.spiking_layers:
            layer.weight.mul_(3)
            layer.bias.uniform_(0, 0.3)
    return net.eval()


def test_recurrent_network_is_exported(path):
    torch.manual_seed(0)
    net = fired(Network(2, (10, 8, 6), 3, STEPS, recurrent=True))
    x = torch.rand(6, 2, STEPS, generator=torch.Generator().manual_seed(1))
    fixed = export(net, path, x)
    assert [layer.weight_rec is not None for layer in fixed.layers] == [True, True, False]
    assert fixed.gap == 1
    assert any(name.startswith("recurrent.0.") for name in fixed.digests)
    trace = simulate(fixed, x.numpy(), trace=True)
    with torch.no_grad():
        states, logits = net.hidden_states(x), net(x).numpy()
    for found, state in zip(trace.spikes, states, strict=True):
        # A spike that differs is heard again and again: the first layers are the nearest.
        assert (found == state.spikes.numpy()).mean() > 0.9
    fixed_logits = trace.logits * 2.0**-fixed.readout.weight_exp / STEPS
    assert np.abs(fixed_logits - logits).max() < 0.2 * np.ptp(logits)


def test_spiking_readout_is_exported_as_a_layer(path):
    torch.manual_seed(0)
    net = fired(Network(2, (10, 8), 3, STEPS, readout="spikes"))
    x = torch.rand(6, 2, STEPS, generator=torch.Generator().manual_seed(1))
    fixed = export(net, path, x)
    assert (len(fixed.layers), fixed.readout) == (3, None)
    with torch.no_grad():
        rates = net(x).numpy()
    counts = simulate(fixed, x.numpy()).logits
    assert counts.any()
    assert np.abs(counts / STEPS - rates).mean() < 0.05


def test_linear_layer_at_the_end_reads_mean_rates(path):
    torch.manual_seed(0)
    made, linear = block.Dense(CELIF, 6, 5, weight_scale=3), torch.nn.Linear(5, 3, bias=False)
    x = spikes(6)
    fixed = export([made, linear], path, x)
    trace = simulate(fixed, x.numpy().astype(int), trace=True)
    rates = torch.from_numpy(trace.spikes[0].mean(2)).float()
    logits = trace.logits * 2.0**-fixed.readout.weight_exp / STEPS
    with torch.no_grad():
        # 8-bit weights: half a step of 1/127 of the largest, of five inputs.
        np.testing.assert_allclose(logits, linear(rates).numpy(), atol=5 * 0.5 / 127)
    assert logits.any()


def test_convolution_that_has_seen_an_image_needs_no_data(path):
    made = block.Conv(CELIF, 2, 3, 2)
    made(spikes(*IMAGE))
    to_netx([made], path)
    assert read_netx(path).layers[0].geometry.input_shape == IMAGE


@pytest.mark.parametrize("make", [
    lambda: block.Conv(CELIF, 2, 3, 2, weight_scale=3),
    lambda: block.Recurrent(CELIF, 6, 5, weight_scale=3, delay=[0, 1, 2, 3, 4]),
    lambda: block.Input(CELIF | {"neurons": 6}, weight=2.0),
], ids=["conv", "recurrent", "input"])  # fmt: skip
def test_block_exports_itself(path, make):
    torch.manual_seed(0)
    made = make()
    x = spikes(*IMAGE) if isinstance(made, block.Conv) else spikes(6)
    out = made(x)
    with h5py.File(path, "w") as f:
        made.export_hdf5(f.create_group("layer/0"))
    fixed = read_netx(path)
    found = twin_output(fixed.layers[0], x)
    assert found.any()
    assert (found == out.flatten(1, -2).detach().numpy()).mean() > ALIKE
