"""SLAYER's neurons: within a sample equal to Lava's stock Processes, and silent outside."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from lava.proc.lif.models import PyLifModelBitAcc
from lava.proc.lif.process import LIF
from lava.proc.sdn.models import PySigmaDeltaModelFixed
from lava.proc.sdn.process import SigmaDelta as StockSigmaDelta

from export import ModelError
from export.model.network import CubaLayer, SigmaDeltaLayer
from export.steps.sigma_delta import MESSAGE_MAX
from lava_procs import CUBA, SigmaDelta
from lava_procs.processes.cuba.models import PyCUBAModelFixed, PyCUBAModelFloat
from lava_procs.processes.sigma_delta.models import PySigmaDeltaModelFixed as OurSigmaDelta
from lava_procs.processes.sigma_delta.models import PySigmaDeltaModelFloat as OurFloatSigmaDelta
from lava_procs.tests.harness import drive

NEURONS, STEPS, GAP = 5, 30, 2
COMMON = {
    "name": "layer 0", "lag": 1, "delay_shift": False, "weight": np.full((NEURONS, 1), 2),
    "bias_mant": np.array([-30, 0, 5, 40, 100]),
}  # fmt: skip


def samples(arrivals: np.ndarray) -> np.ndarray:
    """(neuron, time_step): a step of lag, then two samples, each with something in its gap."""
    noise = np.full((NEURONS, GAP), arrivals.max())
    parts = [np.zeros((NEURONS, 1), int), arrivals, noise, arrivals[:, ::-1], noise]
    return np.hstack(parts).astype(np.int32)


def cut(values: np.ndarray) -> list[np.ndarray]:
    """What ``samples`` have, of a trace (neuron, time_step)."""
    starts = (1, 1 + STEPS + GAP)
    return [values[:, start : start + STEPS] for start in starts]


@pytest.fixture
def cuba() -> CubaLayer:
    return CubaLayer(**COMMON, du=700, dv=300, vth=200)


@pytest.fixture
def sigma_delta() -> SigmaDeltaLayer:
    return SigmaDeltaLayer(**COMMON, vth=40)


@pytest.mark.parametrize("size", [150, 1 << 16], ids=["usual", "wrapping"])
def test_cuba_is_the_stock_lif_within_a_sample(cuba, rng, size):
    arrivals = rng.integers(-size, size, (NEURONS, STEPS))
    ours = drive(
        CUBA.from_layer(cuba, steps=STEPS, period=STEPS + GAP), PyCUBAModelFixed, samples(arrivals),
        ("u",),
    )  # fmt: skip
    assert 0.05 < ours.sent.mean() < 0.9
    both = (arrivals, arrivals[:, ::-1])
    for sample, found, u in zip(both, cut(ours.sent), cut(ours.u), strict=True):
        lif = LIF(
            shape=(NEURONS,), du=cuba.du, dv=cuba.dv, vth=cuba.vth, bias_mant=cuba.bias_mant,
            bias_exp=6,
        )  # fmt: skip
        stock = drive(lif, PyLifModelBitAcc, sample.astype(np.int32), ("u",))
        np.testing.assert_array_equal(found, stock.sent)
        np.testing.assert_array_equal(u, stock.u)


def test_sigma_delta_is_the_stock_one_within_a_sample(sigma_delta, rng):
    arrivals = rng.integers(-60, 90, (NEURONS, STEPS))
    process = SigmaDelta.from_layer(sigma_delta, steps=STEPS, period=STEPS + GAP)
    ours = drive(process, OurSigmaDelta, samples(arrivals), ("sigma",))
    assert 0.2 < (ours.sent != 0).mean() < 0.95
    assert (ours.sent < 0).any()
    both = (arrivals, arrivals[:, ::-1])
    for sample, found, sigma in zip(both, cut(ours.sent), cut(ours.sigma), strict=True):
        stock = StockSigmaDelta(
            shape=(NEURONS,), vth=sigma_delta.vth, bias=sigma_delta.bias_mant, spike_exp=6,
            state_exp=6,
        )  # fmt: skip
        # To the stock one, spikes are messages of the value 1: it does not shift their sums.
        expected = drive(stock, PySigmaDeltaModelFixed, (sample << 12).astype(np.int32), ("sigma",))
        np.testing.assert_array_equal(found, expected.sent)
        np.testing.assert_array_equal(sigma, expected.sigma)


def test_too_large_a_change_is_sent_in_parts(sigma_delta):
    layer = replace(sigma_delta, vth=1, bias_mant=np.zeros(NEURONS, int), input_exp=12)
    arrivals = np.zeros((NEURONS, 6), np.int32)
    arrivals[:, 0] = (MESSAGE_MAX * 2 + 77) * 64
    sent = drive(
        SigmaDelta.from_layer(layer, steps=5), OurSigmaDelta, np.roll(arrivals, 1, 1), ()
    ).sent
    assert sent[0].tolist() == [0, MESSAGE_MAX, MESSAGE_MAX, 77, 0, 0]


@pytest.mark.parametrize(
    ("process", "models"),
    [
        (CUBA, (PyCUBAModelFixed, PyCUBAModelFloat)),
        (SigmaDelta, (OurSigmaDelta, OurFloatSigmaDelta)),
    ],
    ids=["cuba", "sigma-delta"],
)  # fmt: skip
def test_float_synapses_make_the_same_integers(process, models, cuba, sigma_delta, rng):
    layer = cuba if process is CUBA else sigma_delta
    arrivals = rng.integers(-(1 << 12), 1 << 13, (NEURONS, STEPS + 1))
    fixed, floating = models
    made = [process.from_layer(layer, steps=STEPS, dense_exp=5) for _ in range(2)]
    expected = drive(made[0], fixed, (arrivals >> 5).astype(np.int32), ())
    found = drive(made[1], floating, arrivals.astype(np.float64), ())
    assert expected.sent.any()
    np.testing.assert_array_equal(found.sent, expected.sent)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"shape": ()}, r"CUBA shape: expected \(neurons,\), got \(\)"),
        ({"dv": 4097}, r"CUBA dv: expected 0\.\.4096, got 4097"),
        ({"vth": 1 << 17}, r"CUBA vth: expected 0\.\.131071, got 131072"),
        ({"bias_mant": [1, 2]}, "CUBA bias_mant: expected 3 values, one per neuron, got 2"),
        ({"bias_mant": 4096}, r"CUBA bias_mant: expected -4096\.\.4095, got 4096\.\.4096"),
        ({"dense_exp": -1}, "CUBA dense_exp: expected 0 or more, got -1"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_cuba_refuses_bad_values(change, message):
    given = {"shape": (3,), "du": 700, "dv": 300, "vth": 200, "steps": 4}
    with pytest.raises(ModelError, match=message):
        CUBA(**{**given, **change})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"vth": -1}, r"SigmaDelta vth: expected 0\.\.131071, got -1"),
        ({"input_exp": 17}, r"SigmaDelta input_exp: expected 0\.\.16, got 17"),
    ],
    ids=["vth", "input_exp"],
)
def test_sigma_delta_refuses_bad_values(change, message):
    with pytest.raises(ModelError, match=message):
        SigmaDelta(**{"shape": (3,), "vth": 40, "steps": 4, **change})


@pytest.mark.parametrize("process", [CUBA, SigmaDelta])
def test_neurons_are_silent_between_samples(process, cuba, sigma_delta):
    layer = cuba if process is CUBA else sigma_delta
    model = PyCUBAModelFixed if process is CUBA else OurSigmaDelta
    made = process.from_layer(layer, steps=STEPS, period=STEPS + GAP)
    arrivals = samples(np.full((NEURONS, STEPS), 500))
    sent = drive(made, model, arrivals, ()).sent
    assert all(part.any() for part in cut(sent))
    between = [sent[:, 0], *sent[:, 1 + STEPS : 1 + STEPS + GAP].T, *sent[:, -GAP:].T]
    assert not np.any(between)
