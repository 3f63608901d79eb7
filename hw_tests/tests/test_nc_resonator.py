"""A third on-chip model, of a Process that celif does not know, and mistakes that a writer makes.

It is written from the public description of the interface alone: a resonator with graded output,
two registers of state and no threshold. Each mistake has to be named by what is wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lava.magma.core.decorator import implements, requires, tag
from lava.magma.core.model.py.type import LavaPyType
from lava.magma.core.process.ports.ports import InPort, OutPort
from lava.magma.core.process.process import AbstractProcess
from lava.magma.core.process.variable import Var
from lava.magma.core.resources import Loihi2NeuroCore
from lava.magma.core.sync.protocols.loihi_protocol import LoihiProtocol

from hw_tests.tests import loihi_standin
from hw_tests.tests.nc_standin import AllocationError, walk

NEURONS = 6


class Resonator(AbstractProcess):
    """Rotates (v, w) by an angle of its own at every step, and sends v."""

    def __init__(self, shape: tuple[int, ...], cos: np.ndarray, sin: np.ndarray, decay: int):
        super().__init__(shape=shape)
        self.a_in, self.s_out = InPort(shape=shape), OutPort(shape=shape)
        self.v, self.w = Var(shape=shape, init=0), Var(shape=shape, init=0)
        self.cos, self.sin = Var(shape=shape, init=cos), Var(shape=shape, init=sin)
        self.decay = Var(shape=(1,), init=decay)


@pytest.fixture
def process() -> Resonator:
    angles = np.linspace(0.1, 1.2, NEURONS)
    cos, sin = ((4096 * f(angles)).astype(np.int64) for f in (np.cos, np.sin))
    return Resonator((NEURONS,), cos, sin, 4000)


@pytest.fixture
def program(tmp_path: Path) -> Iterator[str]:
    """The extension's stand-in, and a file in the place of microcode."""
    file = tmp_path / "resonator.dasm"
    file.write_text("")
    with loihi_standin.installed(tmp_path, model=False):
        yield str(file)


def model_with(program: str, **changes: Any) -> type:
    """The model as its author writes it; ``changes`` are mistakes."""
    from lava.magma.core.model.nc.model import AbstractNcProcessModel  # type: ignore
    from lava.magma.core.model.nc.ports import NcInPort, NcOutPort  # type: ignore
    from lava.magma.core.model.nc.type import LavaNcType  # type: ignore
    from lava.magma.core.model.nc.var import NcVar  # type: ignore

    try:
        from lava.magma.core.model.nc.net import NetL2  # type: ignore
    except ImportError:  # as everybody guards it
        NetL2 = Any  # type: ignore[misc]

    @implements(proc=Resonator, protocol=LoihiProtocol)
    @requires(Loihi2NeuroCore)
    @tag("ucoded")
    class NcResonator(AbstractNcProcessModel):
        a_in: NcInPort = LavaNcType(NcInPort, np.int32, precision=24)
        s_out: NcOutPort = LavaNcType(NcOutPort, np.int32, precision=24)
        v: NcVar = LavaNcType(NcVar, np.int32, precision=24)
        w: NcVar = LavaNcType(NcVar, np.int32, precision=24)
        cos: NcVar = LavaNcType(NcVar, np.int32, precision=16)
        sin: NcVar = LavaNcType(NcVar, np.int32, precision=16)
        decay: NcVar = LavaNcType(NcVar, np.int32, precision=12)

        def allocate(self, net: NetL2) -> None:
            shape = self.proc_params["shape"]
            constants = {"decay": int(self.decay.var.init)}
            cfg = net.neurons_cfg.allocate_ucode(
                shape=(1,), ucode=program, **{**constants, **mistake("constants", self)}
            )
            state = {"v": self.v, "w": self.w, "cos": self.cos, "sin": self.sin.var.get()}
            state = {**state, **mistake("state", self)}
            neurons = net.neurons.allocate_ucode(
                shape=shape, **{k: value for k, value in state.items() if value is not None}
            )
            bits = changes.get("bits", 24)
            ax_out = net.ax_out.allocate(shape=shape, num_message_bits=bits)
            if "connect" in changes:
                changes["connect"](self, cfg, neurons, ax_out)
                return
            self.a_in.connect(neurons)
            neurons.connect(cfg)
            neurons.connect(ax_out)
            ax_out.connect(self.s_out)

    def mistake(name: str, model: Any) -> dict[str, Any]:
        return changes.get(name, lambda model: {})(model)

    for name, value in changes.get("members", {}).items():
        if value is None:
            delattr(NcResonator, name)
        else:
            setattr(NcResonator, name, value)
    return NcResonator


