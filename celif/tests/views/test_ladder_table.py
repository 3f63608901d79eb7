"""The tables of a verification on the terminal."""

from __future__ import annotations

import pytest

from celif.verification.alarms import Alarm
from celif.verification.gap import Gap, LayerGap
from celif.verification.verify import Verification
from celif.views.ladder_table import short, show_gap, show_verdict
from hw_tests.ladder import Result


@pytest.mark.parametrize(
    ("number", "text"),
    [(0.00079, "8e-04"), (0.0027, "0.0027"), (12.4, "12"), (3, "3"), (2_345_678, "2e+06")],
)
def test_short_numbers_have_two_digits_and_six_characters(number: float, text: str) -> None:
    assert short(number) == text


def test_gap_of_extreme_numbers_keeps_one_line_a_layer(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    wide = LayerGap(
        layer=10, spike_agreement=1.0, v_error_mean=0.00079, v_error_max=0.0012,
        theta_error_mean=0.00079, theta_error_max=123456.0, rate_float=1.0, rate_fixed=1.0,
        neurons=100_000, silent_float=99_999, silent_fixed=99_999, saturations=999_999,
    )  # fmt: skip
    show_gap(Gap(10_000, 0.5, 0.5, 0.5, (wide,)))
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    (row,) = [line for line in lines if "100.00%" in line]
    assert row.split() == [
        "10", "100.00%", "8e-04", "0.0012", "8e-04", "1e+05", "100.0%", "100.0%", "99999", "99999",
        "999999",
    ]  # fmt: skip


@pytest.mark.parametrize(("count", "text"), [(1, "1 alarm"), (2, "2 alarms")])
def test_alarms_are_counted_in_words(
    count: int, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    rung = Result(2, "oracle ↔ integer twin", "equal")
    alarm = Alarm("predictions", None, "most differ")
    show_verdict(Verification((rung,), alarms=(alarm,) * count))
    assert capsys.readouterr().out == f"verdict: passed, with {text}\n"
