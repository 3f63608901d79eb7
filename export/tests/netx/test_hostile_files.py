"""Files that are not what they should be: the error names file, dataset, expected and found."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np
import pytest

from export import NetxError, read_netx, write_netx
from export.netx import integrity
from export.tests.netx.test_netx import datasets
from export.tests.strategies import rich_network

COMMON = (
    "type",
    "shape",
    "inFeatures",
    "outFeatures",
    "lag",
    "delayShift",
    "weight",
    "neuron/type",
)
CELIF = (
    *COMMON, "bias", "neuron/te", "neuron/teExp", "neuron/teBits", "neuron/teEncoding",
    "neuron/teHold", "neuron/teSteps", "neuron/alphaMant",
    "neuron/betaMant", "neuron/vThMant", "neuron/fractionBits", "neuron/wgtExp", "neuron/wgtBits",
    "neuron/biasExp",
)  # fmt: skip
CUBA = (
    *COMMON, "bias", "neuron/iDecay", "neuron/vDecay", "neuron/vThMant", "neuron/refDelay",
    "neuron/gradedSpike",
)  # fmt: skip
READOUT = (*COMMON, "bias", "neuron/wgtExp", "neuron/wgtBits")
INPUT = ("channels", "scale", "bits", "signed", "permutation")
DATASETS = (
    *(f"/celif/{name}" for name in ("version", "steps", "gap", "checksum")),
    *(f"/celif/input/{name}" for name in INPUT),
    *(f"/celif/source/{name}" for name in ("layers.0.weight", "te")),
    "/te/0",
    *(f"/layer/0/{name}" for name in CELIF),
    *(f"/layer/1/{name}" for name in CUBA),
    *(f"/layer/2/{name}" for name in READOUT),
)
# A reader can do without: digests, a CUBA layer's biases, and the other name of a linked table.
READ = tuple(name for name in DATASETS if name not in ("/te/0", integrity.CHECKSUM))
OPTIONAL = {
    integrity.CHECKSUM,
    "/celif/source/layers.0.weight",
    "/celif/source/te",
    "/te/0",
    "/layer/1/bias",
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A sound file with every dataset that there is."""
    path = tmp_path / "net.net"
    write_netx(rich_network(), path)
    return path


def put(path: Path, name: str, value: object) -> None:
    with h5py.File(path, "a") as f:
        del f[name]
        if value is not None:
            f[name] = value
        integrity.sign(f)


def refusal(path: Path) -> NetxError:
    """The error that reading gives, which says in its message all that it holds."""
    with pytest.raises(NetxError) as caught:
        read_netx(path)
    error = caught.value
    assert error.path == str(path)
    text = f"{path}: {error.dataset}: expected {error.expected}, found {error.found}"
    assert str(error) == (f"{text}; {error.remedy}" if error.remedy else text)
    assert error.expected
    assert error.found
    return error


def test_list_of_datasets_is_complete(path):
    assert sorted(datasets(path)) == sorted(DATASETS)


@pytest.mark.parametrize("name", DATASETS)
def test_missing_dataset_is_named(path, name):
    put(path, name, None)
    if name in OPTIONAL:
        read_netx(path)
    else:
        error = refusal(path)
        assert (error.dataset, error.found) == (name, "nothing")
        assert error.remedy == "export the network again with to_netx"


@pytest.mark.parametrize("name", READ)
def test_dataset_of_another_type_is_named(path, name):
    with h5py.File(path) as f:
        text = f[name].dtype.kind in "SO"
    put(path, name, 1.5 if text else "text")
    error = refusal(path)
    assert error.dataset == name
    assert "dtype" in error.expected


@pytest.mark.parametrize("name", READ)
def test_dataset_of_another_shape_is_named(path, name):
    with h5py.File(path) as f:
        dtype = f[name].dtype
    put(path, name, np.zeros((2, 3, 2), dtype))
    error = refusal(path)
    assert error.dataset == name
    assert "shape (2, 3, 2)" in error.found


@pytest.mark.parametrize("name", READ)
def test_group_in_a_datasets_place_is_named(path, name):
    put(path, name, None)
    with h5py.File(path, "a") as f:
        f.create_group(name)
        integrity.sign(f)
    error = refusal(path)
    assert (error.dataset, error.found) == (name, "a group")


