"""``to_netx`` of the paper's network: what is in the file, what is reported, what is refused."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import h5py
import numpy as np
import pytest
import torch

from export import FixedNetwork, ModelError, read_netx, simulate, to_netx
from export.convert.to_integers import CALIBRATION_SAMPLES, digest
from export.loihi2 import STATE_MAX
from export.proof.intervals import worst_case
from training import Network

STEPS = 20


@pytest.fixture
def net() -> Network:
    """A network whose layers fire."""
    torch.manual_seed(0)
    net = Network(2, (9, 12, 7), 3, STEPS).eval()
    with torch.no_grad():
        for layer in net.layers:
            layer.weight.mul_(3)
            layer.bias.uniform_(-0.1, 0.3)
        net.te.normal_(0.02, 0.1)
        net.readout.bias.normal_(0, 0.2)
    return net


@pytest.fixture
def x() -> torch.Tensor:
    """Samples of sixteenths."""
    generator = torch.Generator().manual_seed(1)
    return torch.randint(0, 17, (40, 2, STEPS), generator=generator) / 16


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "net.net"


def export(net: Network, path: Path, x: torch.Tensor, **options) -> FixedNetwork:
    to_netx(net, path, calibration=x, **options)
    return read_netx(path)


@pytest.mark.parametrize("bits", [2, 4, 8], ids="{}bits".format)
def test_dequantised_values_are_within_half_a_unit(net, path, x, bits):
    fixed = export(net, path, x, weight_bits=bits, te_bits=bits, rule="max")
    assert fixed.encoding.scale == 1 / 16
    scale = fixed.encoding.scale
    for i, layer in enumerate(fixed.layers):
        floats, unit = net.layers[i], 2.0**-layer.weight_exp / scale
        error = layer.weight * unit - floats.weight.detach().double().numpy()
        assert np.abs(error).max() <= unit / 2
        assert np.abs(layer.weight).max() == pytest.approx((1 << bits) // 2, rel=0.5)
        te = net.te[: layer.neurons].detach().double().numpy()
        assert np.abs(layer.te * 2.0**-layer.te_exp - te).max() <= 2.0**-layer.te_exp / 2
        bias = layer.bias * 2.0**-layer.fraction_bits - floats.bias.detach().double().numpy()
        assert np.abs(bias).max() <= 2.0 ** (layer.bias_exp - layer.fraction_bits) / 2
        assert layer.theta0_int == round(0.3 * 2**layer.fraction_bits)
        assert (layer.alpha_mant, layer.beta_mant) == (2048, 4055)
        assert (layer.lag, layer.delay_shift) == (i + 1, False)
        scale = 1.0
    readout, unit = fixed.readout, 2.0**-fixed.readout.weight_exp
    for found, floats in ((readout.weight, net.readout.weight), (readout.bias, net.readout.bias)):
        assert np.abs(found * unit - floats.detach().double().numpy()).max() <= unit / 2
    assert (fixed.steps, fixed.gap, readout.lag) == (STEPS, 0, 4)


def test_integers_compute_what_the_floats_do(net, path, x):
    fixed = export(net, path, x)
    trace = simulate(fixed, x.numpy(), trace=True)
    with torch.no_grad():
        states, logits = net.hidden_states(x), net(x).numpy()
    for spikes, state in zip(trace.spikes, states, strict=True):
        assert 0.02 < spikes.mean() < 0.9
        assert (spikes == state.spikes.numpy()).mean() > 0.97
    assert (trace.predictions == logits.argmax(1)).mean() > 0.9
    units = trace.logits * 2.0**-fixed.readout.weight_exp / STEPS
    # A spike more or less in a hundred moves a logit by some hundredths.
    np.testing.assert_allclose(units, logits, atol=0.1)


def test_report_says_what_was_chosen_and_what_it_cost(net, path, x):
    report = to_netx(net, path, calibration=x)
    fixed, scale = read_netx(path), 1 / 16
    assert report.file_bytes == path.stat().st_size
    assert len(report.layers) == 3
    low, high = fixed.encoding.range
    for told, layer, floats in zip(report.layers, fixed.layers, net.layers, strict=True):
        weight = layer.weight * 2.0**-layer.weight_exp / scale - floats.weight.detach().numpy()
        te = layer.te * 2.0**-layer.te_exp - net.te[: layer.neurons].detach().numpy()
        bias = layer.bias * 2.0**-layer.fraction_bits - floats.bias.detach().numpy()
        errors = [np.abs(values).max() for values in (weight, te, bias)]
        assert [told.weight_error, told.te_error, told.bias_error] == pytest.approx(errors)
        assert told.alpha_error == 0
        assert told.beta_error == pytest.approx(abs(4055 / 4096 - 0.99))
        bound = worst_case(layer, low, high)
        assert told.proven
        assert told.headroom_bits == pytest.approx(np.log2(STATE_MAX / max(bound)))
        assert told.headroom_bits > 0
        names = ("fraction_bits", "weight_exp", "te_exp", "bias_exp", "neurons", "inputs", "name")
        assert all(getattr(told, name) == getattr(layer, name) for name in names)
        assert told.weight_bytes == layer.weight.size
        assert told.te_bytes == layer.neurons * STEPS
        scale, low, high = 1.0, 0, 1
    told = json.loads(json.dumps(report.to_dict()))
    assert told["proven"] is True
    assert told["input"] == {"scale": 1 / 16, "bits": 5, "signed": False}


def test_export_is_deterministic_and_knows_its_source(net, path, x, tmp_path):
    fixed = export(net, path, x)
    export(net, tmp_path / "again.net", x)
    assert path.read_bytes() == (tmp_path / "again.net").read_bytes()
    assert fixed.digests == {n: digest(p.detach()) for n, p in net.named_parameters()}
    with torch.no_grad():
        net.te[0, 0] += 1e-6
    changed = export(net, path, x).digests
    assert {name for name in changed if changed[name] != fixed.digests[name]} == {"te"}


def test_export_leaves_the_network_alone(net, path, x):
    before = {name: value.clone() for name, value in net.state_dict().items()}
    export(net.train(), path, x)
    assert net.training
    assert all(torch.equal(value, before[name]) for name, value in net.state_dict().items())


def test_layers_share_one_table(net, path, x):
    export(net, path, x)
    with h5py.File(path) as f:
        assert list(f["te"]) == ["0"]
        assert f["te/0"].shape == (12, STEPS)


def test_permutation_is_stored_and_applied(net, path, x):
    order = np.random.default_rng(0).permutation(STEPS).tolist()
    permuting = Network(**{**net.config, "permutation": order}).eval()
    permuting.load_state_dict(net.state_dict())
    fixed = export(permuting, path, x)
    np.testing.assert_array_equal(fixed.encoding.permutation, order)
    np.testing.assert_array_equal(fixed.encode(x.numpy()), (x.numpy() * 16)[:, :, order])
    assert torch.equal(permuting(x), net(x[..., order]))
    plain = export(net, path, x[..., order])
    np.testing.assert_array_equal(
        simulate(fixed, x.numpy()).logits, simulate(plain, x[..., order].numpy()).logits
    )


def test_calibration_may_be_short_integer_and_long(net, path, x):
    many = x.repeat(CALIBRATION_SAMPLES // 40 + 1, 1, 1)
    some = many[:CALIBRATION_SAMPLES]
    assert len(many) > len(some)
    for calibration in (x[:1, :, :5], (x * 16).int(), many.numpy()):
        to_netx(net, path, calibration=calibration, rule="mse")
    kept = path.read_bytes()
    to_netx(net, path, calibration=some, rule="mse")
    assert path.read_bytes() == kept


def test_calibration_looks_beyond_the_first_samples(net, path, x):
    sorted_data = torch.cat([x.repeat(20, 1, 1) * 0.25, x.repeat(20, 1, 1)])
    assert export(net, path, sorted_data).encoding.range[1] * 0.0625 >= 1
    assert export(net, path, sorted_data[:600]).encoding.scale < 0.0625


def nan_in(name: str):
    def spoil(net: Network) -> None:
        with torch.no_grad():
            net.get_parameter(name).view(-1)[3] = float("nan")

    return spoil


# How the network is spoilt, what options change, and what the error says.
FAILURES = {
    "nan-weights": (
        nan_in("layers.1.weight"),
        {},
        r"network layers\.1\.weight: .* nan at \(0, 3\)",
    ),
    "nan-te": (nan_in("te"), {}, r"network te: expected finite .* nan .* training diverged"),
    "nan-readout": (nan_in("readout.weight"), {}, r"network readout\.weight: expected finite"),
    "too-long": (
        None,
        {"calibration": torch.zeros(1, 2, 21)},
        r"up to 20 time steps.* \(1, 2, 21\); time is the last axis; shorten longer samples",
    ),
    "channels": (None, {"calibration": torch.zeros(1, 3, 20)}, r"calibration: expected \(batch, 2"),
    "axes": (
        None,
        {"calibration": torch.zeros(2, 20)},
        r"calibration: expected non-empty \(batch.* got shape \(2, 20\); add the missing axis",
    ),
    "no-axes": (None, {"calibration": torch.zeros(())}, "calibration: expected non-empty"),
    "empty": (None, {"calibration": torch.zeros(0, 2, 20)}, "calibration: expected non-empty"),
    "nan-data": (
        None,
        {"calibration": torch.full((1, 2, 20), torch.nan)},
        "calibration x: .* clean",
    ),
    "no-data": (None, {"calibration": None}, "calibration: expected typical inputs .* got None"),
    "weight-bits": (None, {"weight_bits": 9}, r"weight_bits: expected 2\.\.8, got 9"),
    "weight-bits-text": (
        None,
        {"weight_bits": "8"},
        r"weight_bits: expected an integer 2\.\.8, .*, got '8' of type str; pass",
    ),
    "te-bits": (None, {"te_bits": 1}, r"te_bits: expected 2\.\.16, got 1"),
    "input-bits": (None, {"input_bits": 17}, r"input_bits: expected 1\.\.16, got 17"),
    "large-te": (
        lambda net: net.te.data.fill_(200),
        {},
        r"layer 1 te: expected \|TE\| up to 127 for 8 bits, got 200; export with te_bits=9 or more",
    ),
    "huge-te": (
        lambda net: net.te.data.fill_(1e9),
        {},
        r"layer 1 te: expected \|TE\| up to 127 for 8 bits, got 1e\+09; the training diverged",
    ),
    "zero-data": (
        None,
        {"calibration": torch.zeros(3, 2, 20)},
        "calibration: expected typical inputs, got 3 samples of nothing but zeros.* training data",
    ),
    "slow-decay": (
        lambda net: setattr(net, "config", replace(net.config, beta=0.9999)),
        {},
        "layer 0 beta: expected 0 up to",
    ),
}


@pytest.mark.parametrize(("spoil", "options", "message"), FAILURES.values(), ids=FAILURES.keys())
def test_failed_export_is_explained_and_leaves_the_old_file(net, path, x, spoil, options, message):
    to_netx(net, path, calibration=x)
    before = path.read_bytes()
    if spoil:
        spoil(net)
    with pytest.raises(ModelError, match=message):
        to_netx(net, path, **{"calibration": x, **options})
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


def test_network_without_blocks_is_refused(path, x):
    for empty in ([], torch.nn.ModuleList()):
        with pytest.raises(ModelError, match=r"one block, got none; pass the blocks in their ord"):
            to_netx(empty, path, calibration=x)
    assert not path.exists()


@pytest.mark.parametrize("what", [None, 3], ids=str)
def test_what_is_no_network_is_refused_by_type(path, x, what):
    message = rf"network: expected a training\.Network .* got {type(what).__name__}; pass the"
    with pytest.raises(ModelError, match=message):
        to_netx(what, path, calibration=x)


def test_foreign_module_is_refused_by_name(path, x):
    with pytest.raises(ModelError, match="network forward: expected Sequential to run on an input"):
        to_netx(torch.nn.Sequential(torch.nn.Linear(2, 3)), path, calibration=x)


def test_missing_folder_is_named(net, tmp_path, x):
    with pytest.raises(FileNotFoundError, match=r"the folder .*nowhere does not exist; create it"):
        to_netx(net, tmp_path / "nowhere" / "net.net", calibration=x)
