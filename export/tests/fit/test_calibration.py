"""Our counts and the tables that Intel's compiler printed, row by row."""

from dataclasses import replace

import pytest

from export.fit.calibration import TOLERANCE, calibration, compare
from export.fit.calibration.tables import COLUMNS, PUBLISHED, RULES, Published
from export.fit.figures import CHIP
from export.fit.split import split
from export.fit.words import runs

COMPARED = calibration()
IDS = [f"{one.table.name} {one.row.layer.name} {i}" for i, one in enumerate(COMPARED)]
TABLES = {table.name: table for table in PUBLISHED}

RESIDUALS = {
    "mnist": [0.005, 0.005, -0.005],
    "yolo_kp": [0.0] * 10,
}


def test_every_row_of_the_tables_is_there():
    counts = {table.name: len(table.rows) for table in PUBLISHED}
    assert counts == {
        "mnist": 3, "yolo_kp": 10, "oxford": 2, "dnf": 4, "pilotnet_sdnn": 9, "pilotnet_snn": 10
    }  # fmt: skip
    assert sum(one.row.total is not None for one in COMPARED) == 13


@pytest.mark.parametrize("name", RESIDUALS)
def test_every_total_is_the_compilers_to_the_digits_that_it_prints(name):
    found = [one.residual for one in COMPARED if one.table.name == name]
    assert found == pytest.approx(RESIDUALS[name], abs=0.0005)
    assert max(map(abs, found)) <= TOLERANCE == 0.05


@pytest.mark.parametrize("one", COMPARED, ids=IDS)
def test_every_column_and_the_cores_are_the_compilers_or_the_row_says_why(one):
    if one.table.name == "oxford":
        assert one.row.why
        return
    assert one.agrees
    assert one.differing == ()
    assert one.cores == one.row.cores
    assert not one.row.why


def test_rows_that_differ_say_what_was_found_of_them():
    found = [
        (one.row.layer.name, one.differing, one.cores, one.row.cores)
        for one in COMPARED
        if not one.agrees
    ]
    assert found == [
        ("dense 200-256", ("neurons", "synapses", "axon_map"), 2, 3),
        ("dense 256-200", ("synapses",), 2, 2),
    ]
    wide, deep = (row for row in TABLES["oxford"].rows)
    words = [wide.layer.words(n, 1, CHIP).synapses for n in (252, 253, 255, 256)]
    assert words == [15_800, 16_000, 16_000, 16_200]
    assert "253 to 255" in wide.why
    assert deep.layer.words(200, 1, CHIP).synapses == 16_128 == 2 * deep.printed[3]
    assert "16,128" in deep.why
    assert "8,192" in deep.why


@pytest.mark.parametrize("one", COMPARED, ids=IDS)
def test_printed_columns_add_up_to_the_printed_total(one):
    """Which is what makes the pool one of 20,000 words: each column counts against it."""
    if one.row.total is None:
        return
    limits = (16_000, 8, 4_095, 16_000, 16_000, 16_000)
    words = [round(p * n / 100) for p, n in zip(one.row.printed, limits, strict=True)]
    words[0] = one.counted[0]  # one word of 16,000 is printed as 0.01 %
    assert abs(100 * sum(words) / 20_000 - one.row.total) <= 0.0101


def test_rows_that_served_to_find_a_rule_are_told_from_the_predicted_ones():
    """PilotNet's rows that are printed twice count as one another's, not as predictions."""
    for letter, count in {"p": 13, "d": 7, "k": 12, "s": 23, "a": 7, "m": 9}.items():
        assert letter in RULES
        assert sum(letter in one.row.fitted for one in COMPARED) == count
    predicted = [one for one in COMPARED if not one.row.fitted]
    assert {one.row.layer.name for one in predicted} == {
        "dense 15-15",
        "dense 225-29",
        "dense 100-50",
        "dense 50-10",
        "dense 10-1",
    }
    assert all(one.agrees for one in predicted)
    # Axon memory was found on YOLO-KP alone, and PilotNet's five layers follow.
    held_out = [one for one in COMPARED if one.counted[5] and "m" not in one.row.fitted]
    assert len({one.row.layer.name for one in held_out}) == 5
    assert all("axon_mem" not in one.differing for one in held_out)
    # Two axons for 48 channels were found on PilotNet, and YOLO-KP's last layer follows.
    last = next(one for one in COMPARED if one.row.layer.name == "conv 14×14×48")
    assert "a" not in last.row.fitted
    assert (last.counted[0], last.residual) == (2, pytest.approx(0, abs=0.0005))


