"""Stacks of blocks: ours between SLAYER's, exported as their forward pass computes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pytest
import torch

slayer = pytest.importorskip("lava.lib.dl.slayer", reason="Lava is not installed")

from export import FixedNetwork, ModelError, read_netx, to_netx
from export.model.network import CelifLayer, CubaLayer
from export.netx.read import read_layer
from export.twin.scans import run_layer, synaptic_sums
from training import block

STEPS = 24
CUBA = {"threshold": 0.4, "current_decay": 0.6, "voltage_decay": 0.3}
CELIF = {"steps": STEPS, "width": 1.0}
ALIF = CUBA | {"threshold_step": 0.1, "threshold_decay": 0.1, "refractory_decay": 0.1}
NOT_NUMBERS = torch.full((3, STEPS), torch.nan)


def cuba(inputs: int, outputs: int, shifted: bool = False, **params) -> torch.nn.Module:
    return slayer.block.cuba.Dense(
        CUBA | params, inputs, outputs, weight_scale=4, delay_shift=shifted
    )


def stack(shifted: bool = False) -> torch.nn.ModuleList:
    """CUBA → CELIF → CUBA, fresh: SLAYER's neurons do not know their shapes yet."""
    torch.manual_seed(3)
    middle = block.Dense(CELIF, 16, 12, weight_scale=3, delay_shift=shifted)
    return torch.nn.ModuleList([cuba(6, 16, shifted), middle, cuba(12, 4, shifted)])


@pytest.fixture
def x() -> torch.Tensor:
    return (torch.rand(5, 6, STEPS, generator=torch.Generator().manual_seed(1)) < 0.4).float()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "net.net"


def export(blocks, path: Path, x: torch.Tensor | None, **options) -> FixedNetwork:
    to_netx(blocks, path, calibration=x, **options)
    return read_netx(path)


def twin_output(layer: CelifLayer | CubaLayer, spikes: torch.Tensor) -> np.ndarray:
    """What the layer sends for ``spikes`` (batch, channel, time), as its block would."""
    sums = synaptic_sums(layer, spikes.transpose(1, 2).contiguous().numpy(), 1)
    sent = run_layer(layer, sums, keep=False).spikes.transpose(0, 2, 1)
    # SLAYER's delay_shift moves a block's output, not its neuron: LAVA_FACTS 1.
    return np.roll(sent, 1, 2) * (np.arange(STEPS) > 0) if layer.delay_shift else sent


@pytest.mark.parametrize("shifted", [False, True], ids=["unshifted", "shifted"])
def test_cuba_layers_equal_slayers_own(path, x, shifted):
    blocks = stack(shifted)
    fixed = export(blocks, path, x)
    assert [layer.kind for layer in fixed.layers] == ["CUBA", "CELIF", "CUBA"]
    assert [layer.lag for layer in fixed.layers] == ([1, 1, 1] if shifted else [1, 2, 3])
    assert fixed.gap == shifted
    h = x
    with torch.no_grad():
        for made, layer in zip(blocks, fixed.layers, strict=True):
            out = made(h)
            found = twin_output(layer, h)
            assert 0.02 < found.mean() < 0.9
            if layer.kind == "CUBA":
                np.testing.assert_array_equal(found, out.numpy())
            else:  # float against fixed: a measured gap, not an equality
                assert (found == out.numpy()).mean() > 0.97
            h = out


def test_normalised_currents_become_biases(path, x):
    torch.manual_seed(0)
    normed = cuba(6, 16, norm=slayer.neuron.norm.MeanOnlyBatchNorm)
    for _ in range(20):
        normed(x)
    mean = normed.neuron.norm.running_mean.clone()
    layer = export([normed, block.Dense(CELIF, 16, 3)], path, x).layers[0]
    assert torch.equal(normed.neuron.norm.running_mean, mean), (
        "export should not be a training step"
    )
    assert isinstance(layer, CubaLayer)
    assert layer.bias_mant.any()
    found = twin_output(layer, x)
    assert 0.02 < found.mean() < 0.9
    with torch.no_grad():
        np.testing.assert_array_equal(found, normed.eval()(x).numpy())


