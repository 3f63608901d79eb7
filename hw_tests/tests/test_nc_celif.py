"""On-chip models: ours and a stranger's, walked to where a chip would take over, and refusals."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lava.magma.core.decorator import implements, requires
from lava.magma.core.resources import CPU, Loihi2NeuroCore
from lava.magma.core.sync.protocols.loihi_protocol import LoihiProtocol

from export import FixedNetwork, simulate
from export.model.network import CelifLayer
from hw_tests.golden.kit_cases import unit_cases
from hw_tests.networks.random_nets import random_network
from hw_tests.tests import loihi_standin
from hw_tests.tests.loihi_calls import calls
from hw_tests.tests.nc_standin import FLOW, AllocationError, NetL2, walk
from hw_tests.trace_difference import assert_same_trace, firing_rates
from lava_procs import CELIF, Loihi, register_chip_model, run
from lava_procs.loihi.chip_models import chip_models
from lava_procs.loihi.host import missing, pieces
from lava_procs.loihi.nc_celif import UCODE, MicrocodeMissingError, nc_celif

SLURM = Loihi(partition="oheogulch")
CASES = {case.name: case for case in unit_cases()}
TE_CASES = {
    form: next(
        case.net
        for case in CASES.values()
        if isinstance(case.net.layers[0], CelifLayer)
        and case.net.layers[0].te_form.encoding == form
        and np.ndim(case.net.layers[0].te_exp) == 0
    )
    for form in ("table", "packed", "cosine")
}


@pytest.fixture
def ucode(tmp_path: Path) -> Iterator[str]:
    """The extension's stand-in, and a microcode file, empty as nobody here can write it."""
    file = tmp_path / "celif.dasm"
    file.write_text("")
    with loihi_standin.installed(tmp_path, model=False):
        yield str(file)


def process_of(net: FixedNetwork, i: int = 0) -> CELIF:
    return CELIF.from_layer(net.layers[i], steps=net.steps, period=net.steps + net.gap)


@pytest.mark.parametrize("form", TE_CASES)
def test_nc_celif_allocates_the_registers_of_its_layer(form: str, ucode: str) -> None:
    net = TE_CASES[form]
    layer = net.layers[0]
    asked = walk(nc_celif(ucode), process_of(net))
    assert asked.joined == list(FLOW)
    constants, state = (asked.nodes[name].fields for name in ("neurons_cfg", "neurons"))
    for name in ("alpha_mant", "beta_mant", "theta0_int", "te_exp", "bias_exp"):
        assert constants[name] == getattr(layer, name)
    assert constants["shift"] == layer.shift[0]
    clock = (constants["lag"], constants["steps"], constants["period"], constants["hold"])
    assert clock == (layer.lag, net.steps, net.steps + net.gap, layer.te_form.hold)
    assert constants["ucode"] == ucode
    np.testing.assert_array_equal(state["te"], layer.te_form.stored(layer.te))
    np.testing.assert_array_equal(state["bias_mant"], layer.bias_mant)
    assert {"v", "theta", "s"} <= state.keys()
    cosine = form == "cosine"
    assert ("te_phase" in state, "te_wave" in constants) == (cosine, cosine)
    if cosine:
        np.testing.assert_array_equal(constants["te_wave"], layer.te_form.wave)
    assert asked.nodes["ax_out"].fields == {"num_message_bits": 0}


@pytest.mark.parametrize("name", ["te_exp", "alpha_mant", "beta_mant"])
def test_what_each_neuron_has_for_itself_is_state(ucode: str, name: str) -> None:
    net = next(
        case.net
        for case in CASES.values()
        if isinstance(case.net.layers[0], CelifLayer) and np.ndim(getattr(case.net.layers[0], name))
    )
    layer = net.layers[0]
    asked = walk(nc_celif(ucode), process_of(net))
    np.testing.assert_array_equal(asked.nodes["neurons"].fields[name], getattr(layer, name))
    assert name not in asked.nodes["neurons_cfg"].fields


