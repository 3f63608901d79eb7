"""The way to the chip, walked with a stand-in for Intel's extension, and every way it can end."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from export import FixedNetwork, simulate
from export.model.network import CubaLayer
from hw_tests import ladder
from hw_tests.networks.random_nets import random_network
from hw_tests.recorded import shown_by_chip
from hw_tests.tests import loihi_standin
from hw_tests.tests.embedded_io.spike import INTO_STEPS
from hw_tests.tests.loihi_calls import calls
from hw_tests.trace_difference import assert_same_trace, firing_rates
from lava_procs import (
    CELIF,
    Loihi,
    Readout,
    register_chip_model,
    run,
)
from lava_procs.loihi.chip_models import GROUP, chip_models
from lava_procs.processes.celif.models import PyCELIFModelFixed

SLURM = Loihi(partition="oheogulch")


@pytest.fixture
def with_model(tmp_path: Path) -> Iterator[None]:
    """The extension, SLURM, and somebody's on-chip model of CELIF."""
    with loihi_standin.installed(tmp_path):
        yield


@pytest.fixture
def without_model(tmp_path: Path) -> Iterator[None]:
    """The extension and SLURM."""
    with loihi_standin.installed(tmp_path, model=False):
        yield


@pytest.fixture
def net(rng: np.random.Generator) -> FixedNetwork:
    return random_network(rng, (5, 4), 6)


@pytest.fixture
def x(rng: np.random.Generator) -> np.ndarray:
    return rng.integers(0, 16, (3, 2, 6))


def assert_alive(net: FixedNetwork, x: np.ndarray) -> None:
    assert all(0.02 <= rate <= 0.9 for rate in firing_rates(simulate(net, x, trace=True)))


@pytest.mark.usefixtures("with_model")
def test_chip_run_equals_twin_and_calls_lava_as_its_public_code_does(
    net: FixedNetwork, x: np.ndarray
) -> None:
    before = dict(os.environ)
    assert_same_trace(simulate(net, x, trace=True), run(net, x, target=SLURM))
    assert_alive(net, x)
    assert os.environ == before
    states = [[f"layer {i}", name] for i in (0, 1) for name in ("v", "theta", "s")]
    placed = {"SLURM": "1", "PARTITION": "oheogulch", "BOARD": None}
    # Each of the three layers takes a step, the adapters none.
    models = [["ChipCELIF", [5], 1, 6, 6], ["ChipCELIF", [4], 2, 6, 6]]
    in_order = [
        ["use_slurm_host", None, None, "N3C1"],
        ["PyToNxAdapter", [2], 24],
        ["NxToPyAdapter", [4], 0],
        *(["StateProbe", *state] for state in states),
        ["run", 3 * 6 + 3, placed, "SLURM"],
        *models,
        ["stop"],
    ]
    # Lava builds the models side by side.
    assert sorted(calls("ChipCELIF")) == sorted(models)
    assert [c for c in calls() if c[0] != "ChipCELIF"] == [
        c for c in in_order if c[0] != "ChipCELIF"
    ]


@pytest.mark.usefixtures("without_model")
def test_hybrid_run_equals_twin_without_an_on_chip_model(net: FixedNetwork, x: np.ndarray) -> None:
    chip = replace(SLURM, hybrid=True)
    assert_same_trace(simulate(net, x, trace=True), run(net, x, target=chip))
    assert_alive(net, x)
    # Out and back for each layer, out for the readout; CELIF is seen on the host.
    assert calls("NxToPyAdapter") == [["NxToPyAdapter", [n], 24] for n in (5, 4, 3)]
    assert sorted(calls("PyToNxAdapter")) == [
        ["PyToNxAdapter", *a] for a in ([[2], 24], [[4], 0], [[5], 0])
    ]
    assert calls("StateProbe", "ChipCELIF") == []


@pytest.fixture
def stock_net(rng: np.random.Generator) -> FixedNetwork:
    """A layer of Lava's stock LIF, which has an on-chip model, and a CE-LIF layer behind it."""
    ours = random_network(rng, (5,), 6, channels=6)
    stock = CubaLayer(
        name="layer 0",
        weight=2 * rng.integers(-127, 128, (6, 2)),
        lag=1,
        delay_shift=False,
        du=1023,
        dv=400,
        vth=200,
        bias_mant=rng.integers(0, 200, 6),
    )
    layers = (stock, replace(ours.layers[0], name="layer 1", lag=2))
    encoding = replace(ours.encoding, channels=2)
    return replace(ours, layers=layers, readout=None, encoding=encoding)


