"""Our counts and the tables that Intel's compiler printed, row by row."""

from dataclasses import replace

import pytest

from export.fit.calibration import calibration, compare
from export.fit.calibration.tables import COLUMNS, ROWS, SOURCES
from export.fit.figures import CHIP

COMPARED = calibration()
IDS = [f"{row.network} {row.layer.name} {i}" for i, row in enumerate(ROWS)]


def test_every_row_of_the_tables_is_there():
    counts = {name: sum(row.network == name for row in ROWS) for name in SOURCES}
    assert counts == {
        "mnist": 3, "oxford": 2, "pilotnet_sdnn": 9, "pilotnet_snn": 3, "yolo_kp": 10
    }  # fmt: skip
    assert sum(row.total is not None for row in ROWS) == 13


@pytest.mark.parametrize("one", COMPARED, ids=IDS)
def test_total_and_cores_are_the_compilers_or_the_row_says_why(one):
    if one.row.total is not None:
        assert abs(one.residual) <= 0.05
        assert one.cores == one.row.cores
    assert one.agrees or one.row.note
    if one.differing:
        assert one.row.note


def test_rows_with_a_note_differ_in_what_it_says():
    found = [(one.row.network, one.differing, one.cores) for one in COMPARED if one.row.note]
    assert found == [
        ("mnist", (), 3),
        ("yolo_kp", ("neuron_groups",), 4),
        ("oxford", ("synapses",), 2),
        ("oxford", ("neurons", "synapses", "axon_map"), 2),
        ("pilotnet_sdnn", ("axon_in", "axon_map"), 3),
        ("pilotnet_sdnn", ("axon_in", "axon_map"), 13),
        ("pilotnet_sdnn", ("axon_in", "axon_map"), 25),
    ]


@pytest.mark.parametrize("one", COMPARED, ids=IDS)
def test_printed_columns_add_up_to_the_printed_total(one):
    """Which is what makes the pool one of 20,000 words: each column counts against it."""
    if one.row.total is None:
        return
    limits = (16_000, 8, 4_095, 16_000, 16_000, 16_000)
    words = [round(p * n / 100) for p, n in zip(one.row.printed, limits, strict=True)]
    words[0] = one.counted[0]  # one word of 16,000 is printed as 0.01 %
    assert abs(100 * sum(words) / 20_000 - one.row.total) <= 0.0101


def test_all_but_one_row_have_the_compilers_number_of_cores():
    other = [one.row.layer.name for one in COMPARED if one.cores != one.row.cores]
    assert other == ["dense 200-256"]


def test_rows_that_served_to_find_the_rules_are_told_from_the_predicted_ones():
    predicted = [one for one in COMPARED if not one.row.fitted]
    assert len(predicted) == 16
    assert sum(one.agrees for one in predicted) == 14


def test_a_row_with_a_wrong_layer_disagrees():
    row = ROWS[1]
    for wrong in (dict(weight_bits=6), dict(weights=127, inputs=127)):
        assert not compare(replace(row, layer=replace(row.layer, **wrong))).agrees


def test_the_log_of_the_compiler_is_followed():
    """It names 66,560 and 12,800 words on the way to parts of 9 neurons of PilotNet's 100."""
    row = next(row for row in ROWS if row.layer.name == "dense 2560-100")
    assert [row.layer.words(n, 1, CHIP).synapses for n in (100, 17)] == [66_560, 12_800]
    oxford = [row.layer for row in ROWS if row.network == "oxford"]
    assert [layer.words(layer.channels, 1, CHIP).synapses for layer in oxford] == [16_128, 16_200]


def test_a_comparison_is_plain_values():
    said = COMPARED[0].to_dict()
    assert said["words"] == dict(zip(COLUMNS, (64, 1, 10, 256, 10, 0), strict=True))
    assert (said["unit"], said["printed_cores"], said["agrees"]) == ("percent", 1, True)