def test_a_run_walks_nc_celif_and_names_the_microcode_if_it_is_missing(
    ucode: str, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    net, x = random_network(rng, (5, 4), 6), rng.integers(0, 16, (3, 2, 6))
    assert all(0.02 <= rate <= 0.9 for rate in firing_rates(simulate(net, x, trace=True)))
    reason = str(missing(SLURM))
    assert "NcCELIF) is missing" in reason
    assert "a member of INRC writes" in reason
    monkeypatch.setenv(UCODE, "nowhere.dasm")
    assert "the file nowhere.dasm, found none; it is the one file" in str(missing(SLURM))
    with pytest.raises(MicrocodeMissingError, match=r"LISTING\.md of `celif golden`"):
        chip_models()
    monkeypatch.setenv(UCODE, ucode)
    assert missing(SLURM) is None
    assert_same_trace(simulate(net, x, trace=True), run(net, x, target=SLURM))
    walked = calls("allocate")
    assert [call[1] for call in walked] == ["NcCELIF", "NcCELIF"]
    assert "te" in walked[0][3]


def stranger(**changes: Any) -> type:
    """A model of CELIF as somebody would write it who knows public on-chip models only.

    ``changes`` replaces members, with None taking one away.
    """
    from lava.magma.core.model.nc.model import AbstractNcProcessModel  # type: ignore
    from lava.magma.core.model.nc.net import NetL2 as Net  # type: ignore
    from lava.magma.core.model.nc.ports import NcInPort, NcOutPort  # type: ignore
    from lava.magma.core.model.nc.type import LavaNcType  # type: ignore
    from lava.magma.core.model.nc.var import NcVar  # type: ignore

    def allocate(self: Any, net: Net) -> None:
        n = self.proc_params["shape"][0]
        cfg = net.neurons_cfg.allocate_ucode(
            shape=(1,),
            ucode=self.program,
            alpha=int(self.alpha_mant.var.get()[0]),
            beta=int(self.beta_mant.var.get()[0]),
            theta0=int(self.theta0_int.var.get()[0]),
            steps=self.proc_params["clock"].steps,
        )
        neurons = net.neurons.allocate_ucode(
            shape=n, v=self.v, theta=self.theta, s=self.s, te=self.te.var.init, bias=self.bias_mant
        )
        ax_out = net.ax_out.allocate(shape=n, num_message_bits=0)
        self.a_in.connect(neurons)
        neurons.connect(cfg)
        neurons.connect(ax_out)
        ax_out.connect(self.s_out)

    names = ("v", "theta", "s", "te", "bias_mant", "alpha_mant", "beta_mant", "theta0_int")
    members: dict[str, Any] = {
        "a_in": LavaNcType(NcInPort, np.int32, precision=24),
        "s_out": LavaNcType(NcOutPort, np.int32, precision=24),
        **{name: LavaNcType(NcVar, np.int32, precision=24) for name in names},
        "allocate": allocate,
        "program": "",
    }
    members = {name: value for name, value in {**members, **changes}.items() if value is not None}
    resource = members.pop("resource", Loihi2NeuroCore)
    model = requires(resource)(type("StrangerCELIF", (AbstractNcProcessModel,), members))
    return implements(proc=CELIF, protocol=LoihiProtocol)(model)


def test_a_model_in_the_public_style_is_walked_and_run(
    ucode: str, rng: np.random.Generator
) -> None:
    net, x = random_network(rng, (5, 4), 6), rng.integers(0, 16, (2, 2, 6))
    register_chip_model(CELIF, stranger(program=ucode))
    assert_same_trace(simulate(net, x, trace=True), run(net, x, target=SLURM))
    constants = ["alpha", "beta", "steps", "theta0", "ucode"]
    state = ["bias", "s", "te", "theta", "v"]
    assert calls("allocate") == [["allocate", "StrangerCELIF", constants, state]] * 2


def built(change: Any) -> Any:
    """``allocate`` with one thing done wrong."""

    def allocate(self: Any, net: NetL2) -> None:
        change(self, net)

    return allocate


def nodes(self: Any, net: NetL2, **changes: Any) -> tuple[Any, Any, Any]:
    cfg = net.neurons_cfg.allocate_ucode(
        shape=changes.get("one", (1,)), ucode=changes.get("ucode", self.program), beta=1
    )
    state = {"v": self.v, **changes.get("state", {})}
    neurons = net.neurons.allocate_ucode(shape=changes.get("shape", self.v.var.shape), **state)
    bits = changes.get("bits", 0)
    ax_out = net.ax_out.allocate(shape=self.v.var.shape, num_message_bits=bits)
    return cfg, neurons, ax_out


def backwards(self: Any, net: NetL2) -> None:
    cfg, neurons, _ = nodes(self, net)
    cfg.connect(neurons)


def too_early(self: Any, net: NetL2) -> None:
    _, neurons, ax_out = nodes(self, net)
    self.a_in.connect(neurons)
    ax_out.connect(self.s_out)


def unconnected(self: Any, net: NetL2) -> None:
    cfg, neurons, ax_out = nodes(self, net)
    neurons.connect(cfg)
    neurons.connect(ax_out)
    ax_out.connect(self.s_out)


def without_program(self: Any, net: NetL2) -> None:
    net.neurons.allocate_ucode(shape=self.v.var.shape, v=self.v)
    net.ax_out.allocate(shape=self.v.var.shape, num_message_bits=0)


WRONG_ALLOCATIONS = {
    "order of a connection": (backwards, "neurons_cfg → neurons"),
    "order of connections": (too_early, "expected neurons → neurons_cfg first"),
    "a missing connection": (unconnected, "a_in → neurons connected once, found 0 times"),
    "a missing allocation": (without_program, r"expected net\.neurons_cfg to be allocated"),
    "neurons' shape": (lambda s, n: nodes(s, n, shape=99), "neurons shape: expected 5 in all"),
    "program's shape": (lambda s, n: nodes(s, n, one=(2,)), "neurons_cfg shape: expected 1"),
    "float state": (
        lambda s, n: nodes(s, n, state={"u": np.zeros(5)}),
        "neurons u: expected whole numbers, found float64",
    ),
    "rows of state": (
        lambda s, n: nodes(s, n, state={"u": np.zeros(4, int)}),
        "one row for each of 5 neurons, found",
    ),
    "message bits": (lambda s, n: nodes(s, n, bits=7), "num_message_bits: expected one of"),
    "no file": (lambda s, n: nodes(s, n, ucode="x.dasm"), r"expected the name of a \.dasm file"),
}


@pytest.mark.parametrize("wrong", WRONG_ALLOCATIONS)
def test_a_wrong_allocation_is_refused_by_name(
    wrong: str, ucode: str, rng: np.random.Generator
) -> None:
    change, message = WRONG_ALLOCATIONS[wrong]
    model = stranger(program=ucode, allocate=built(change))
    with pytest.raises(AllocationError, match=message):
        walk(model, process_of(random_network(rng, (5, 4), 6)))


@pytest.mark.usefixtures("ucode")
def test_wrong_types_are_refused_by_name(rng: np.random.Generator) -> None:
    from lava.magma.core.model.nc.ports import NcInPort
    from lava.magma.core.model.nc.type import LavaNcType
    from lava.magma.core.model.nc.var import NcVar

    def typed(*arguments: Any, **precision: Any) -> Any:
        return LavaNcType(*arguments, **precision)

    wrong = {
        "v: expected a InPort of CELIF, found Var": {"v": typed(NcInPort, np.int32, precision=24)},
        "theta dtype: expected numpy.int32": {"theta": typed(NcVar, np.float32, precision=24)},
        "s precision: expected 1 to 32 bits": {"s": typed(NcVar, np.int32)},
        "u: expected a Var of CELIF, found NoneType": {"u": typed(NcVar, np.int32, precision=24)},
        "te type: expected NcInPort": {"te": typed(np.ndarray, np.int32, precision=24)},
        "expected a port a_in, found none": {"a_in": None},
        "expected an NcVar theta, for probes to see it, found none": {"theta": None},
        "expected @requires\\(Loihi2NeuroCore\\)": {"resource": CPU},
    }
    process = process_of(random_network(rng, (5, 4), 6))
    for message, changes in wrong.items():
        with pytest.raises(AllocationError, match=message):
            walk(stranger(**changes), process)


def test_values_wider_than_declared_are_refused(ucode: str, rng: np.random.Generator) -> None:
    from lava.magma.core.model.nc.type import LavaNcType
    from lava.magma.core.model.nc.var import NcVar

    net = random_network(rng, (5, 4), 6)
    assert np.abs(net.layers[0].bias_mant).max() >= 2
    narrow = LavaNcType(NcVar, np.int32, precision=1)
    with pytest.raises(AllocationError, match="neurons bias: expected values of 1 bits"):
        walk(stranger(program=ucode, bias_mant=narrow), process_of(net))


def test_microcode_without_the_extension_is_explained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "celif.dasm").write_text("")
    monkeypatch.setenv(UCODE, str(tmp_path / "celif.dasm"))
    assert "Intel's extension of Lava" in str(missing(SLURM))
    neuron = pieces(SLURM)[-1]
    assert (neuron.found, "lava.magma.core.model.nc" in neuron.remedy) == (False, True)
