"""Network: stock files as ever, ours too, and errors that say what is wrong."""

import h5py
import numpy as np
import pytest
import torch
from lava.lib.dl import netx, slayer
from lava.magma.core.run_conditions import RunSteps
from lava.magma.core.run_configs import Loihi2SimCfg
from lava.proc.io.sink import RingBuffer as Sink
from lava.proc.io.source import RingBuffer as Source

from export import ModelError, NetxError, simulate, write_netx
from export.netx import integrity
from hw_tests.networks.random_nets import random_network
from lava_procs import Network, inline, probes

CUBA = {"threshold": 0.5, "current_decay": 0.3, "voltage_decay": 0.1}


@pytest.fixture
def stock_file(tmp_path):
    """A network of SLAYER blocks, exported by SLAYER."""
    torch.manual_seed(1)
    blocks = [slayer.block.cuba.Dense(CUBA, *width, weight_scale=2) for width in ((5, 8), (8, 4))]
    x = (torch.rand(1, 5, 20) > 0.5).float()
    path = tmp_path / "stock.net"
    with torch.no_grad(), h5py.File(path, "w") as f:
        for i, block in enumerate(blocks):
            x = block(x)
            block.export_hdf5(f.create_group(f"layer/{i}"))
    return path


@pytest.fixture
def our_file(rng, tmp_path):
    path = tmp_path / "ours.net"
    write_netx(random_network(rng, (6, 5), 12), path)
    return path


def outputs(make, data, tag="fixed_pt", on_network=False):
    """Feed ``data`` to a network in Lava and return what it sends at each step."""
    steps = data.shape[1]
    network = make()
    source, sink = Source(data=data), Sink(shape=network.out.shape, buffer=steps)
    source.s_out.connect(network.inp)
    network.out.connect(sink.a_in)
    runs = network if on_network else source
    with inline():
        try:
            runs.run(condition=RunSteps(num_steps=steps), run_cfg=Loihi2SimCfg(select_tag=tag))
            return sink.data.get()
        finally:
            runs.stop()


def test_stock_file_gives_the_same_outputs_as_through_lava_dl(stock_file, rng, tmp_path):
    data = rng.integers(0, 2, (5, 30))
    options = {"net_config": str(stock_file), "reset_interval": 10, "reset_offset": 1}
    ours = outputs(lambda: Network(**options), data, on_network=True)
    theirs = outputs(lambda: netx.hdf5.Network(**options), data)
    np.testing.assert_array_equal(ours, theirs)
    assert 0.02 < theirs.mean() < 0.9


def test_stock_network_keeps_its_file_open_as_lava_dl_does(stock_file):
    network = Network(net_config=str(stock_file))
    assert network.net_config["layer"][0]["type"] == "dense"
    assert network.fixed is None
    assert str(network) == str(netx.hdf5.Network(net_config=str(stock_file)))
    network.net_config.f.close()


@pytest.mark.parametrize("tag", ["fixed_pt", "floating_pt"])
def test_network_itself_can_be_run(our_file, rng, tmp_path, tag):
    x = rng.integers(0, 16, (2, 2, 12))
    data = np.hstack([*x, np.zeros((2, 3), int)])
    sums = outputs(lambda: Network(our_file), data, tag, on_network=True)
    fixed = Network(our_file).fixed
    expected = simulate(fixed, x, trace=True)
    # The readout has lag 3: its sums are complete after 14 and 26 steps of the clock from 0.
    np.testing.assert_array_equal(sums[:, [14, 26]].T, expected.logits)
    assert all(0.02 < s.mean() < 0.9 for s in expected.spikes)


def test_sparse_synapses_give_the_same(our_file, rng, tmp_path):
    x = rng.integers(0, 16, (1, 2, 12))
    data = np.hstack([*x, np.zeros((2, 3), int)])
    sums = outputs(lambda: Network(our_file, sparse_fc_layer=True), data)
    expected = simulate(Network(our_file).fixed, x)
    np.testing.assert_array_equal(sums[:, [14]].T, expected.logits)
    assert expected.logits.any()


