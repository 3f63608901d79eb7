"""Exports broken on purpose: verify finds each, and names the layer and the step."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import torch

from celif.verification.file_check import differences
from celif.verification.verify import Verification, verify
from export import read_netx, simulate, to_netx
from export.loihi2 import DECAY_BITS
from export.model.network import CelifLayer, Encoding, FixedNetwork
from export.model.te import CosineTable
from export.netx import integrity
from export.steps import celif
from export.steps.celif import IntParams, State
from hw_tests import ladder
from hw_tests.networks.random_stacks import LayerSpec, random_stack
from hw_tests.trace_difference import Difference
from training import Network, checkpoint

STEPS = 16


@pytest.fixture
def net() -> Network:
    torch.manual_seed(0)
    made = Network(1, (10, 12), 3, STEPS)
    with torch.no_grad():
        for layer in made.layers:
            layer.weight.mul_(3)
        made.te.normal_(0, 0.1)
    return made


@pytest.fixture
def x() -> torch.Tensor:
    """Samples that begin with two silent steps."""
    rising = torch.rand(3, 1, STEPS, generator=torch.Generator().manual_seed(1))
    rising[..., :2] = 0
    return rising


@pytest.fixture
def path(net: Network, x: torch.Tensor, tmp_path: Path) -> Path:
    to_netx(net, tmp_path / "net.net", calibration=x)
    return tmp_path / "net.net"


def examined(path: Path, net: Network, x: torch.Tensor) -> Verification:
    """What verify finds without Lava: the ladder's rungs all run the file, broken or not."""
    result = verify(path, net, x, targets=("torch", "twin"))
    assert [r.verdict for r in result.rungs if r.why != ladder.UNASKED] == ["equal"] * 3
    return result


def test_sound_export_is_what_its_checkpoint_says(
    path: Path, net: Network, x: torch.Tensor
) -> None:
    source = examined(path, net, x).source
    assert source is not None
    assert source.equal
    assert source.effect is None
    assert source.values > 10 * 12 + 12 * STEPS


def test_weight_off_by_one_is_found(path: Path, net: Network, x: torch.Tensor) -> None:
    spikes = (simulate(path, x.numpy(), trace=True).spikes or [])[0][0]
    # of layer 1's inputs that fire at all, the one that begins last: nothing may differ before
    begins = np.where(spikes.any(1), spikes.argmax(1), -1)
    source, step = int(begins.argmax()), int(begins.max())
    assert step > 1
    with h5py.File(path, "r+") as f:
        f["layer/1/weight"][3, source] += 1
        integrity.sign(f)
    result = examined(path, net, x)
    assert not result.equal
    assert result.source is not None
    (difference,) = result.source.differences
    assert (difference.dataset, difference.index) == ("/layer/1/weight", (3, source))
    assert difference.found == difference.expected + 1
    assert difference.layer == 1
    effect = result.source.effect
    assert effect is not None
    assert (effect.sample, effect.layer, effect.step, effect.neuron) == (0, 1, step, 3)
    assert effect.variable == "v"


def test_command_shows_the_values_around_a_difference(
    path: Path, net: Network, x: torch.Tensor, tmp_path: Path, end_of: Any
) -> None:
    checkpoint.save(tmp_path / "net.safetensors", net)
    np.save(tmp_path / "x.npy", x.numpy())
    with h5py.File(path, "r+") as f:
        f["layer/0/weight"][4, 0] -= 1
        integrity.sign(f)
    arguments = ("--against", tmp_path / "net.safetensors", "--input", tmp_path / "x.npy")
    ending = end_of("verify", path, *arguments, "--target", "twin")
    assert ending.code == 1
    assert "file DIFFERS: the floats are the file's" in ending.output
    assert "/layer/0/weight[4, 0]: expected" in ending.output
    assert (
        "in the twin this changes first: sample 0, layer 0, step 2, neuron 4, v:" in ending.output
    )
    assert "layer 0, neuron 4: checkpoint │ file" in ending.output
    steps = [line.split()[0] for line in ending.output.splitlines() if line.count("│") == 3]
    assert steps == ["0", "1", "2", "3", "4", "5"]
    assert "2 ◂" in ending.output