@pytest.mark.parametrize("shown", [False, True], ids=["fresh", "after-a-forward-pass"])
def test_export_leaves_the_blocks_alone(path, x, shown):
    blocks = stack()
    if shown:
        torch.nn.Sequential(*blocks)(x).sum().backward()
    before = {name: value.clone() for name, value in blocks.state_dict().items()}
    random = torch.get_rng_state()
    export(blocks.train(), path, x)
    assert all(module.training for module in blocks.modules())
    assert list(blocks.state_dict()) == list(before)
    assert all(torch.equal(value, before[name]) for name, value in blocks.state_dict().items())
    assert (blocks[0].neuron.shape is not None) == shown
    assert torch.equal(torch.get_rng_state(), random)


def test_weights_are_exported_as_the_forward_pass_quantises_them(path, x):
    blocks = stack()
    layer = export(blocks, path, x).layers[1]
    used = blocks[1].neuron.quantize_weight(blocks[1].synapse.weight).flatten(1)
    np.testing.assert_array_equal(layer.weight * 2.0**-layer.weight_exp, used.detach().numpy())


def test_hook_of_the_caller_is_exported(path, x):
    torch.manual_seed(0)

    def halved(weight: torch.Tensor, descale: bool = False) -> torch.Tensor:
        return weight / 2

    plain, hooked = (block.Dense(CELIF, 6, 5, pre_hook_fx=hook) for hook in (None, halved))
    hooked.load_state_dict(plain.state_dict())
    a, b = (export([made], path, x).layers[0] for made in (plain, hooked))
    np.testing.assert_array_equal(a.weight, b.weight)
    assert b.weight_exp == a.weight_exp + 1


@pytest.mark.parametrize("kind", ["CELIF", "CUBA"])
def test_masked_synapses_stay_silent_after_an_update(path, x, kind):
    torch.manual_seed(0)
    mask = (torch.rand(8, 6) < 0.5).float()
    make, params = (block.Dense, CELIF) if kind == "CELIF" else (slayer.block.cuba.Dense, CUBA)
    masked = make(params, 6, 8, mask=mask, weight_scale=3)
    masked(x)
    with torch.no_grad():  # as an optimiser's last step, which knows no mask
        masked.synapse.weight += 0.5
    # Without data, because a forward pass would apply the mask.
    fixed = export([masked, block.Dense(CELIF, 8, 3)], path, None)
    assert fixed.layers[0].weight.any()
    assert not fixed.layers[0].weight[mask.numpy() == 0].any()


@pytest.mark.filterwarnings("ignore:.?torch.nn.utils.weight_norm.? is deprecated")  # SLAYER uses it
@pytest.mark.parametrize("shown", [False, True], ids=["fresh", "after-a-forward-pass"])
def test_normalised_weights_are_exported_and_stay_normalised(path, x, shown):
    torch.manual_seed(0)
    normed = block.Dense(CELIF, 6, 8, weight_norm=True)
    if shown:
        normed(x).sum().backward()
    with torch.no_grad():
        normed.synapse.weight_g *= 2  # not yet in ``weight``, which the forward pass makes
    keys = list(normed.state_dict())
    layer = export([normed], path, x).layers[0]
    assert list(normed.state_dict()) == keys
    normed(x)
    used = normed.neuron.quantize_weight(normed.synapse.weight).flatten(1)
    np.testing.assert_array_equal(layer.weight * 2.0**-layer.weight_exp, used.detach().numpy())


def test_shared_table_is_stored_once(path, x):
    table = torch.nn.Parameter(torch.randn(9, STEPS) * 0.01)
    blocks = [block.Dense(CELIF | {"te": table}, m, n) for m, n in ((6, 5), (5, 9), (9, 4))]
    export(blocks, path, x)
    with h5py.File(path) as f:
        assert list(f["te"]) == ["0"]
        assert f["te/0"].shape == (9, STEPS)


def test_block_alone_is_a_network(path, x):
    torch.manual_seed(0)
    made = block.Dense(CELIF, 6, 5)
    assert len(export(made, path, x).layers) == 1


def test_blocks_can_be_exported_without_data(path):
    torch.manual_seed(0)
    made = block.Dense(CELIF, 6, 5)
    fixed = export([made], path, None)
    assert fixed.encoding.range == (0, 1)


def test_block_exports_itself(tmp_path, x):
    torch.manual_seed(0)
    made = block.Dense(CELIF, 6, 5, weight_scale=3)
    with h5py.File(tmp_path / "block.net", "w") as f:
        made.export_hdf5(f.create_group("layer/0"))
    with h5py.File(tmp_path / "block.net") as f:
        assert "te" not in f
        layer = read_layer(f, 0, "block")
        assert f["layer/0/neuron/alphaMant"][()] == made.neuron.device_params["alphaMant"]
    assert isinstance(layer, CelifLayer)
    assert layer.fraction_bits >= 12
    found = twin_output(layer, x)
    assert 0.02 < found.mean() < 0.9
    with torch.no_grad():
        assert (found == made(x).numpy()).mean() > 0.97