@pytest.mark.parametrize("hybrid", [False, True], ids=["chip", "hybrid"])
@pytest.mark.usefixtures("with_model")
def test_stock_layers_stay_on_the_chip_with_periods_of_a_power_of_two(
    stock_net: FixedNetwork, x: np.ndarray, hybrid: bool
) -> None:
    found = run(stock_net, x, target=replace(SLURM, hybrid=hybrid))
    expected = simulate(stock_net, x, trace=True)
    assert_same_trace(shown_by_chip(stock_net, expected), found)
    assert found.v is not None
    assert found.v[0] is not None, "V of a stock LIF is read"
    assert expected.spikes is not None
    assert (found.v[0][expected.spikes[0] != 0] == 128).all()
    assert_alive(stock_net, x)
    assert calls("run")[0][1] == 3 * 8 + 2
    # Its V by a state probe, as public code reads stock neurons; its spikes by an adapter.
    of_stock = [call for call in calls("StateProbe") if "layer 1" not in call[1]]
    assert [call[2] for call in of_stock] == ["v"]
    assert len(calls("StateProbe")) == (1 if hybrid else 3)


@pytest.mark.usefixtures("with_model")
def test_v_of_stock_layers_is_read_only_if_it_is_asked_for(
    stock_net: FixedNetwork, x: np.ndarray
) -> None:
    found = run(stock_net, x, target=SLURM, probe=("s",))
    assert found.v is None or found.v == [None, None]
    assert not any(call[2] == "v" for call in calls("StateProbe"))


@pytest.mark.usefixtures("with_model")
def test_rung_4_compares_v_of_stock_layers_with_the_refractory_rule(
    stock_net: FixedNetwork, x: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    def rung_4(refractory: bool) -> ladder.Result:
        results = ladder.climb(stock_net, x, ["loihi2"], Loihi(board="og-02"), refractory)
        return next(result for result in results if result.rung == ladder.CHIP)

    equal = rung_4(True)
    assert equal.verdict == "equal"
    # V and S of both layers, Θ of the second, and five counts, of 3 samples.
    assert equal.values == 3 * (6 * (2 * 6 + 3 * 5) + 5)
    assert (rung_4(False).verdict, rung_4(False).first.variable) == ("DIFFERS", "v")
    monkeypatch.setenv(loihi_standin.SHOWN_AFTER_SPIKE, "0")
    assert rung_4(True).verdict == "DIFFERS"
    assert rung_4(False).verdict == "equal"


@pytest.mark.usefixtures("with_model")
def test_rung_4_runs_and_notices_a_chip_that_differs(
    net: FixedNetwork, x: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    def rung_4(**options: Any) -> ladder.Result:
        results = ladder.climb(net, x[:1], ["loihi2"], Loihi(**options))
        [result] = [result for result in results if result.rung == ladder.CHIP]
        return result

    assert rung_4(board="og-02").verdict == "equal"
    wrong = rung_4(board="og-02", adapter_steps=(1, 0))
    assert (wrong.verdict, wrong.mismatches > 0) == ("DIFFERS", True)
    assert "first difference: sample 0, layer 0, step 0" in wrong.detail
    # Adapters that take a step are told of, or noticed.
    monkeypatch.setenv(INTO_STEPS, "1")
    assert rung_4(board="og-02", adapter_steps=(1, 0)).verdict == "equal"
    assert rung_4(board="og-02").verdict == "DIFFERS"


@pytest.mark.usefixtures("without_model")
def test_direct_host_is_reached_by_lavas_own_call(
    net: FixedNetwork, x: np.ndarray, tmp_path: Path
) -> None:
    ping = tmp_path / "ping"
    ping.write_text('#!/bin/sh\ntest "$1" = 10.1.23.175 && echo 1 received\n')
    ping.chmod(0o755)
    chip = Loihi(host="10.1.23.175", generation="N3C1", hybrid=True)
    run(net, x[:1], target=chip, trace=False)
    assert calls("use_ethernet_host") == [["use_ethernet_host", "10.1.23.175", "N3C1"]]
    assert calls("run")[0][2]["SLURM"] is None
    with pytest.raises(ValueError, match=r"ping 10\.0\.0\.9` failed"):
        run(net, x, target=replace(chip, host="10.0.0.9"))


def test_chip_models_are_registered_in_python_or_by_installed_packages(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert CELIF not in chip_models()
    with pytest.raises(TypeError, match="expected a ProcessModel class of Lava's, got 3"):
        register_chip_model(CELIF, 3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"one that implements Readout, found CELIF; decorate it"):
        register_chip_model(Readout, PyCELIFModelFixed)
    entry = metadata.EntryPoint("celif", "hw_tests.tests.loihi_standin:ChipCELIF", GROUP)
    broken = metadata.EntryPoint("celif", "no_such_package:Model", GROUP)
    for found in (entry, broken):
        monkeypatch.setattr(metadata, "entry_points", lambda group, found=found: [found])
        if found is entry:
            assert chip_models() == {CELIF: loihi_standin.ChipCELIF}
            continue
        with pytest.raises(ImportError, match=r"no_such_package.*mend the package"):
            chip_models()