def test_te_shifted_by_a_step_is_found(path: Path, net: Network, x: torch.Tensor) -> None:
    with h5py.File(path, "r+") as f:
        f["te/0"][...] = np.roll(f["te/0"][...], 1, axis=1)
        integrity.sign(f)
    source = examined(path, net, x).source
    assert source is not None
    assert [d.dataset for d in source.differences] == ["/layer/0/neuron/te", "/layer/1/neuron/te"]
    assert (source.differences[0].layer, source.differences[0].step) == (0, 0)
    # TE[k] meets V[k−1], which is 0 until the input begins at step 2: step 3 feels it first
    assert source.effect is not None
    assert (source.effect.layer, source.effect.step, source.effect.variable) == (0, 3, "theta")


@pytest.mark.parametrize(
    ("dataset", "layer"),
    [("layer/0/neuron/alphaMant", 0), ("layer/1/neuron/vThMant", 1), ("layer/2/bias", 2)],
)
def test_any_register_off_by_one_is_found(
    dataset: str, layer: int, path: Path, net: Network, x: torch.Tensor
) -> None:
    with h5py.File(path, "r+") as f:
        f[dataset][...] = f[dataset][...] - 1
        integrity.sign(f)
    source = examined(path, net, x).source
    assert source is not None
    (difference,) = source.differences
    assert (difference.dataset, difference.layer) == (f"/{dataset}", layer)
    assert source.effect is not None
    assert source.effect.layer == layer


def test_words_are_compared_as_words(path: Path) -> None:
    expected = read_netx(path)
    first, second = expected.layers
    assert isinstance(first, CelifLayer)
    wave = CosineTable(np.zeros(first.rows, np.int64), np.array([0]))
    other = replace(first, te_form=wave, te=0 * first.te)
    found = differences(expected, replace(expected, layers=(other, second)))
    words = {difference.dataset: difference for difference in found}["/layer/0/neuron/teEncoding"]
    assert (words.expected, words.found) == ("table", "cosine")
    assert json.loads(json.dumps(asdict(words)))["found"] == "cosine"


def test_layers_are_numbered_without_what_flattens(rng: np.random.Generator) -> None:
    parts = (LayerSpec(2, kernel=(2, 2)), LayerSpec(3))
    net = random_stack(rng, parts, STEPS, shape=(1, 3, 3))
    dense = net.layers[1]
    other = replace(dense, weight=dense.weight - np.sign(dense.weight))
    (found,) = differences(net, replace(net, layers=(net.layers[0], other)))
    assert (found.dataset, found.layer) == ("/layer/2/weight", 1)


def test_other_checkpoint_is_found_by_its_floats(path: Path, net: Network, x: torch.Tensor) -> None:
    with torch.no_grad():
        net.te[0, 0] += 1e-6  # too little to change an integer
    source = examined(path, net, x).source
    assert source is not None
    assert (source.differences, source.other_floats) == ((), ("te",))
    assert not source.equal


# Arithmetic that is wrong in the back end cannot be seen in the file. These run in Lava, whose
# model calls the step that the test puts in its place; the twin has compiled the right one.


def neuron(name: str, lag: int, weight: int, alpha_mant: int, theta0_int: int) -> CelifLayer:
    """One neuron, without TE and bias."""
    return CelifLayer(
        name=name,
        weight=np.array([[weight]]),
        lag=lag,
        delay_shift=False,
        te=np.zeros((1, 8), np.int64),
        te_exp=8,
        te_bits=8,
        weight_exp=4,
        weight_bits=8,
        fraction_bits=4,
        alpha_mant=alpha_mant,
        beta_mant=4000,
        theta0_int=theta0_int,
        bias_mant=np.array([0]),
        bias_exp=0,
    )


