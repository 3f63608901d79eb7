"""``celif reproduce``: the frame, its records, its page, and the experiments without new models."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from matplotlib import pyplot as plt

from celif.experiments import catalogue, energy, stability, te_similarity
from celif.experiments.machinery import results_page as results
from celif.experiments.machinery.experiment import Claim, Experiment, Outcome, Row, Settings
from celif.experiments.machinery.record import PNG, RESULT, SVG, perform
from celif.experiments.machinery.results_summary import Item
from celif.tests.run_command import answer, run_celif


def made_up(settings: Settings) -> Outcome:
    figure, ax = plt.subplots()
    ax.plot([0, 1])
    rows = [Row("accuracy", 97.0, 98.0, "%"), Row("rate", 0.25), Row("loss", None, note="not run")]
    rows.append(Row("mean", 71.25, 70.0, spread=1.5))
    return Outcome(rows, [Claim("it is good", not settings.quick)], "nothing", figure)


@pytest.fixture
def invented(monkeypatch: pytest.MonkeyPatch) -> str:
    experiment = Experiment("made-up", "Made up", made_up)
    monkeypatch.setitem(catalogue.EXPERIMENTS, "made-up", experiment)
    return "made-up"


def test_command_writes_numbers_and_figures(invented: str, tmp_path: Path) -> None:
    found = answer("reproduce", invented, "--out", tmp_path / "run")
    assert [row["difference"] for row in found["rows"]] == [-1.0, None, None, 1.25]
    assert json.loads((tmp_path / "run" / RESULT).read_text()) == found
    assert (tmp_path / "run" / PNG).read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "run" / SVG).read_text().startswith("<svg")


def test_missed_claim_is_exit_code_1(invented: str, tmp_path: Path) -> None:
    assert run_celif("reproduce", invented, "--out", tmp_path / "run").exit_code == 0
    missed = run_celif("reproduce", invented, "--quick", "--out", tmp_path / "run")
    assert missed.exit_code == 1
    assert "DOES NOT HOLD: it is good" in missed.output


def test_unknown_experiment_names_the_known_ones(end_of) -> None:
    code, error, _ = end_of("reproduce", "nonesuch")
    assert code == 2
    assert "te-similarity" in error


def test_an_experiment_that_runs_as_a_whole_refuses_a_part_of_it(invented: str, end_of) -> None:
    code, error, _ = end_of("reproduce", invented, "--minutes", 1)
    assert code == 2
    assert "expected neither --minutes nor --only" in error


def test_page_shows_ours_and_theirs_and_needs_no_runs(invented: str, tmp_path: Path) -> None:
    perform(catalogue.get(invented), Settings(tmp_path / "runs" / "one"))
    perform(catalogue.get(invented), Settings(tmp_path / "runs" / "two", quick=True))
    page = tmp_path / "results.md"
    results.write(page, [tmp_path / "runs"])
    text = page.read_text()
    section, appendix = text.replace("\N{NO-BREAK SPACE}", " ").split("# Appendix: quick sizes")
    assert "| | ours | paper | difference |\n|---|---|---|---|\n" in section  # no row has a note
    assert "| accuracy | 97.00 % | 98.00 | -1.00 |" in section
    assert "- Not run: 1 of 4 rows" in section
    assert "| mean | 71.2 ± 1.5 | 70 | +1.25 |" in section
    assert "- Holds: it is good." in section
    assert "(results/made-up.png)" in section
    pictures = [path.name for path in (tmp_path / "results").glob("*.png")]
    assert pictures == ["made-up.png"]
    assert "| `celif reproduce made-up --quick` | accuracy 97.00 %; rate 0.25; mean" in appendix
    assert "| 0 of 1 hold. **Does not hold**: it is good. |" in appendix
    assert "): LIF, LTMD, PLIF, GLIF, recurrent, PS-MNIST | not run |" in text
    page.unlink()
    results.write(page)
    assert page.read_text() == text


def test_page_shows_a_quick_size_where_there_is_no_other(invented: str, tmp_path: Path) -> None:
    perform(catalogue.get(invented), Settings(tmp_path / "runs" / "two", quick=True))
    page = tmp_path / "results.md"
    results.write(page, [tmp_path / "runs"])
    text = page.read_text()
    assert "Appendix" not in text
    assert "(results/made-up-quick.png)" in text
    assert "Size: a smaller task." in text
    assert "**Does not hold**: it is good." in text


def test_period_is_found_and_only_where_there_is_one() -> None:
    rng = np.random.default_rng(0)
    noise = rng.normal(0.01, 0.01, (40, 96))
    wave = noise + 0.03 * np.cos(2 * np.pi * np.arange(96) / 8)
    lags = [te_similarity.by_lag(te_similarity.similarity(te)) for te in (noise, wave)]
    assert te_similarity.period(lags[1], 8) == 8
    assert te_similarity.contrast(lags[1], 8) > 0.5
    assert abs(te_similarity.contrast(lags[0], 8)) < 0.05


def test_seq_mnist_encoding_repeats_with_the_rows_of_the_image(tmp_path: Path) -> None:
    outcome = te_similarity.run(Settings(tmp_path))
    assert outcome.rows[0].ours == 28
    assert all(claim.holds for claim in outcome.claims)
    plt.close(outcome.figure)


def test_papers_rates_give_the_papers_energy() -> None:
    lif = energy.spiking_nj("LIF", energy.WIDE, energy.LIF_RATES)
    celif_nj = energy.spiking_nj("CE-LIF", energy.LARGE, energy.CE_LIF_RATES)
    assert lif == pytest.approx(24.1, rel=0.01)
    assert celif_nj == pytest.approx(13.5, rel=0.1)
    # One input, two neurons that always fire, ten classes: worked by hand.
    one = energy.spiking_nj("CE-LIF", (2,), (1.0,))
    assert one == pytest.approx(((2 + 20) * 0.9 + (2 + 6) * 4.6) / 1e3)


def test_energy_quick_counts_the_same_work_in_float_and_integers(tmp_path: Path) -> None:
    found = perform(catalogue.get("energy"), Settings(tmp_path, quick=True))
    assert all(claim["holds"] for claim in found["claims"])
    assert all(0.02 < rate < 0.9 for rate in found["numbers"]["rates"])


def test_three_lstm_layers_cost_what_the_formula_says() -> None:
    # Layers of 1 → 2 → 3 cells and ten classes, worked by hand.
    multiplied = 4 * (1 * 2 + 2 * 2) + 17 * 2 + 4 * (2 * 3 + 3 * 3) + 17 * 3 + 3 * 10
    assert energy.lstm_nj((2, 3)) == pytest.approx(multiplied * 4.6 / 1e3)
    assert energy.spiking_nj(
        "ALIF", energy.WIDE, [energy.rate_for("ALIF", energy.WIDE, 22.9)] * 3
    ) == pytest.approx(22.9)


def test_gradients_of_fresh_networks_explode_only_where_low_potentials_stay_in_the_box(
    tmp_path: Path,
) -> None:
    found = stability.run(Settings(tmp_path, quick=True))
    assert all(claim.holds for claim in found.claims)
    shares = {name: max(each["growing_share"]) for name, each in found.numbers.items()}
    assert shares["β = 0.99, torch’s biases"] > 0.01
    assert shares["β = 0.98, torch’s biases"] == shares["β = 0.99, biases at zero"] == 0
    plt.close(found.figure)


ROW = {"what": "a", "ours": 98.0, "paper": 98.2, "unit": "%", "note": "", "difference": -0.2}


@pytest.mark.parametrize(
    ("row", "quick", "status"),
    [
        ({}, False, "reproduced"),
        ({"ours": 97.8, "difference": -0.4}, False, "partly"),
        ({"ours": None, "difference": None}, False, "not run"),
        ({}, True, "smaller"),
    ],
    ids=["near", "short", "missing", "quick"],
)
def test_status_of_an_item_follows_from_its_record(row: dict, quick: bool, status: str) -> None:
    records = {("table1", quick): {"rows": [{**ROW, **row}], "claims": []}}
    line = Item("Table 1", "a model", "table1", ("a",)).line(records, {"table1": "table-1"})
    assert line.status == status
    assert line.item == "[Table 1](#table-1): a model"


def test_a_claim_that_fails_is_not_reproduced_whatever_the_rows_say() -> None:
    item = Item("Figure 7", "a", "te-similarity", ("a",), claims=True)

    def status(holds: bool) -> str:
        record = {"rows": [ROW], "claims": [{"text": "it is", "holds": holds}]}
        return item.line({("te-similarity", False): record}).status

    assert (status(True), status(False)) == ("reproduced", "partly")


def test_loss_above_its_limit_or_of_a_stopped_run_is_not_reproduced() -> None:
    item = Item("Figure 5", "copy", "copy", ("a",), "a curve", (0.01,))
    loss = {**ROW, "ours": 0.009, "paper": None, "difference": None, "unit": ""}

    def line(**changes):
        return item.line({("copy", False): {"rows": [{**loss, **changes}], "claims": []}})

    assert line().status == "reproduced"
    above = Item("Figure 5", "copy", "copy", ("a",), "stays", (0.01,), above=True)
    kept = {("copy", False): {"rows": [{**loss, "ours": 0.012}], "claims": []}}
    fell = {("copy", False): {"rows": [loss], "claims": []}}
    assert (above.line(kept).status, above.line(fell).status) == ("partly", "contradicted")
    unlike = replace(above, unlike=True)
    assert (unlike.line(kept).status, unlike.line(fell).status) == ("partly", "not reproduced")
    assert line(ours=0.012).status == "not reproduced"
    # A rival that has come below its limit stays there, however early it was stopped.
    early = {("copy", False): {"rows": [{**loss, "note": "stopped after 9 steps"}], "claims": []}}
    assert above.line(early).status == "contradicted"
    assert line(note="stopped after 10 of 20 steps").status == "partly"


def test_losses_of_several_lengths_are_not_reproduced_only_if_none_is_solved() -> None:
    item = Item("Figure 5", "copy", "copy", ("a", "b"), "curves", (0.01, 0.01))

    def status(*losses: float) -> str:
        rows = [{**ROW, "what": what, "ours": loss, "paper": None, "difference": None, "unit": ""}
                for what, loss in zip("ab", losses, strict=True)]  # fmt: skip
        return item.line({("copy", False): {"rows": rows, "claims": []}}).status

    assert [status(0.02, 0.03), status(0.002, 0.03), status(0.002, 0.003)] == [
        "not reproduced", "partly", "reproduced"
    ]  # fmt: skip


def test_a_note_has_the_numbers_of_rows_and_a_dash_for_a_row_that_is_not_there() -> None:
    note = "correlation {b}, loss {c}, seeds {seeds|CE-LIF, models/x}"
    item = Item("Table 2", "contexts", "contexts", ("a",), note=note)
    rows = [ROW, {**ROW, "what": "b", "ours": 0.9429, "unit": ""}]
    seeds = {"rows": [{**ROW, "what": "CE-LIF, models/x", "spread": 0.1}], "claims": []}
    record = {"rows": rows, "claims": [], "processor_seconds": 5400}
    line = item.line({("contexts", False): record, ("seeds", False): seeds})
    assert line.note == "correlation 0.943, loss –, seeds 98.00 ± 0.10"
    assert (line.ours, line.paper, line.hours) == ("98.00", "98.20", "1.5")


def test_numbers_of_lengths_and_what_is_said_of_them_are_tables_by_length() -> None:
    rows = [
        {**ROW, "what": f"{name}, T = {steps}: loss", "ours": loss, "unit": ""}
        for name, steps, loss in (("LSTM", 800, 0.5), ("LSTM", 90, 0.25), ("ALIF", 90, 0.125))
    ]
    claims = [{"text": "T = 90: it falls", "holds": True},
              {"text": "T = 800: it falls", "holds": False}]  # fmt: skip
    assert results._by_length(rows, claims) == [
        "| loss | T = 90 | T = 800 |", "|---|---|---|",
        "| LSTM | 0.25 | 0.5 |", "| ALIF | 0.125 | – |", "",
        "| statement | T = 90 | T = 800 |", "|---|---|---|", "| it falls | yes | **no** |", "",
    ]  # fmt: skip