def test_skipped_layers_are_replaced_by_the_source(rng, tmp_path):
    path, prefix = tmp_path / "ours.net", str(tmp_path / "layer")
    net = random_network(rng, (6, 5, 4), 12, delay_shift=True)
    write_netx(net, path)
    trace = simulate(net, rng.integers(0, 16, (2, 2, 12)), trace=True)
    spikes = np.zeros((6, 27), np.int32)
    spikes[:, :12], spikes[:, 13:25] = trace.spikes[0]
    probes.create(f"{prefix}2", "v", (2, 12, 4), np.int32)
    outputs(lambda: Network(path, skip_layers=1, num_layers=3, probe=prefix), spikes)
    v = probes.load(f"{prefix}2", "v").transpose(0, 2, 1)
    np.testing.assert_array_equal(v, trace.v[2])
    assert trace.spikes[2].any()


def test_our_file_can_be_written_again_while_the_network_lives(our_file, rng):
    network = Network(our_file)
    with h5py.File(our_file, "w") as f:  # in place, as SLAYER's users write theirs
        f["layer/0/type"] = "something else"
    write_netx(random_network(rng, (6, 5), 12), our_file)
    assert len(network) == len(Network(our_file)) == 3


def test_message_bits_default_to_the_encoding(our_file):
    assert Network(our_file).input_message_bits == 4
    assert Network(our_file, input_message_bits=7).input_message_bits == 7


def test_text_is_refused(tmp_path):
    (tmp_path / "text.net").write_text("not HDF5 at all")
    with pytest.raises(NetxError, match=r"text\.net: /: .*unreadable as HDF5.*export\.to_netx"):
        Network(tmp_path / "text.net")


@pytest.mark.parametrize("group", ["layer", "other"])
def test_file_without_layers_is_refused(tmp_path, group):
    with h5py.File(tmp_path / "empty.net", "w") as f:
        f.create_group(group)
    message = r"empty\.net: /layer: expected .* found an empty network; export"
    with pytest.raises(NetxError, match=message):
        Network(tmp_path / "empty.net")


@pytest.mark.parametrize("options", [{"skip_layers": 9}, {"num_layers": 0}], ids=["skip", "num"])
@pytest.mark.parametrize("file", ["stock_file", "our_file"])
def test_leaving_no_layers_is_refused(request, file, options):
    path = request.getfixturevalue(file)
    with pytest.raises(ModelError, match=r"num_layers and skip_layers to leave .*; keep at least"):
        Network(path, **options)
    with h5py.File(path, "a"):  # fails while anyone holds it open for reading
        pass


def test_unknown_neuron_is_refused_by_name(stock_file):
    with h5py.File(stock_file, "a") as f:
        del f["layer/1/neuron/type"]
        f["layer/1/neuron/type"] = "ALIF"
    message = r"stock\.net: /layer/1/neuron/type: expected CUBA, .* found 'ALIF'"
    with pytest.raises(NetxError, match=message):
        Network(stock_file)
    assert len(Network(stock_file, num_layers=1)) == 1


def test_celif_without_its_group_is_refused(our_file):
    with h5py.File(our_file, "a") as f:
        del f["celif"]
    with pytest.raises(NetxError, match=r"/celif: .*only to_netx can write"):
        Network(our_file)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"steps": 13}, r"steps: expected 1\.\.12, .* got 13"),
        ({"reset_interval": 11}, "reset_interval: expected at least 12, .* got 11"),
        ({"reset_offset": 2}, "reset_offset: expected none, .* got 2"),
    ],
    ids=["steps", "interval", "offset"],
)
def test_bad_timing_is_refused(our_file, options, message):
    with pytest.raises(ModelError, match=message):
        Network(our_file, **options)


def test_options_of_ours_are_refused_for_stock_files(stock_file):
    with pytest.raises(ModelError, match="steps and probe are for files that export"):
        Network(stock_file, steps=5)


def test_missing_file_is_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"none\.net: no such netx file"):
        Network(tmp_path / "none.net")


def test_damaged_file_is_refused_by_the_reader(our_file):
    with h5py.File(our_file, "a") as f:
        del f["layer/1/neuron/te"]
        integrity.sign(f)
    with pytest.raises(NetxError, match="/layer/1/neuron/te"):
        Network(our_file)
