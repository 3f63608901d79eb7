"""``celif export`` with every format, and ``celif finetune``."""

from __future__ import annotations

import inspect
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any, get_origin

import numpy as np
import pytest
import torch

from celif.commands import format_options
from celif.commands.export import export
from celif.tests.run_command import answer
from export import Formats, QuantizedNetwork, read_netx, simulate
from export.model.network import CelifLayer
from hw_tests.trace_difference import assert_same_trace
from training import checkpoint, tasks


def layers_of(path: Path) -> list[CelifLayer]:
    layers = [layer for layer in read_netx(path).layers if isinstance(layer, CelifLayer)]
    assert len(layers) == 2
    return layers


def test_export_takes_every_format(run_folder: Path, tmp_path: Path) -> None:
    net = tmp_path / "net.net"
    report = answer(
        *("export", run_folder / "run" / "last.safetensors", "-o", net, "--weight-bits", "8,4,6"),
        *("--te-bits", "3,4", "--per-channel", "--rule", "percentile", "--te-encoding", "packed"),
        *("--te-hold", 2, "--input-bits", 3, "--fraction-bits", "12,10"),
    )
    first, second = layers_of(net)
    assert (first.weight_bits, second.weight_bits) == (8, 4)
    assert (first.te_bits, second.te_bits) == (3, 4)
    assert (first.fraction_bits, second.fraction_bits) == (12, 10)
    assert isinstance(first.weight_exp, np.ndarray)
    assert first.te_form.encoding == "packed"
    assert second.te_form.hold == 2
    fixed = read_netx(net)
    assert fixed.encoding.bits == 3
    assert fixed.readout is not None
    assert fixed.readout.weight_bits == 6
    told = report["layers"][0]
    assert (told["te_encoding"], told["te_hold"], told["te_bytes"]) == ("packed", 2, 32 * 16)
    assert told["weight_exp"] == first.weight_exp.tolist()


def test_options_of_formats_are_the_fields_of_formats() -> None:
    kinds = {name for name, kind in vars(format_options).items() if get_origin(kind) is Annotated}
    given = inspect.signature(export).parameters.items()
    found = {name for name, parameter in given if parameter.annotation in kinds}
    assert found == {field.name for field in fields(Formats)}
    assert len(found) == len(kinds)


def test_inspect_tells_how_te_is_kept(run_folder: Path, tmp_path: Path, end_of: Any) -> None:
    net = tmp_path / "net.net"
    end_of(
        "export",
        run_folder / "run" / "last.safetensors",
        "-o",
        net,
        "--te-hold",
        4,
        "--per-channel",
    )
    shown = end_of("inspect", net)
    assert shown.code == 0
    assert "layer 1: TE as table, each value for 4 steps" in shown.output
    assert ".." in next(line for line in shown.output.splitlines() if "layer 1  CELIF" in line)


REFUSED = {
    "weight-bits": (("--weight-bits", 9), "weight_bits: expected 2..8, got 9"),
    "words": (
        ("--te-bits", "four"),
        "--te-bits: expected a number, or several as in 8,4,4, got 'f",
    ),
    "too-few": (("--weight-bits", "8,4"), "2 spiking layers and one for the readout, got 2"),
    "packed": (("--te-encoding", "packed"), "te_bits: expected 2..4 with te_encoding='packed', g"),
    "cosine": (("--te-encoding", "cosine"), 'got cosine; train with te="cosine"'),
    "hold": (("--te-hold", 65), "te_hold: expected 1..64, got 65"),
    "fraction": (("--fraction-bits", 17), "fraction_bits: expected 0..16, got 17"),
    "input": (("--input-bits", 0), "input_bits: expected 1..16, got 0"),
}


@pytest.mark.parametrize(("options", "message"), REFUSED.values(), ids=REFUSED)
def test_export_refuses_by_name(
    run_folder: Path, tmp_path: Path, end_of: Any, options: tuple[Any, ...], message: str
) -> None:
    ending = end_of(
        "export", run_folder / "run" / "last.safetensors", "-o", tmp_path / "n.net", *options
    )
    assert ending.code == 2
    assert message in ending.error
    assert not (tmp_path / "n.net").exists()


def test_network_with_cosines_is_trained_and_exported(tmp_path: Path) -> None:
    run, net = tmp_path / "run", tmp_path / "net.net"
    answer("train", "--out", run, "--epochs", 1, "--hidden", "8,6", "--te", "cosine")
    report = answer("export", run / "last.safetensors", "-o", net)
    first, _ = layers_of(net)
    assert first.te_form.encoding == "cosine"
    assert report["layers"][0]["te_bytes"] == 8 * 3 + 256


def test_finetune_trains_on_and_its_export_is_what_it_computes(
    run_folder: Path, tmp_path: Path, end_of: Any
) -> None:
    run, net = tmp_path / "run", tmp_path / "net.net"
    source = run_folder / "run" / "last.safetensors"
    options = ("--weight-bits", 3, "--te-bits", 3, "--epochs", 2, "--batch", 200)
    said = answer("finetune", source, "--out", run, *options)
    assert said["validation"] >= said["validation_without"] - 0.1
    aware = checkpoint.load_module(run / "last.safetensors")
    assert isinstance(aware, QuantizedNetwork)
    start = checkpoint.load(source)
    assert not torch.equal(aware.net.layers[0].weight, start.layers[0].weight)
    answer("export", run / "last.safetensors", "-o", net)
    x = tasks.digits().test.x[:5]
    expected = simulate(net, x.numpy(), trace=True)
    assert expected.spikes is not None
    assert expected.spikes[-1].any()
    assert_same_trace(expected, aware.trace(x))
    measured = answer("evaluate", run / "last.safetensors", net, "--samples", 50)["models"]
    assert [each["kind"] for each in measured] == ["quantised", "fixed"]
    assert measured[0]["accuracy"] == measured[1]["accuracy"]
    refused = end_of(
        "export", run / "last.safetensors", "-o", net, "--te-bits", 8, "--weight-bits", 4
    )
    assert refused.code == 2
    assert "expected no format options, because celif finetune has fixed" in refused.error
    for options_of_export in (("--weight-bits", 8), ("--rule", "best"), ("--input-bits", 8)):
        ending = end_of("export", run / "last.safetensors", "-o", net, *options_of_export)
        assert ending.code == 2  # also where it is the default
        assert f"the formats, got {options_of_export[0]}; leave them out" in ending.error
    again = end_of("finetune", source, "--out", run)
    assert again.code == 2
    assert "holds a run already; add --resume" in again.error
    assert answer("finetune", source, "--out", run, "--resume", *options) == said
