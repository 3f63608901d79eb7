"""The bring-up kit: its vectors are right, cover what they claim, and find a difference."""

import json
import shutil

import numpy as np
import pytest

from export import read_netx, simulate
from hw_tests.golden import check, write_kit
from hw_tests.golden.check import read_manifest
from hw_tests.golden.kit import random_input
from hw_tests.golden.kit_cases import unit_cases
from hw_tests.golden.vectors import npz_bytes, read_vectors
from hw_tests.networks.kinds import KINDS
from hw_tests.networks.random_nets import random_network
from hw_tests.tests.second_implementation import LIMIT, rows_of, run_case

NAMES = [case.name for case in unit_cases()]
SILENT = {"decay", "te-product"}
"""Cases that are about registers alone."""
WITH_GAP = {case.name for case in unit_cases() if case.net.gap}


@pytest.fixture(scope="module")
def kit(tmp_path_factory):
    net = random_network(np.random.default_rng(0), (7, 9), 25, channels=3)
    folder = tmp_path_factory.mktemp("golden") / "kit"
    write_kit(net, random_input(net, 2), folder)
    return folder


def vectors(kit, name):
    return read_vectors(kit / "cases" / name / "trace.npz")


def compare_with_second_voice(folder):
    """Return how many spikes and silent rows the case has."""
    registers, logits = run_case(folder)
    spikes = silent = 0
    for row in rows_of(folder / "trace.csv"):
        _, layer, neuron, _, now, *golden = row
        here = int(layer), int(neuron), int(now)
        if golden[:3] == ["", "", ""]:
            assert golden[3] == "0"
            assert here not in registers
            silent += 1
            continue
        found = registers.pop(here)
        # A CUBA or sigma-delta layer shows no threshold.
        for ours, theirs in zip(golden, found, strict=True):
            assert ours in ("", str(theirs)), f"layer, neuron, time step {here}"
        assert golden[0] != ""
        assert golden[2] != ""
        spikes += golden[3] != "0"
    golden_logits = {(int(b), int(c)): int(v) for b, c, v in rows_of(folder / "logits.csv")}
    assert logits == golden_logits
    readout = json.loads((folder / "parameters.json").read_text())["layers"][-1]["kind"]
    assert not registers or readout == "READOUT"
    return spikes, silent


@pytest.mark.parametrize("name", [*NAMES, "network"])
def test_a_second_implementation_gives_the_golden_vectors(name, kit):
    spikes, silent = compare_with_second_voice(kit / "cases" / name)
    assert (spikes == 0) == (name in SILENT)
    assert (silent > 0) == (name in WITH_GAP)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_and_those_of_networks_of_every_kind_of_layer(kind, tmp_path, monkeypatch):
    monkeypatch.setattr("hw_tests.golden.kit.unit_cases", list)
    write_kit(*kind.build(), tmp_path / "kit")
    spikes, _ = compare_with_second_voice(tmp_path / "kit/cases/network")
    assert spikes > 0


@pytest.mark.parametrize("name", NAMES)
def test_npz_csv_and_netx_file_of_a_case_agree(name, kit):
    folder, arrays = kit / "cases" / name, vectors(kit, name)
    for row in rows_of(folder / "trace.csv"):
        sample, layer, neuron, k = map(int, row[:4])
        for variable, value in zip(("sum", "theta", "v", "spikes"), row[5:], strict=True):
            if value != "" and k < arrays["input"].shape[2]:
                assert arrays[f"{variable}/{layer}"][sample, neuron, k] == int(value)
    trace = simulate(read_netx(folder / "net.net"), np.load(folder / "input.npy"), trace=True)
    for i, spikes in enumerate(trace.spikes):
        assert np.array_equal(spikes, arrays[f"spikes/{i}"])
    assert np.array_equal(trace.logits, arrays["logits"])


