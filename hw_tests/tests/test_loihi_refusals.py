"""What a Loihi run needs and cannot do is named, with a remedy."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from export import FixedNetwork, ModelError, simulate
from hw_tests.backends import no_loihi2
from hw_tests.networks.kinds import Kind
from hw_tests.networks.random_nets import random_network
from hw_tests.networks.random_stacks import LayerSpec
from hw_tests.tests import loihi_standin
from hw_tests.tests.loihi_calls import calls
from hw_tests.trace_difference import assert_same_trace
from lava_procs import (
    CELIF,
    Loihi,
    LoihiMissingError,
    run,
    unregister_chip_model,
)
from lava_procs.loihi.host import missing, pieces

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


@pytest.mark.usefixtures("with_model")
def test_each_missing_piece_is_named_with_a_remedy(
    net: FixedNetwork, x: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert missing(SLURM) is None
    modules = re.findall(r"\((lava[\w.]+)\)", str(pieces(SLURM)))
    assert len(modules) == 7
    for module in modules:
        with monkeypatch.context() as patch:
            patch.delitem(sys.modules, module)
            patch.delitem(sys.modules, "lava.proc.embedded_io")  # from which spike could be had
            with pytest.raises(LoihiMissingError, match=rf"{module}\) is missing; install Intel"):
                run(net, x, target=SLURM)
    with monkeypatch.context() as patch:
        patch.setenv("PATH", "")
        assert "the command sinfo) is missing; run this on a machine" in str(missing(SLURM))
        assert "the command ping) is missing" in str(missing(Loihi(host="og")))
    unregister_chip_model(CELIF)
    assert "NcCELIF) is missing; name the microcode's file, which a member of INRC" in str(
        missing(SLURM)
    )
    assert missing(replace(SLURM, hybrid=True)) is None


@pytest.mark.parametrize(
    ("chip", "message"),
    [
        ({"partition": "nahuku"}, "partition nahuku: .* found no such one; SLURM has kapoho, oheo"),
        ({"partition": "kapoho"}, "partition kapoho: expected .* up, found down"),
        ({"board": "og-01"}, r"board og-01: expected .* up, found down\*"),
        ({"board": "og-02", "partition": "kapoho"}, "partition kapoho"),
    ],
    ids=["unknown partition", "partition down", "board down", "elsewhere"],
)
@pytest.mark.usefixtures("with_model")
def test_hosts_that_are_not_there_are_refused_by_name(
    net: FixedNetwork, x: np.ndarray, chip: dict[str, str], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        run(net, x, target=Loihi(**chip))
    assert calls("run") == []


def test_options_come_from_the_environment_and_contradictions_are_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("SLURM", "PARTITION", "BOARD", "LOIHI_GEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("NXSDKHOST", "10.1.23.175")
    assert Loihi().address == "10.1.23.175"
    assert Loihi(partition="oheogulch").address is None
    assert Loihi(host="slurm").address is None
    assert Loihi().chip == "N3C1"
    monkeypatch.setenv("LOIHI_GEN", "N3B3")
    assert (Loihi().chip, Loihi(generation="N3B2").chip) == ("N3B3", "N3B2")
    with pytest.raises(ValueError, match="expected no partition or board"):
        Loihi(host="10.1.23.175", board="og-01")
    with pytest.raises(ValueError, match=r"generation: expected one of N2A2, .* got 'N9'"):
        Loihi(generation="N9")
    with pytest.raises(ValueError, match="adapter_steps: expected two numbers"):
        Loihi(adapter_steps=(1, -1))


@pytest.mark.usefixtures("with_model")
def test_what_the_chip_cannot_do_is_refused(net: FixedNetwork, x: np.ndarray) -> None:
    with pytest.raises(ValueError, match="precision: expected 'fixed', all that Loihi has"):
        run(net, x, "float", target="loihi2")
    with pytest.raises(ValueError, match="workers: expected 1, as there is one chip, got 2"):
        run(net, x, workers=2, target="loihi2")
    with pytest.raises(ValueError, match="target: expected 'lava', 'loihi2' or a Loihi, got 'gpu'"):
        run(net, x, target="gpu")


def test_without_the_extension_the_chip_is_explained_away(net: FixedNetwork, x: np.ndarray) -> None:
    assert not any(piece.found for piece in pieces() if "lava." in piece.name)
    reason = no_loihi2()
    assert reason is not None
    assert reason.startswith("no Loihi 2: Intel's extension of Lava")
    with pytest.raises(LoihiMissingError, match="members of INRC get it"):
        run(net, x, target="loihi2")


@pytest.mark.usefixtures("with_model")
def test_recurrent_layers_are_refused_in_the_hybrid_mode(net: FixedNetwork, x: np.ndarray) -> None:
    object.__setattr__(net.layers[0], "weight_rec", np.zeros((5, 5), int))
    with pytest.raises(ModelError, match="layer 0: expected feedforward layers in the hybrid mode"):
        run(net, x, target=replace(SLURM, hybrid=True))


@pytest.mark.usefixtures("with_model")
def test_neurons_without_an_on_chip_model_run_on_the_host_or_not_at_all() -> None:
    net, x = Kind("two of LIF", (LayerSpec(5, "LIF"), LayerSpec(4, "LIF"))).build()
    with pytest.raises(ModelError, match="layer 0: expected an on-chip model of LIF, found none"):
        run(net, x, target=SLURM)
    assert calls("run") == []
    assert_same_trace(simulate(net, x, trace=True), run(net, x, target=replace(SLURM, hybrid=True)))
