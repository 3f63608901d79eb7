"""The HTML page of a verification shows its verdict."""

from __future__ import annotations

import errno
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from celif import verify
from celif.verification.alarms import Alarm
from celif.verification.verify import Verification
from celif.views import page
from export import FixedNetwork
from hw_tests.networks.random_nets import random_network


@pytest.fixture
def made(rng: np.random.Generator) -> tuple[FixedNetwork, np.ndarray, Verification]:
    net = random_network(rng, widths=(3, 5), classes=2, steps=12)
    x = rng.integers(0, 4, (2, net.encoding.channels, net.steps))
    return net, x, verify(net, None, x, targets=("twin",))


@pytest.mark.parametrize(
    ("alarm", "verdict"),
    [
        (None, '<span class="equal">passed</span>'),
        (Alarm("accuracy", None, "it fell", fails=True), '<span class="DIFFERS">FAILED</span>'),
        (Alarm("rate", 0, "it moved"), '<span class="equal">passed</span>'),
    ],
    ids=["passed", "accuracy fell", "a warning"],
)
def test_page_shows_the_verdict_alarms_included(made, alarm, verdict, tmp_path: Path) -> None:
    net, x, result = made
    assert result.equal
    judged = replace(result, alarms=() if alarm is None else (alarm,))
    text = page.write(
        tmp_path / "page.html", judged, net, x, None, source=None, title="<a network>"
    ).read_text(encoding="utf-8")
    assert text.count(verdict) == 1
    assert "&lt;a network&gt;" in text
    assert "<a network>" not in text


def test_page_and_picture_stay_as_they_were_if_one_cannot_be_written(
    made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    net, x, result = made
    given = {"source": None, "title": "a network"}
    written = page.write(tmp_path / "page.html", result, net, x, None, **given)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert sorted(before) == ["page.html", "page.png"]
    write_text = Path.write_text

    def full(path: Path, text: str, **options: str) -> int:
        if "<html" in text:
            write_text(path, text[:100], **options)
            raise OSError(errno.ENOSPC, "No space left on device", str(path))
        return write_text(path, text, **options)

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(OSError, match="space"):
        page.write(written, result, net, x, None, **{**given, "title": "another"})
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
