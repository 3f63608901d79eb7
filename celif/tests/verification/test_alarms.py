"""What makes verify raise its voice."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from celif.verification.alarms import SIGNIFICANCE, alarms, chance, input_alarm
from celif.verification.gap import Gap, LayerGap
from export.model.network import Encoding

FINE = LayerGap(
    layer=1,
    spike_agreement=0.98,
    v_error_mean=0.01,
    v_error_max=1.0,
    theta_error_mean=0.01,
    theta_error_max=1.0,
    rate_float=0.2,
    rate_fixed=0.21,
    neurons=40,
    silent_float=3,
    silent_fixed=4,
    saturations=0,
)


def gap(agreement: float = 0.99, **changes: float) -> Gap:
    return Gap(200, agreement, None, None, (replace(FINE, layer=0), replace(FINE, **changes)))


def test_nothing_to_say_of_a_small_gap() -> None:
    assert alarms(gap()) == ()


@pytest.mark.parametrize(
    ("changes", "kind"),
    [
        ({"rate_fixed": 0.0}, "silent"),
        ({"rate_fixed": 0.995}, "always firing"),
        ({"rate_fixed": 0.225}, "rate"),
        ({"rate_float": 0.001, "rate_fixed": 0.007}, "rate"),
        ({"saturations": 1}, "saturated"),
        ({"silent_fixed": 8}, "silent neurons"),
    ],
    ids=str,
)
def test_alarm_names_kind_and_layer(changes: dict[str, float], kind: str) -> None:
    (alarm,) = alarms(gap(**changes))
    assert (alarm.kind, alarm.layer) == (kind, 1)


@pytest.mark.parametrize(
    "changes",
    [
        {"rate_fixed": 0.219},
        {"rate_float": 0.001, "rate_fixed": 0.005},
        {"rate_float": 0.0, "rate_fixed": 0.0},
        {"rate_float": 0.999, "rate_fixed": 0.999},
        {"silent_fixed": 7},
    ],
    ids=str,
)
def test_no_alarm_within_the_limits(changes: dict[str, float]) -> None:
    assert alarms(gap(**changes)) == ()


def test_changed_predictions_are_counted() -> None:
    (alarm,) = alarms(gap(agreement=0.97))
    assert alarm.layer is None
    assert "6 of 200 samples" in str(alarm)


def test_a_few_changed_predictions_are_chance() -> None:
    assert alarms(gap(agreement=0.975)) == (), "5 of 200 happen to a network at the limit"


@pytest.mark.parametrize(
    ("samples", "least"), [(1, 1), (4, 1), (6, 2), (200, 6), (360, 8), (10_000, 118)], ids=str
)
def test_limit_of_changed_predictions_is_that_of_the_binomial_test(
    samples: int, least: int
) -> None:
    """The least number whose chance is 5 % or below, by scipy's distribution."""
    stats = pytest.importorskip("scipy.stats")
    assert chance(least, samples) == pytest.approx(stats.binom.sf(least - 1, samples, 0.01))
    assert chance(least, samples) <= SIGNIFICANCE < chance(least - 1, samples)


@pytest.mark.parametrize(
    ("lost", "gained", "fails"),
    [(5, 0, True), (4, 0, False), (20, 15, False), (60, 20, True), (0, 9, False)],
    ids=["five", "four", "both-ways", "many", "better"],
)
def test_fall_of_the_accuracy_beyond_chance_fails(lost: int, gained: int, fails: bool) -> None:
    fixed = 0.9 - (lost - gained) / 200
    measured = replace(gap(), accuracy_float=0.9, accuracy_fixed=fixed, lost=lost, gained=gained)
    found = [alarm for alarm in alarms(measured) if alarm.fails]
    assert [alarm.kind for alarm in found] == (["accuracy"] if fails else [])


UNIT = Encoding(channels=1, scale=1 / 255, bits=8, signed=False)


@pytest.mark.parametrize(
    ("factor", "words"),
    [
        (1.0, None),
        (255.0, "of the input values are clipped: they reach from 0 to 255"),
        (1 / 255, "the samples use 0.39% of the input range"),
        (0.0, "every sample is zero"),
    ],
    ids=["right", "too-large", "too-small", "zero"],
)
def test_samples_of_another_scale_are_noticed(factor: float, words: str | None) -> None:
    x = np.linspace(0, 1, 64, dtype=np.float32).reshape(1, 1, 64) * factor
    found = input_alarm(x, UNIT)
    assert (found is None) == (words is None)
    assert words is None or words in str(found)
