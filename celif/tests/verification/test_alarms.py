"""What makes verify raise its voice."""

from __future__ import annotations

from dataclasses import replace

import pytest

from celif.verification.alarms import alarms
from celif.verification.gap import Gap, LayerGap

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
    (alarm,) = alarms(gap(agreement=0.985))
    assert alarm.layer is None
    assert "3 of 200 samples" in str(alarm)