def pair(second: CelifLayer) -> tuple[FixedNetwork, np.ndarray]:
    """A neuron that fires at steps 3 and 5 of the first sample alone, and the one behind it."""
    first = neuron("layer 0", 1, weight=1, alpha_mant=0, theta0_int=5)
    network = FixedNetwork((first, second), None, 8, 0, Encoding(1, 1.0, 4, signed=False), {})
    graded = np.array([[[1, 2, 3, 9, 4, 7, 0, 1]], [[1, 2, 3, 4, 4, 3, 2, 1]]])
    spikes = (simulate(network, graded, trace=True).spikes or [])[0]
    assert np.argwhere(spikes).tolist() == [[0, 0, 3], [0, 0, 5]]
    return network, graded


def first_difference(
    network: FixedNetwork, graded: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> Difference:
    """What rung 3 alone finds, with the plain step, which the tests break."""
    from lava_procs.processes.celif.models import PyCELIFModelFixed

    monkeypatch.setattr(PyCELIFModelFixed, "in_one_process", lambda model, steps: None)
    monkeypatch.setattr(ladder, "RUNGS", (ladder.rung(3, "lava"),))
    result = verify(network, None, graded, targets=("lava",))
    assert result.differs
    (rung,) = result.rungs
    assert rung.verdict == "DIFFERS"
    assert rung.first is not None
    assert str(rung.first) in rung.detail
    return rung.first


@pytest.fixture
def targets(targets: list[str]) -> list[str]:
    if (reason := ladder.rung(3, "lava").why_not(targets)) is not None:
        pytest.skip(reason)
    return targets


@pytest.mark.usefixtures("targets")
def test_strict_comparison_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    # V is 0 or −, until a spike from below makes it exactly Θ0
    network, graded = pair(neuron("layer 1", 2, weight=6, alpha_mant=0, theta0_int=6))

    def strict(acc: Any, te: Any, state: State, p: IntParams) -> State:
        theta, v, _ = right(acc, te, state, p)
        return State(theta, v, (v > theta) * 1)

    right = celif.step
    monkeypatch.setattr(celif, "step", strict)
    first = first_difference(network, graded, monkeypatch)
    assert (first.sample, first.layer, first.step, first.variable) == (0, 1, 3, "spikes")
    assert (first.expected, first.found) == (1, 0)
    assert [moment.step for moment in first.around] == [0, 1, 2, 3, 4, 5, 6]
    assert first.around[3].v == first.around[3].theta == (6, 6)


@pytest.mark.usefixtures("targets")
def test_rounding_down_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    # −3 from the spike of step 3 decays at step 4: −3·1000/4096 is 0 towards zero, −1 rounded down
    network, graded = pair(neuron("layer 1", 2, weight=-3, alpha_mant=1000, theta0_int=6))

    def flooring(acc: Any, te: Any, state: State, p: IntParams) -> State:
        theta = (p.beta_mant * (state.theta - p.theta0_int) >> DECAY_BITS) + p.theta0_int
        v = (p.alpha_mant * state.v >> DECAY_BITS) * (1 - state.s) + (acc << p.shift)
        return State(theta, v, (v >= theta) * 1)

    monkeypatch.setattr(celif, "step", flooring)
    first = first_difference(network, graded, monkeypatch)
    assert (first.sample, first.layer, first.step, first.variable) == (0, 1, 4, "v")
    assert (first.expected, first.found) == (0, -1)


@pytest.mark.usefixtures("targets")
def test_late_reset_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    from lava_procs.sampled import SampledModel

    # layer 1 has no decay to speak of: what it gathered in the first sample it still has in the
    # second one's first step, unless it is reset in time
    network, graded = pair(neuron("layer 1", 2, weight=3, alpha_mant=4095, theta0_int=100))
    right = SampledModel.run_spk

    def late(model: Any) -> None:
        now = model.clock.at(model.time_step)
        if now is not None and now[0] > 0:
            model.begin = lambda: None
            if now[1] == 1:
                type(model).begin(model)
        right(model)

    monkeypatch.setattr(SampledModel, "run_spk", late)
    first = first_difference(network, graded, monkeypatch)
    assert (first.sample, first.layer, first.step, first.variable) == (1, 1, 0, "v")
    assert (first.expected, first.found) == (0, 1)  # 3, 2, 1 + 3, 3, 2 and then 1
