"""Every kind of layer and option: rungs 1 to 3, and the oracle, several samples back to back."""

from __future__ import annotations

import numpy as np
import pytest

from export import read_netx, simulate, write_netx
from hw_tests.backends import backend
from hw_tests.ladder import rung
from hw_tests.networks.kinds import KINDS, Kind
from hw_tests.networks.random_stacks import LayerSpec, random_stack
from hw_tests.oracle.backend import run_oracle
from hw_tests.plain_steps import run_plain
from hw_tests.trace_difference import assert_same_trace, firing_rates

NAMES = [kind.name for kind in KINDS]


@pytest.fixture(params=KINDS, ids=NAMES)
def kind(request: pytest.FixtureRequest) -> Kind:
    return request.param


def test_twin_equals_oracle(kind: Kind) -> None:
    net, x = kind.build()
    trace = simulate(net, x, trace=True)
    assert_same_trace(run_oracle(net, x), trace)
    assert_same_trace(run_plain(net, x), trace)


def test_samples_together_equal_samples_alone(kind: Kind) -> None:
    net, x = kind.build()
    together = simulate(net, x, trace=True)
    for i in range(len(x)):
        assert_same_trace(simulate(net, x[i : i + 1], trace=True), together.sample(i))


def test_rung_0_fused_equals_reference(kind: Kind, targets: list[str]) -> None:
    net, x = kind.build()
    if (reason := rung(0, "torch").why_not(targets)) is not None:
        pytest.skip(reason)
    from hw_tests.ladder import climb

    result = climb(net, x, ["torch"])[0]
    assert (result.verdict, result.detail) == ("equal", "")
    assert result.values > 0


def test_rung_2_quantised_forward_equals_twin(kind: Kind, targets: list[str]) -> None:
    if (reason := rung(2, "torch").why_not(targets)) is not None:
        pytest.skip(reason)
    net, x = kind.build()
    assert_same_trace(simulate(net, x, trace=True), backend("torch", "fixed").run(net, x))


def test_rung_3_lava_fixed_equals_twin(kind: Kind, targets: list[str], tmp_path) -> None:
    if (reason := rung(3, "lava").why_not(targets)) is not None:
        pytest.skip(reason)
    net, x = kind.build()
    write_netx(net, tmp_path / "net.net")
    again = read_netx(tmp_path / "net.net")
    assert_same_trace(simulate(net, x, trace=True), backend("lava", "fixed").run(again, x))


def test_rung_1_lava_float_equals_torch(kind: Kind, targets: list[str]) -> None:
    if (reason := rung(1, "lava").why_not(targets)) is not None:
        pytest.skip(reason)
    net, x = kind.build()
    expected = backend("torch", "float").run(net, x)
    assert all(rate > 0 for rate in firing_rates(expected))
    assert_same_trace(expected, backend("lava", "float").run(net, x))


@pytest.mark.parametrize("signed", [False, True], ids=["unsigned", "signed"])
@pytest.mark.parametrize("bits", range(1, 17))
def test_every_width_of_input_equals_oracle(bits: int, signed: bool) -> None:
    kind = Kind(
        f"{bits} bits",
        (LayerSpec(5, recurrent=True), LayerSpec(3)),
        {"bits": bits, "signed": signed, "shape": (3, 1, 1)},
        samples=2,
    )
    net, x = kind.build()
    assert np.abs(x).max() == (1 << bits) - 1
    assert (x < 0).any() == signed
    assert_same_trace(run_oracle(net, x), simulate(net, x, trace=True))


def test_message_bits_of_recurrent_synapses_are_those_of_spikes(tmp_path) -> None:
    """lava-dl's issue 372: both synapses have the input's bits, and a network guesses."""
    pytest.importorskip("lava.magma", reason="Lava is not installed")
    from lava_procs import Network

    net = random_stack(np.random.default_rng(0), [LayerSpec(4, recurrent=True)] * 2, 5, bits=7)
    write_netx(net, tmp_path / "net.net")
    first, second, _ = Network(tmp_path / "net.net").layers
    bits = [
        int(synapse.num_message_bits.init)
        for block in (first, second)
        for synapse in (block.synapse, block.synapse_rec)
    ]
    assert bits == [7, 0, 0, 0]
