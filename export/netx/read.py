"""Reading a netx file with full validation: what comes back is what was written, or an error."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from export.loihi2 import DECAY_ONE, HOLD_MAX, STEPS_MAX
from export.model.input_coding import Encoding
from export.model.network import (
    CelifLayer,
    CubaLayer,
    FixedNetwork,
    Layer,
    ReadoutLayer,
    SigmaDeltaLayer,
    needed_gap,
)
from export.model.te import DENSE, ENCODINGS, CosineTable, Form, Table
from export.netx.synapses import FLATTEN, read_synapses
from export.netx.values import AGAIN, Values
from export.netx.write import (
    ACTIVATION,
    CELIF_FIELDS,
    CUBA_FIELDS,
    READOUT_FIELDS,
    REF_DELAY,
    SDNN_FIELDS,
    VERSION,
    NetxError,
)


def read_netx(path: str | os.PathLike[str]) -> FixedNetwork:
    """Read and validate a network, or raise :class:`NetxError`."""
    if not Path(path).is_file():
        raise NetxError(path, "/", "a netx HDF5 file", "no such file; export one with to_netx")
    try:
        f = h5py.File(path, "r")
    except OSError as error:
        raise NetxError(path, "/", "a netx HDF5 file", f"unreadable as HDF5 ({error})") from None
    with f:
        try:
            return _Reader(path, f).network()
        except (OSError, RuntimeError, KeyError) as error:  # what h5py raises at damaged places
            raise NetxError(path, "/", "a sound HDF5 file", f"damage ({error})") from None


def read_layer(f: h5py.File, i: int, name: str) -> Layer:
    """Read layer ``i`` of an open file, validated, under another name for its errors."""
    layer = _Reader(f.filename, f).layer(f"layer/{i}", f"layer {i}")
    return replace(layer, name=name)


class _Reader(Values):
    """Builds a network from the values of one open file."""

    def __init__(self, path: str | os.PathLike[str], f: h5py.File):
        super().__init__(path, f)
        # A block that wrote itself has no version; the datasets that are there tell.
        self.version: int | None = None
        self.tables: dict[Any, np.ndarray] = {}
        self.decoded: dict[Any, np.ndarray] = {}

    def network(self) -> FixedNetwork:
        if "celif" not in self.f:
            return self.loose_blocks()
        version = self.integer("celif/version")
        if not 1 <= version <= VERSION:
            remedy = "update celif-lava" if version > VERSION else f"the file is damaged, {AGAIN}"
            raise self.error("celif/version", f"1..{VERSION}", str(version), remedy)
        self.version = version
        layers = self.layers()
        readout = layers.pop() if isinstance(layers[-1], ReadoutLayer) else None
        if not layers:
            raise self.error("layer", "a layer that fires", "only a readout", AGAIN)
        for layer in layers:
            if isinstance(layer, ReadoutLayer):
                at = f"{self.groups[layer.name]}/neuron/type"
                raise self.error(at, "a readout only last", "layers after it")
        return self.checked(
            FixedNetwork,
            layers=tuple(layers),
            readout=readout,
            steps=self.integer("celif/steps"),
            gap=self.integer("celif/gap"),
            encoding=self.encoding(),
            digests={name: self.text(f"celif/source/{name}") for name in self.sources()},
            path=self.path,
        )

    def loose_blocks(self) -> FixedNetwork:
        """Blocks that wrote themselves: their input is spikes, their place in time their order."""
        kinds = [self.text(f"{at}/neuron/type") for at in self.places()]
        if set(kinds) != {CelifLayer.kind}:
            found = "none: a stock netx file; load it with lava_procs.Network"
            if CelifLayer.kind in kinds:
                found = f"none, and {' '.join(kinds)}: when these shift, only to_netx can write"
            raise self.error("celif", "the group that export.to_netx writes", found)
        layers: list[CelifLayer] = []
        lag = 1
        for layer in self.layers():
            assert isinstance(layer, CelifLayer)
            layers.append(replace(layer, lag=lag))
            lag += 1 - layer.delay_shift
        return self.checked(
            FixedNetwork,
            layers=tuple(layers),
            readout=None,
            steps=layers[0].te.shape[1],
            gap=needed_gap(layers),
            encoding=Encoding(layers[0].inputs, 1.0, 1, signed=False),
            digests={},
            path=self.path,
        )

    def sources(self) -> list[str]:
        found = self.f.get("celif/source", {})
        if isinstance(found, h5py.Dataset):
            raise self.error("celif/source", "a group", "a dataset")
        return list(found)

    def encoding(self) -> Encoding:
        order = self.array("celif/input/permutation", 1)
        return self.checked(
            Encoding,
            channels=self.integer("celif/input/channels"),
            scale=float(self.scalar("celif/input/scale", "f")),
            bits=self.integer("celif/input/bits"),
            signed=bool(self.scalar("celif/input/signed", "b")),
            permutation=order if order.size else None,
        )

    def places(self) -> list[str]:
        """Groups of the layers that have neurons."""
        places = [f"layer/{i}" for i in range(len(self.group("layer")))]
        return [at for at in places if self.text(f"{at}/type") != FLATTEN]

    def layers(self) -> list[Layer]:
        """Every layer; between an image and a dense layer there must be a flattening one."""
        layers: list[Layer] = []
        flat = False
        for i in range(len(self.group("layer"))):
            at = f"layer/{i}"
            if self.text(f"{at}/type") == FLATTEN:
                found = self.array(f"{at}/shape", 1).tolist()
                self.equal(f"{at}/shape", found, [layers[-1].neurons, 1, 1] if layers else None)
                flat = True
                continue
            layers.append(self.layer(at, f"layer {len(layers)}"))
            image = len(layers) > 1 and layers[-2].positions > 1
            expected = FLATTEN if image and layers[-1].geometry is None else "another"
            if (expected == FLATTEN) != flat:
                found = FLATTEN if flat else "another"
                raise self.error(f"layer/{i - 1}/type", f"{expected} before it", found)
            flat = False
        if flat or not layers:
            raise self.error("layer", "a layer that fires", f"only {FLATTEN}", AGAIN)
        return layers

    def layer(self, at: str, name: str) -> Layer:
        """The layer of the group ``at``."""
        self.groups[name] = at
        neuron = self.text(f"{at}/neuron/type")
        kinds = {
            "CELIF": self.celif_layer, "CUBA": self.cuba_layer, "SDNN": self.sdnn_layer,
            "READOUT": self.readout_layer,
        }  # fmt: skip
        if neuron not in kinds:
            expected, found = ", ".join(kinds), f"{neuron!r}, which no twin can run"
            remedy = "export blocks of these with to_netx, load stock files with lava_procs.Network"
            raise self.error(f"{at}/neuron/type", expected, found, remedy)
        synapses = read_synapses(self, at)
        return kinds[neuron](
            at,
            {
                "name": name,
                "lag": self.integer(f"{at}/lag"),
                "delay_shift": bool(self.scalar(f"{at}/delayShift", "b")),
                **synapses,
            },
        )

    def fields(self, at: str, names: dict[str, str]) -> dict[str, int]:
        return {f: self.integer(f"{at}/neuron/{d}") for d, f in names.items()}

    def celif_layer(self, at: str, common: dict[str, Any]) -> CelifLayer:
        form, table = self.encoded_te(f"{at}/neuron", common["name"], len(common["weight"]))
        exponents = {"wgtExp": "weight_exp", "teExp": "te_exp"}
        scalars = {d: f for d, f in CELIF_FIELDS.items() if d not in exponents}
        return self.checked(
            CelifLayer,
            te=table,
            te_form=form,
            bias_mant=self.array(f"{at}/bias", 1),
            **{f: self.exponent(f"{at}/neuron/{d}") for d, f in exponents.items()},
            **self.fields(at, scalars),
            **common,
        )

    def encoded_te(self, at: str, owner: str, rows: int) -> tuple[Form, np.ndarray]:
        """How a layer's TE is kept, and its mantissas (row, step)."""
        if self.version == 1 or (self.version is None and f"{at}/teEncoding" not in self.f):
            return DENSE, self.table(f"{at}/te", 2)[:rows]
        encoding, steps = self.text(f"{at}/teEncoding"), self.integer(f"{at}/teSteps")
        hold = self.integer(f"{at}/teHold")
        if encoding not in ENCODINGS:
            remedy = f"the file is damaged, {AGAIN}"
            raise self.error(f"{at}/teEncoding", ", ".join(ENCODINGS), repr(encoding), remedy)
        for name, value, high in (("teHold", hold, HOLD_MAX), ("teSteps", steps, STEPS_MAX)):
            if not 1 <= value <= high:
                raise self.error(f"{at}/{name}", f"1..{high}", str(value))
        if encoding == CosineTable.encoding:
            self.equal(f"{at}/teHold", hold, CosineTable.hold)
            cosine = CosineTable(self.table(f"{at}/te", 1)[:rows], self.array(f"{at}/teWave", 1))
            self.checked(cosine.check_generator, owner=owner, rows=rows)
            return cosine, cosine.decode(cosine.increment, steps)
        form = Table(hold, encoding == "packed")
        stored = self.table(f"{at}/te", 2)
        width = form.stored_columns(steps)
        if stored.shape[1] != width or not stored.size:
            expected = f"a non-empty array of {width} columns, for {steps} steps"
            raise self.error(f"{at}/te", expected, f"shape {stored.shape}")
        key = (self.address(f"{at}/te"), form.hold, form.packed, steps)
        if key not in self.decoded:  # layers that share a table share its mantissas
            self.decoded[key] = form.decode(stored, steps)
            if not np.array_equal(form.stored(self.decoded[key]), stored):
                raise self.error(f"{at}/te", "bytes of two mantissas each", "others")
        return form, self.decoded[key][:rows]

    def readout_layer(self, at: str, common: dict[str, Any]) -> ReadoutLayer:
        bias = self.array(f"{at}/bias", 1)
        return self.checked(ReadoutLayer, bias=bias, **self.fields(at, READOUT_FIELDS), **common)

    def cuba_layer(self, at: str, common: dict[str, Any]) -> CubaLayer:
        graded = f"{at}/neuron/gradedSpike"
        self.equal(graded, bool(self.scalar(graded, "b")), False)
        self.equal(f"{at}/neuron/refDelay", self.integer(f"{at}/neuron/refDelay"), REF_DELAY)
        fields = self.fields(at, CUBA_FIELDS)
        if not 0 <= fields["du"] <= DECAY_ONE:
            raise self.error(f"{at}/neuron/iDecay", f"0..{DECAY_ONE}", str(fields["du"]))
        fields["du"] -= 1  # Lava's LIF adds it again
        bias = self.optional_bias(at, common)
        return self.checked(CubaLayer, bias_mant=bias, **fields, **common)

    def sdnn_layer(self, at: str, common: dict[str, Any]) -> SigmaDeltaLayer:
        self.equal(f"{at}/neuron/activation", self.text(f"{at}/neuron/activation"), ACTIVATION)
        bias = self.optional_bias(at, common)
        fields = self.fields(at, SDNN_FIELDS)
        return self.checked(SigmaDeltaLayer, bias_mant=bias, **fields, **common)

    def optional_bias(self, at: str, common: dict[str, Any]) -> np.ndarray:
        if f"{at}/bias" in self.f:
            return self.array(f"{at}/bias", 1)
        return np.zeros(len(common["weight"]), np.int64)

    def address(self, name: str) -> Any:
        return h5py.h5o.get_info(self.dataset(name, "iu").id).addr

    def table(self, name: str, ndim: int) -> np.ndarray:
        """What is kept of TE; hard links to one dataset give one array."""
        key = self.address(name)
        if key not in self.tables:
            self.tables[key] = self.array(name, ndim)
        return self.tables[key]