class TestCoverage:
    """Each case does what it is about."""

    def test_registers_saturate_at_both_ends(self, kit):
        v = vectors(kit, "saturation-v")["v/0"]
        theta = vectors(kit, "saturation-theta")["theta/0"]
        for register in (v, theta):
            assert (register.min(), register.max()) == (-LIMIT, LIMIT)

    def test_te_is_negative_and_lowers_the_threshold_below_rest_and_zero(self, kit):
        theta = vectors(kit, "negative-te")["theta/0"]
        assert (theta < 100).any()
        assert (theta < 0).any()

    def test_equality_fires_and_one_less_does_not(self, kit):
        arrays = vectors(kit, "equality")
        distance = arrays["v/0"] - arrays["theta/0"]
        assert (arrays["spikes/0"][distance == 0] == 1).all()
        assert (arrays["spikes/0"][distance == -1] == 0).all()
        assert {0, -1} <= set(distance.ravel().tolist())

    def test_a_spike_resets_v_but_not_what_te_multiplies(self, kit):
        arrays = vectors(kit, "reset")
        v, theta, spikes = (arrays[f"{n}/0"][0, 0] for n in ("v", "theta", "spikes"))
        assert spikes[0] == 1
        assert v[1] == arrays["sum/0"][0, 0, 1]
        assert theta[1] == 100 + v[0]  # TE is 16, its exponent 4

    def test_rounding_is_towards_zero_on_both_sides(self, kit):
        v = vectors(kit, "decay")["v/0"][0]
        assert v[0].tolist() == [5, 2, 1, 0, 0, 0]
        assert v[1].tolist() == [-5, -2, -1, 0, 0, 0]

    def test_samples_start_anew(self, kit):
        arrays = vectors(kit, "back-to-back")
        assert arrays["spikes/0"][:, :, -1].any()
        assert (arrays["v/0"][:, 0, 0] == arrays["sum/0"][:, 0, 0]).all()
        assert (arrays["theta/0"][:, 0, 0] == 100).all()

    def test_a_neuron_that_would_fire_in_the_gap_is_silent(self, kit):
        about = json.loads((kit / "cases/shifted/parameters.json").read_text())
        assert about["gap"] == 1
        spikes = vectors(kit, "shifted")["spikes/0"]
        assert spikes[:, 0, -1].any(), "a last spike that has to be lost"

    def test_sums_are_shifted_right_as_a_whole_and_down(self, kit):
        sums = vectors(kit, "sums-shifted-right")["sum/0"][0, 0]
        assert sums.tolist() == [100, -1, -2, 0, 1, 112, -100, 0]
        first, second = (
            next(c.net.layers[0] for c in unit_cases() if c.name == f"recurrent-{name}")
            for name in ("graded", "shifted-right")
        )
        assert first.recurrent_shift > 0 > second.recurrent_shift
        assert min(first.sum_right_shift, second.sum_right_shift) > 0

    def test_biases_and_decays_reach_their_ends(self):
        layers = [case.net.layers[0] for case in unit_cases()]
        celif = [layer for layer in layers if layer.kind == "CELIF"]
        shared = [layer for layer in celif if not layer.own_decays]
        assert len(shared) < len(celif)
        assert {0, 4095} <= {layer.alpha_mant for layer in shared}
        assert {0, 4095} <= {layer.beta_mant for layer in shared}
        biases = [(layer.bias_mant.min(), layer.bias_mant.max(), layer.bias_exp) for layer in celif]
        assert {(-4096, 4095, 0), (-4096, 4095, 7)} <= set(biases)
        assert {layer.te_form.encoding for layer in celif} == {"table", "packed", "cosine"}
        assert {2, 16} <= {layer.te_bits for layer in celif}
        assert {0, 31} <= {int(np.max(layer.te_exp)) for layer in celif}

    def test_a_cosine_goes_through_all_quarters(self, kit):
        about = json.loads((kit / "cases/te-cosine/parameters.json").read_text())
        increment = about["layers"][0]["te_form"]["increment"][1]
        assert {increment * k % 2**22 // 2**20 for k in range(12)} == {0, 1, 2, 3}


def test_a_kit_has_the_same_bytes_every_time(kit, tmp_path):
    net = random_network(np.random.default_rng(0), (7, 9), 25, channels=3)
    again = write_kit(net, random_input(net, 2), tmp_path / "again")
    assert again == read_manifest(kit)
    files = [path.relative_to(kit) for path in kit.rglob("*") if path.is_file()]
    assert len(files) == len(again["sha256"]) + 1
    assert all((kit / f).read_bytes() == (tmp_path / "again" / f).read_bytes() for f in files)


def test_a_kit_is_replaced_and_nothing_else_is(kit, tmp_path):
    net = random_network(np.random.default_rng(1), (3,), 5)
    shutil.copytree(kit, tmp_path / "kit")
    write_kit(net, random_input(net, 1), tmp_path / "kit")
    assert vectors(tmp_path / "kit", "network")["spikes/0"].shape == (1, 3, 5)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "thesis.tex").touch()
    with pytest.raises(FileExistsError, match="something else than a kit"):
        write_kit(net, random_input(net, 1), tmp_path / "other")
    # A kit to which somebody added notes, and another program's manifest.
    (tmp_path / "kit" / "cases" / "notes.txt").touch()
    (tmp_path / "other" / "manifest.json").write_text('{"name": "an extension", "sha256": []}')
    (tmp_path / "file").touch()
    for name in ("kit", "other", "file"):
        with pytest.raises(FileExistsError, match="choose another"):
            write_kit(net, random_input(net, 1), tmp_path / name)
    assert (tmp_path / "kit" / "cases" / "notes.txt").exists()
    assert (tmp_path / "other" / "thesis.tex").exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "kit", "other"]


