"""Plots as functions: what each draws, and what it refuses."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import matplotlib
import numpy as np
import pytest
import torch

from celif import plots, verify
from export import FixedNetwork, Trace, read_netx, simulate, to_netx
from training import Network

matplotlib.use("Agg")
from matplotlib import pyplot as plt


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    yield
    plt.close("all")


@pytest.fixture
def made(tmp_path: Path) -> tuple[Network, FixedNetwork, torch.Tensor, Trace]:
    torch.manual_seed(3)
    net, x = Network(2, (9, 12), 3, 20), torch.rand(4, 2, 20)
    with torch.no_grad():
        for layer in net.layers:
            layer.weight.mul_(2)
    to_netx(net, tmp_path / "net.net", calibration=x)
    fixed = read_netx(tmp_path / "net.net")
    return net, fixed, x, simulate(fixed, fixed.encode(x.numpy()), trace=True)


def test_raster_has_a_mark_for_every_spike(made: tuple) -> None:
    _, fixed, x, trace = made
    ax = plots.raster(trace, sample=1)
    marks = sum(len(part.get_offsets()) for part in ax.collections)
    assert marks == sum(int(spikes[1].sum()) for spikes in trace.spikes) > 0
    with pytest.raises(ValueError, match="run with trace=True"):
        plots.raster(simulate(fixed, fixed.encode(x.numpy())))


def test_registers_are_drawn_in_float_units(made: tuple) -> None:
    _, fixed, _, trace = made
    ax = plots.registers(fixed, trace, layer=1, neuron=2)
    v, theta, spikes = ax.lines
    unit = 2.0 ** -fixed.layers[1].fraction_bits
    assert np.array_equal(v.get_ydata(), trace.v[1][0, 2] * unit)
    assert np.array_equal(theta.get_ydata(), trace.theta[1][0, 2] * unit)
    assert len(spikes.get_xdata()) == trace.spikes[1][0, 2].sum()
    own = plt.subplots()[1]
    assert plots.registers(fixed, trace, ax=own) is own


def test_temporal_encoding_of_network_and_file(made: tuple) -> None:
    net, fixed, _, _ = made
    floats = plots.temporal_encoding(net).images[0].get_array()
    integers = plots.temporal_encoding(fixed, layer=1).images[0].get_array()
    assert floats.shape == integers.shape == (12, 20)
    step = 2.0 ** -fixed.layers[1].te_exp
    assert np.abs(np.asarray(floats) - np.asarray(integers)).max() <= step


def test_gap_has_a_bar_for_every_layer(made: tuple) -> None:
    net, fixed, x, _ = made
    result = verify(fixed, net, x, targets=("twin",))
    ax = plots.gap(result)
    widths = [bar.get_width() / 100 for bar in ax.patches]
    assert widths == pytest.approx([layer.spike_agreement for layer in result.gap.layers])
    with pytest.raises(ValueError, match="pass the float network"):
        plots.gap(verify(fixed, None, x, targets=("twin",)))