REFUSED: dict[str, tuple[Callable[[], list], str]] = {
    "graded": (
        lambda: [cuba(6, 3, graded_spike=True), block.Dense(CELIF, 3, 3)],
        "layer 0 neuron/gradedSpike: expected False, got True; expected a CELIF block",
    ),
    "persistent": (
        lambda: [cuba(6, 3, persistent_state=True), block.Dense(CELIF, 3, 3)],
        "layer 0 persistent_state: expected none, got True",
    ),
    "per-neuron-decay": (
        lambda: [cuba(6, 3, shared_param=False), block.Dense(CELIF, 3, 3)],
        r"layer 0 neuron/iDecay: expected one value, got shape \(3,\)",
    ),
    "other-neuron": (
        lambda: [slayer.block.alif.Dense(ALIF, 6, 3), block.Dense(CELIF, 3, 3)],
        "layer 0 neuron/type: expected CUBA or SDNN of a SLAYER block, got 'ALIF'",
    ),
    "affine": (
        lambda: [block.Dense(CELIF, 6, 3), slayer.block.cuba.Affine(CUBA, 3, 2)],
        "layer 1: expected a CELIF block, or a CUBA or sigma-delta .* got Affine; pass the blocks",
    ),
    "scaling-norm": (
        lambda: [cuba(6, 3, norm=slayer.neuron.norm.WgtScaleBatchNorm), block.Dense(CELIF, 3, 3)],
        "layer 0 norm: expected none that scales weights, got WgtScaleBatchNorm",
    ),
    "steps": (
        lambda: [block.Dense({"steps": 30}, 6, 3), block.Dense({"steps": 24}, 3, 3)],
        "layer 1 te: expected 30 steps, as the network has, got 24",
    ),
    "nan": (
        lambda: [block.Dense(CELIF | {"te": torch.nn.Parameter(NOT_NUMBERS)}, 6, 3)],
        r"network 0\.neuron\.te: expected finite numbers, got nan at \(0, 0\)",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("make", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_stack_is_refused_by_name(path, x, make, message):
    export(stack(), path, x)
    before = path.read_bytes()
    with pytest.raises(ModelError, match=message):
        to_netx(make(), path, calibration=x)
    assert path.read_bytes() == before


def test_biased_alif_of_slayer_is_not_taken_for_ours(path, x):
    norm = slayer.neuron.norm.MeanOnlyBatchNorm
    made = [slayer.block.alif.Dense(ALIF | {"norm": norm}, 6, 3), block.Dense(CELIF, 3, 3)]
    with pytest.raises(ModelError, match="layer 0 neuron/type: expected CUBA or SDNN"):
        to_netx(made, path, calibration=x)


def test_stock_blocks_alone_need_calibration_data(path, x):
    made = cuba(6, 3)
    made(x)
    with pytest.raises(ModelError, match="expected calibration data, or a CELIF block"):
        to_netx([made], path)
    to_netx([made], path, calibration=x)
    (layer,) = read_netx(path).layers
    assert layer.kind == "CUBA"


def test_nan_weights_are_named_before_anything_runs(path, x):
    made = block.Dense(CELIF, 6, 3)
    made.synapse.weight.data[1, 2] = float("nan")
    with pytest.raises(ModelError, match=r"network 0\.synapse\.weight: expected finite numbers"):
        to_netx([made], path, calibration=x)


def test_cuba_first_takes_whole_numbers_only(path, x):
    fixed = export(stack(), path, x * 3)
    assert (fixed.encoding.scale, fixed.encoding.range) == (1.0, (0, 3))
    with pytest.raises(ModelError, match=r"calibration: expected whole numbers .* CUBA one, got 0"):
        to_netx(stack(), path, calibration=x / 2)


def test_wrong_channels_are_named_before_slayer_stumbles(path, x):
    with pytest.raises(
        ModelError, match=r"calibration: expected \(batch, channel, time\) with 6 .* \(5, 4, 24\)"
    ):
        to_netx(stack(), path, calibration=x[:, :4])


def test_fresh_slayer_block_without_data_is_named(path):
    with pytest.raises(ModelError, match=r"layer 0: run a forward pass, or pass calibration data"):
        to_netx(stack(), path)