def test_documents_give_the_numbers_and_the_given_network(kit):
    text = (kit / "SPECIFICATION.md").read_text(encoding="utf-8")
    assert "±8,388,607" in text
    assert "| layer 1 | CELIF | 9 | 7 | 2 |" in text
    assert "{" not in text
    listing = (kit / "LISTING.md").read_text(encoding="utf-8")
    assert "**37 instructions**" in listing
    assert "### layer 0: CELIF, widest value" in listing
    readme = (kit / "README.md").read_text(encoding="utf-8")
    assert all(f"`{name}`" in readme for name in [*NAMES, "network"])


class TestCheck:
    def written(self, tmp_path, arrays):
        file = tmp_path / "other.npz"
        file.write_bytes(npz_bytes(arrays))
        return file

    def test_equal_vectors_are_equal(self, kit):
        outcome = check(kit, kit / "cases/network/trace.npz")
        assert outcome.equal
        assert outcome.values > 1000
        assert outcome.missing == ()

    @pytest.mark.parametrize("variable", ["theta", "v", "spikes", "sum"])
    def test_the_first_difference_is_named(self, variable, kit, tmp_path):
        arrays = vectors(kit, "chain")
        expected = arrays[f"{variable}/1"][1, 0, 3].item()
        arrays[f"{variable}/1"][1, 0, 3] += 1
        arrays["v/0"][2, 0, 0] += 1  # a later sample, though an earlier layer and step
        outcome = check(kit, self.written(tmp_path, arrays), case="chain")
        assert outcome.mismatches == 2
        assert outcome.file == "cases/chain/trace.npz"
        first = outcome.to_dict()["first"]
        assert first == {
            "file": "cases/chain/trace.npz", "sample": 1, "layer": 1, "neuron": 0, "step": 3,
            "variable": variable, "expected": expected, "found": expected + 1,
        }  # fmt: skip

    def test_a_wrong_logit_alone_is_found(self, kit, tmp_path):
        arrays = vectors(kit, "network")
        arrays["logits"][1, 2] -= 5
        first = check(kit, self.written(tmp_path, arrays)).first
        assert (first.variable, first.sample, first.neuron) == ("logits", 1, 2)

    def test_many_cases_in_one_archive(self, kit, tmp_path):
        arrays = {
            f"{case}/{name}": array
            for case in NAMES
            for name, array in vectors(kit, case).items()
            if not name.startswith(("input", "sum"))
        }
        outcome = check(kit, self.written(tmp_path, arrays))
        assert outcome.equal
        assert outcome.missing == ("network",)
        del arrays["reset/theta/0"]
        assert check(kit, self.written(tmp_path, arrays)).missing == ("reset/theta/0", "network")

    @pytest.mark.parametrize(
        ("change", "case", "said"),
        [
            (lambda a: a | {"w/0": a["v/0"]}, None, "w/0: expected one of"),
            (lambda a: a | {"v/0": a["v/0"][:, :, 1:]}, None, "v/0: expected shape"),
            (lambda a: {}, None, "found none"),
            (lambda a: a, "reste", "--case: expected one of decay"),
        ],
        ids=["name", "shape", "empty", "case"],
    )
    def test_what_cannot_be_compared_is_refused(self, change, case, said, kit, tmp_path):
        file = self.written(tmp_path, change(vectors(kit, "network")))
        with pytest.raises(ValueError, match=said):
            check(kit, file, case)

    def test_other_files_are_refused(self, kit, tmp_path):
        for name, content in (("a.npz", b"PK\x03\x04nothing"), ("b.npz", b"text")):
            (tmp_path / name).write_bytes(content)
            with pytest.raises(ValueError, match="archive of numbers"):
                check(kit, tmp_path / name)
        np.savez(tmp_path / "objects.npz", **{"v/0": np.array([{}], object)})
        with pytest.raises(ValueError, match="archive of numbers"):
            check(kit, tmp_path / "objects.npz")

    def test_a_kit_that_was_changed_is_refused(self, kit, tmp_path):
        copy = tmp_path / "kit"
        shutil.copytree(kit, copy)
        with (copy / "cases/reset/trace.csv").open("a") as f:
            f.write(" ")
        with pytest.raises(ValueError, match=r"reset.*changed since the kit was written"):
            check(copy, kit / "cases/network/trace.npz")
        (copy / "manifest.json").write_text('{"format": 1, "sha256": {}, "cases": []}')
        with pytest.raises(ValueError, match="has values of, found none"):
            check(copy, kit / "cases/network/trace.npz")
        for text in ("", "[]", '{"format": 1, "sha256": [], "cases": [{}]}'):
            (copy / "manifest.json").write_text(text)
            with pytest.raises(ValueError, match="expected a kit, found none; write one with"):
                check(copy, kit / "cases/network/trace.npz")
