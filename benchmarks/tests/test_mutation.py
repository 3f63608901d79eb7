"""``make mutants`` on a small scale: mistakes are found, and noticed where tests see them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.mutation import __main__ as judge
from benchmarks.mutation.groups import GROUPS
from benchmarks.mutation.operators import mutants

ROOT = Path(__file__).parents[2]
SOURCE = '''
def inside(x, low, high, names=("a", "b")):
    """Whether x lies between the ends."""
    assert low <= high
    if not low <= x < high:
        raise ValueError("expected 1, got 2")
    return any(name[1:] for name in names) or x + 1
'''
JUDGED = """
import json, sys
from benchmarks.mutation import __main__ as judge, server
from benchmarks.mutation.groups import SourceGroup
from benchmarks.mutation.operators import mutants
server.preload()
group = SourceGroup(("export/steps/arithmetic.py",), ("export/tests/steps/test_celif.py",))
judge.CACHE = judge.ROOT / sys.argv[1]
tests = judge.Tests(group, compiled=False)
names = {m.function + m.change: m for m in mutants(judge.ROOT, "export/steps/arithmetic.py")}
print(json.dumps([tests.judge(names[name])["verdict"] for name in sys.argv[2:]]))
"""


def test_mutants_change_operators_constants_slices_and_statements_but_no_texts(tmp_path):
    (tmp_path / "module.py").write_text(SOURCE)
    found = {mutant.change for mutant in mutants(tmp_path, "module.py")}
    assert found == {
        "not (not low <= x < high)",
        "not low <= x < high → low <= x < high",
        "low <= x < high: LtE → Lt",
        "low <= x < high: Lt → LtE",
        "without raise ValueError('expected 1, got 2')",
        "any → all",
        "any((name[1:] for name in names)) or x + 1: Or → And",
        "without lower bound 1",
        "x + 1: Add → Sub",
        "1 → 2",
        "1 → 0",
        "'a' → 'aX'",
        "'b' → 'bX'",
    }


@pytest.mark.parametrize("name", GROUPS)
def test_named_mutants_of_the_groups_are_still_there(name):
    group = GROUPS[name]
    known = {mutant.name for path in group.files() for mutant in mutants(ROOT, path)}
    assert set(group.named) <= known
    assert len(known) > 100


def test_mistakes_in_a_rounding_are_noticed(tmp_path):
    wanted = ("shift_to_zero1 → 2", "saturatex > STATE_MAX: Gt → GtE")
    done = subprocess.run(
        [sys.executable, "-c", JUDGED, str(tmp_path), *wanted],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    # At the very end of the register both comparisons give the same.
    assert json.loads(done.stdout) == ["killed", "survived"]


def test_group_that_ran_takes_the_place_of_its_former_counts():
    former = {
        "groups": {"steps": {"killed": 1}, "te": {"killed": 2}},
        "survivors": [
            {"mutant": "export/steps/celif.py step: a", "reason": "x"},
            {"mutant": "export/model/te.py Table: b", "reason": "y"},
        ],
        "machine": {"commit": "abc", "date": "then"},
    }
    found = [{"mutant": "export/model/te.py Table: c", "reason": "z"}]
    rows, survivors = judge.merged(former, {"te": {"killed": 7, "commit": "def"}}, found)
    assert rows == {
        "steps": {"killed": 1, "commit": "abc", "date": "then"},
        "te": {"killed": 7, "commit": "def"},
    }
    assert [each["reason"] for each in survivors] == ["x", "z"]
    assert judge.merged({}, rows, found) == (rows, found)
