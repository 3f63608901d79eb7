"""The numeric decisions of README.md name tests that exist."""

from __future__ import annotations

import re
from pathlib import Path

TESTS = Path(__file__).parent


def test_every_decision_names_a_test_that_exists():
    text = (TESTS.parent / "README.md").read_text()
    source = "\n".join(path.read_text() for path in TESTS.rglob("test_*.py"))
    named = re.findall(r"::(test_\w+)`", text)
    assert len(named) > 10
    for name in named:
        assert f"def {name}(" in source, name
    for name in re.findall(r"`(test_\w+\.py)::", text):
        assert list(TESTS.rglob(name)), name
