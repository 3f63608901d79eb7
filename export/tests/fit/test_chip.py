"""The chip description: figures, their sources, boards, and files that override them."""

import json

import pytest

from export.fit.chip import CONFIDENCE, read_chip
from export.fit.figures import CHIP


def test_loihi2_has_the_published_limits():
    names = ("cores", "neurons_per_core", "state_bytes", "weight_bits", "delay_bits")
    assert [CHIP[name] for name in names] == [128, 8192, 4096, 8, 6]
    words = ("pool", "axon_in", "neuron", "synapse", "axon_map", "axon_mem")
    limits = [CHIP[f"{name}_words"] for name in words]
    assert limits == [20_000, 16_000, 4_095, 16_000, 16_000, 16_000]
    assert CHIP["neuron_groups"] == 8


@pytest.mark.parametrize("name", CHIP.figures)
def test_every_figure_says_what_it_is_and_where_it_is_from(name):
    figure = CHIP.figures[name]
    assert figure.about
    assert figure.source
    assert figure.sure in CONFIDENCE


def test_a_file_overrides_some_figures_and_keeps_the_rest(tmp_path):
    file = tmp_path / "mine.json"
    file.write_text(json.dumps({"cores": 7, "pool_words": {"value": 9, "source": "measured"}}))
    chip = read_chip(file, CHIP)
    assert (chip.name, chip["cores"], chip["pool_words"]) == ("mine", 7, 9)
    assert (chip.figures["cores"].sure, chip.figures["pool_words"].source) == (
        "assumed",
        "measured",
    )
    assert chip["state_bytes"] == CHIP["state_bytes"]
    assert CHIP["cores"] == 128


def test_a_description_is_read_as_it_is_written(tmp_path):
    file = tmp_path / "whole.json"
    changed = CHIP.with_figures(cores=9, synop_pj=1.5)
    file.write_text(json.dumps(changed.to_dict()))
    assert read_chip(file, CHIP).to_dict() == changed.to_dict()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"kores": 1}', "kores"),
        ('{"cores": 0}', "at least 1"),
        ('{"cores": 1.5}', "a whole number"),
        ('{"cores": "many"}', "a finite number"),
        ('{"cores": null}', "a finite number"),
        ('{"cores": 1e999}', "a finite number"),
        ('{"cores": NaN}', "a finite number"),
        ('{"synop_pj": NaN}', "a finite number"),
        ('{"synop_pj": -1}', "at least 0"),
        ('{"cores": {"valeu": 3}}', "valeu"),
        ('{"cores": {"value": 3, "sure": "very"}}', "agreed"),
        ("[1]", "an object"),
        ("{", "JSON"),
    ],
)
def test_a_wrong_file_is_refused_by_name(tmp_path, text, said):
    file = tmp_path / "wrong.json"
    file.write_text(text)
    with pytest.raises(ValueError, match=said) as error:
        read_chip(file, CHIP)
    assert "wrong.json" in str(error.value)


@pytest.mark.parametrize(
    ("name", "chips", "cores"),
    [("Oheo Gulch", 1, 128), ("kapoho-point", 8, 128), ("HALA POINT", 1152, 122)],
)
def test_boards_are_found_however_they_are_spelt(name, chips, cores):
    board = CHIP.board(name)
    assert (board.chips, CHIP.on(board)["cores"]) == (chips, cores)


def test_an_unknown_board_is_refused_with_those_known():
    with pytest.raises(ValueError, match="Kapoho Point"):
        CHIP.board("Nahuku")