@pytest.mark.parametrize(
    "wrong",
    [dict(weight_bits=6), dict(weights=127, inputs=127)],
    ids=["weight bits", "inputs"],
)
def test_a_table_with_a_wrong_layer_disagrees(wrong):
    table = TABLES["mnist"]
    rows = list(table.rows)
    rows[1] = replace(rows[1], layer=replace(rows[1].layer, **wrong))
    assert [one.agrees for one in compare(replace(table, rows=tuple(rows)))] == [True, False, True]


@pytest.mark.parametrize(
    "figures",
    [
        dict(target_bits=8), dict(target_bits=32), dict(list_bits=0), dict(list_bits=32),
        dict(compiler=2022), dict(dense_synapse_words=12_500), dict(dense_synapse_words=13_328),
        dict(neuron_words=4_096), dict(pool_words=20_480),
    ],
    ids=str,
)  # fmt: skip
def test_other_figures_disagree_with_a_table_of_2024(figures, monkeypatch):
    chip = CHIP.with_figures(**figures)
    tables = [TABLES["mnist"], TABLES["yolo_kp"]]
    monkeypatch.setattr(type(tables[0]), "chip", property(lambda self: chip))
    assert any(one.differing or not one.agrees for table in tables for one in compare(table))


@pytest.mark.parametrize(("bits", "right"), [(4, False), (5, True), (17, True), (18, False)])
def test_tables_and_logs_show_lists_of_5_to_17_bits_besides_their_synapses(
    bits, right, monkeypatch
):
    chip = CHIP.with_figures(list_bits=bits)
    of = Published.chip.fget
    monkeypatch.setattr(
        Published, "chip", property(lambda self: of(self).with_figures(list_bits=bits))
    )
    wrong = [one for one in calibration() if one.differing and not one.row.why]
    # Words that the logs name, on the way to parts of 9 neurons of PilotNet's 100, and Oxford's.
    for name, first in (("pilotnet_sdnn", 66_560), ("pilotnet_snn", 61_440)):
        layer = next(r.layer for r in TABLES[name].rows if r.layer.name == "dense 2560-100")
        named = [layer.words(n, 1, chip).synapses for n in (100, 17)]
        wrong += [name] if named != [first, 12_800] else []
    oxford = [row.layer for row in TABLES["oxford"].rows]
    assert [layer.words(layer.channels, 1, chip).synapses for layer in oxford] == [16_200, 16_128]
    assert (not wrong) == right


def test_channels_run_in_powers_of_two():
    assert [runs(n) for n in (3, 16, 24, 32, 36, 48, 64, 512)] == [1, 1, 2, 1, 2, 2, 1, 1]


def test_a_pixel_is_sent_to_every_core_that_sees_its_block():
    """PilotNet's second convolution, 49 wide in blocks of 4, to three cores of 8 by strides of 2.

    Columns 16 and 32 are seen by two cores, and so are all pixels of their blocks.
    """
    table = TABLES["pilotnet_sdnn"]
    parts = split([row.layer for row in table.rows], table.chip)[1]
    assert [(part.positions, part.targets, part.cores) for part in parts] == [
        (60, 1, 10), (60, 2, 2), (15, 1, 1)
    ]  # fmt: skip


def test_a_comparison_is_plain_values():
    said = COMPARED[2].to_dict()
    assert said["words"] == dict(zip(COLUMNS, (64, 1, 10, 256, 10, 0), strict=True))
    assert (said["unit"], said["printed_cores"], said["agrees"]) == ("percent", 1, True)
    assert said["fitted"] == ["the pool and its limits", "the lists of dense synapses"]