def test_a_third_model_is_walked_to_where_the_chip_takes_over(
    program: str, process: Resonator
) -> None:
    net = walk(model_with(program), process)
    assert net.nodes["neurons_cfg"].fields == {"ucode": program, "decay": 4000}
    state = net.nodes["neurons"].fields
    assert sorted(state) == ["cos", "sin", "v", "w"]
    np.testing.assert_array_equal(state["sin"], process.sin.init)
    assert net.nodes["ax_out"].fields == {"num_message_bits": 24}


def sends_to_itself(model: Any, cfg: Any, neurons: Any, ax_out: Any) -> None:
    model.a_in.connect(neurons)
    neurons.connect(cfg)
    neurons.connect(ax_out)
    model.s_out.connect(ax_out)


def forgets_the_output(model: Any, cfg: Any, neurons: Any, ax_out: Any) -> None:
    model.a_in.connect(neurons)
    neurons.connect(cfg)
    neurons.connect(ax_out)


def connects_a_table(model: Any, cfg: Any, neurons: Any, ax_out: Any) -> None:
    model.a_in.connect(neurons.net.neurons)


MISTAKES: dict[str, tuple[dict[str, Any], str]] = {
    "a float constant": (
        {"constants": lambda m: {"decay": 0.98}},
        "neurons_cfg decay: expected whole numbers, found float64",
    ),
    "a Var for a constant": (
        {"constants": lambda m: {"decay": m.decay}},
        "neurons_cfg decay: expected a number, such as var.init, found the NcVar decay",
    ),
    "state that no probe would find": (
        {"state": lambda m: {"v": np.zeros(NEURONS, int)}},
        "neurons v: expected the NcVar among the state, for probes to see, found none",
    ),
    "float state": (
        {"state": lambda m: {"cos": np.cos(np.arange(NEURONS))}},
        "neurons cos: expected whole numbers, found float64",
    ),
    "the state of another layer": (
        {"state": lambda m: {"cos": np.ones(NEURONS + 1, int)}},
        f"neurons cos: expected one value, or one row for each of {NEURONS} neurons",
    ),
    "graded spikes of 32 bits": ({"bits": 32}, r"ax_out num_message_bits: .* found 32"),
    "an output port that is a source": ({"connect": sends_to_itself}, "found s_out → ax_out"),
    "no output": ({"connect": forgets_the_output}, "ax_out → s_out connected once, found 0 times"),
    "a table in the place of its nodes": (
        {"connect": connects_a_table},
        r"a_in\.connect: expected a port or an allocated node",
    ),
    "a type of models in Python": (
        {"members": {"w": LavaPyType(np.ndarray, np.int32, precision=24)}},
        "w type: expected a LavaNcType, found a LavaPyType",
    ),
    "no allocate": (
        {"members": {"allocate": None}},
        r"model NcResonator: expected a method allocate\(self, net\), found none of its own",
    ),
    "a port that is not declared": (
        {"members": {"s_out": None}},
        "model NcResonator: expected a port s_out, found none",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_in_it_is_named(name: str, program: str, process: Resonator) -> None:
    changes, message = MISTAKES[name]
    with pytest.raises(AllocationError, match=message):
        walk(model_with(program, **changes), process)


def narrow(model: type) -> type:
    from lava.magma.core.model.nc.type import LavaNcType
    from lava.magma.core.model.nc.var import NcVar

    model.cos = LavaNcType(NcVar, np.int32, precision=8)  # type: ignore[attr-defined]
    return model


def misspelt(model: type) -> type:
    from lava.magma.core.model.nc.type import LavaNcType
    from lava.magma.core.model.nc.var import NcVar

    model.omega = LavaNcType(NcVar, np.int32, precision=8)  # type: ignore[attr-defined]
    return model


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (narrow, "neurons cos: expected values of 8 bits, found 4075"),
        (misspelt, "omega: expected a Var of Resonator, found NoneType"),
    ],
)
def test_a_wrong_declaration_in_it_is_named(
    change: Callable[[type], type], message: str, program: str, process: Resonator
) -> None:
    with pytest.raises(AllocationError, match=message):
        walk(change(model_with(program)), process)


def test_a_program_with_another_ending_is_named(program: str, process: Resonator) -> None:
    other = Path(program).with_suffix(".asm")
    other.write_text("")
    with pytest.raises(AllocationError, match=r"neurons_cfg ucode: expected the name of a \.dasm"):
        walk(model_with(str(other)), process)


def test_a_model_of_another_process_is_refused(program: str) -> None:
    class Other(AbstractProcess):
        """A Process that the model does not implement."""

        def __init__(self) -> None:
            super().__init__(shape=(1,))

    with pytest.raises(AllocationError, match="model NcResonator: expected to implement Other"):
        walk(model_with(program), Other())