# name: dataset, value, dataset that is blamed, expected, found
VALUES = {
    "newer-version": ("/celif/version", 4, "/celif/version", "1..3", "4"),
    "no-version": ("/celif/version", 0, "/celif/version", "1..3", "0"),
    "negative-version": ("/celif/version", -1, "/celif/version", "1..3", "-1"),
    "unknown-neuron": ("/layer/1/neuron/type", "RF", "/layer/1/neuron/type", "CUBA", "'RF'"),
    "unknown-layer": ("/layer/1/type", "pool", "/layer/1/type", "dense", "pool"),
    "steps": ("/celif/steps", 5, "/layer/0/neuron/te", "5 steps, as the network has", "4"),
    "gap": ("/celif/gap", 0, "/celif/gap", "1..64", "0"),
    "channels": ("/celif/input/channels", 3, "/layer/0/weight", "3 inputs", "2"),
    "scale-nan": ("/celif/input/scale", np.nan, "/celif/input/scale", "positive", "nan"),
    "scale-zero": ("/celif/input/scale", 0.0, "/celif/input/scale", "positive", "0.0"),
    "bits": ("/celif/input/bits", 17, "/celif/input/bits", "1..16", "17"),
    "permutation-twice": (
        "/celif/input/permutation", [0, 1, 1, 2], "/celif/input/permutation", "once", "4 others",
    ),
    "permutation-short": (
        "/celif/input/permutation", [1, 0], "/celif/input/permutation", "4 steps", "2",
    ),
    "weight-nan": (
        "/layer/0/weight", np.full((3, 2), np.nan), "/layer/0/weight", "whole numbers", "NaN",
    ),
    "weight-fraction": (
        "/layer/1/weight", np.full((2, 3), 2.5), "/layer/1/weight", "whole numbers", "fractions",
    ),
    "weight-range": (
        "/layer/0/weight", np.full((3, 2), 64, np.int8), "/layer/0/weight", "-63..63", "64..64",
    ),
    "weight-odd": ("/layer/1/weight", np.ones((2, 3)), "/layer/1/weight", "even", "odd"),
    "weight-cuba-range": (
        "/layer/1/weight", np.full((2, 3), 256.0), "/layer/1/weight", "-256..254", "256..256",
    ),
    "readout-range": (
        "/layer/2/weight", np.full((3, 2), -128, np.int8), "/layer/2/weight", "-127..127", "-128",
    ),
    "weight-rows": ("/layer/0/weight", np.ones((2, 2)), "/layer/0/shape", "[2]", "[3]"),
    "in-features": ("/layer/0/inFeatures", 9, "/layer/0/inFeatures", "2", "9"),
    "out-features": ("/layer/0/outFeatures", 9, "/layer/0/outFeatures", "3", "9"),
    "lag": ("/layer/1/lag", 2, "/layer/1/lag", "1..1", "2"),
    "shifted-readout": ("/layer/2/delayShift", True, "/layer/2/delayShift", "False", "True"),
    "bias-length": ("/layer/0/bias", [1, 2], "/layer/0/bias", "3 values, one per neuron", "2"),
    "bias-range": ("/layer/0/bias", [0, 0, 4096], "/layer/0/bias", "-4096..4095", "0..4096"),
    "te-range": (
        "/layer/0/neuron/te", np.full((3, 4), 8, np.int8), "/layer/0/neuron/te", "-7..7", "8..8",
    ),
    "te-rows": (
        "/layer/0/neuron/te", np.ones((2, 4), int), "/layer/0/neuron/te", "3 rows", "2",
    ),
    "te-steps": (
        "/layer/0/neuron/te", np.ones((3, 5), int), "/layer/0/neuron/te", "4 steps", "5",
    ),
    "te-empty": (
        "/layer/0/neuron/te", np.ones((3, 0), int), "/layer/0/neuron/te", "non-empty", "(3, 0)",
    ),
    "te-encoding": (
        "/layer/0/neuron/teEncoding", "zip", "/layer/0/neuron/teEncoding", "packed", "'zip'",
    ),
    "te-hold": ("/layer/0/neuron/teHold", 65, "/layer/0/neuron/teHold", "1..64", "65"),
    "te-held-less": (
        "/layer/0/neuron/teHold", 2, "/layer/0/neuron/te", "2 columns, for 4 steps", "(3, 4)",
    ),
    "te-other-steps": (
        "/layer/0/neuron/teSteps", 3, "/layer/0/neuron/te", "3 columns, for 3 steps", "(3, 4)",
    ),
    "te-exps": ("/layer/0/neuron/teExp", [1, 2], "/layer/0/neuron/teExp", "3 values", "2"),
    "te-exps-range": (
        "/layer/0/neuron/teExp", [1, 2, 32], "/layer/0/neuron/teExp", "0..31", "1..32",
    ),
    "weight-exps": (
        "/layer/0/neuron/wgtExp", [1, 2, 32], "/layer/0/neuron/wgtExp", "-8..31", "1..32",
    ),
    "te-exp": ("/layer/0/neuron/teExp", 32, "/layer/0/neuron/teExp", "0..31", "32"),
    "te-bits": ("/layer/0/neuron/teBits", 17, "/layer/0/neuron/teBits", "2..16", "17"),
    "alpha": ("/layer/0/neuron/alphaMant", 4096, "/layer/0/neuron/alphaMant", "0..4095", "4096"),
    "beta": ("/layer/0/neuron/betaMant", -1, "/layer/0/neuron/betaMant", "0..4095", "-1"),
    "alphas": ("/layer/0/neuron/alphaMant", [1, 2], "/layer/0/neuron/alphaMant", "3 values", "2"),
    "alphas-range": (
        "/layer/0/neuron/alphaMant", [1, 2, 4096], "/layer/0/neuron/alphaMant", "0..4095",
        "1..4096",
    ),
    "betas-in-time": (
        "/layer/0/neuron/betaMant", [[1, 2]] * 3, "/layer/0/neuron/betaMant", "1 axes", "(3, 2)",
    ),
    "theta0s": (
        "/layer/0/neuron/vThMant", [1, 2, 3], "/layer/0/neuron/vThMant", "one value", "(3,)",
    ),
    "theta0": ("/layer/0/neuron/vThMant", 1 << 23, "/layer/0/neuron/vThMant", "8388607", "8388608"),
    "fraction": ("/layer/0/neuron/fractionBits", 17, "/layer/0/neuron/fractionBits", "0..16", "17"),
    "weight-exp": ("/layer/0/neuron/wgtExp", 32, "/layer/0/neuron/wgtExp", "-8..31", "32"),
    "weight-bits": ("/layer/0/neuron/wgtBits", 9, "/layer/0/neuron/wgtBits", "2..8", "9"),
    "bias-exp": ("/layer/0/neuron/biasExp", 8, "/layer/0/neuron/biasExp", "0..7", "8"),
    "cuba-du": ("/layer/1/neuron/iDecay", 4097, "/layer/1/neuron/iDecay", "0..4096", "4097"),
    "cuba-dv": ("/layer/1/neuron/vDecay", -1, "/layer/1/neuron/vDecay", "0..4096", "-1"),
    "cuba-vth": ("/layer/1/neuron/vThMant", -1, "/layer/1/neuron/vThMant", "0..131071", "-1"),
    "cuba-ref-delay": ("/layer/1/neuron/refDelay", 2, "/layer/1/neuron/refDelay", "1", "2"),
    "cuba-graded": (
        "/layer/1/neuron/gradedSpike", True, "/layer/1/neuron/gradedSpike", "False", "True",
    ),
    "readout-exp": ("/layer/2/neuron/wgtExp", 32, "/layer/2/neuron/wgtExp", "-31..31", "32"),
    "readout-overflow": (
        "/layer/2/bias", [1 << 30, 0, 0], "/layer/2/weight", "32 bits over 4 steps", "4294967804",
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "value", "blamed", "expected", "found"), VALUES.values(), ids=VALUES.keys()
)
def test_value_that_cannot_be_is_named(path, name, value, blamed, expected, found):
    put(path, name, value)
    error = refusal(path)
    assert error.dataset == blamed
    assert expected in error.expected
    assert found in error.found


REMEDIES = {
    "newer-version": "update celif-lava",
    "no-version": "the file is damaged, export the network again",
    "negative-version": "the file is damaged, export the network again",
    "unknown-neuron": "load stock files with lava_procs.Network",
    "weight-nan": "the file is damaged, export the network again",
}


@pytest.mark.parametrize(("case", "remedy"), REMEDIES.items(), ids=REMEDIES)
def test_error_names_the_remedy(path, case, remedy):
    put(path, *VALUES[case][:2])
    assert remedy in refusal(path).remedy


def test_readout_alone_is_refused_in_plain_words(path):
    with h5py.File(path, "a") as f:
        del f["layer/0"], f["layer/1"]
        f.move("layer/2", "layer/0")
        integrity.sign(f)
    error = refusal(path)
    assert (error.dataset, error.found) == ("/layer", "only a readout")
    assert str(error).count("expected") == 1
    assert "export the network again" in error.remedy
