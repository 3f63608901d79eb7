"""The walk of ``to_netx`` stays short enough to be followed."""

from __future__ import annotations

from benchmarks.studies.walks import DOORS, walk, walk_to_netx


def test_export_stays_shallow():
    found = walk_to_netx(DOORS)
    assert found.deepest[0] == "export/exporter.py:to_netx"
    assert found.depth <= 12
    assert len(found.files) <= 27


def test_walk_counts_functions_that_wait_for_each_other():
    def outer() -> int:
        return inner() + sum(inner() for _ in range(2))

    def inner() -> int:
        return 1

    found = walk(outer)
    assert found.files == ("benchmarks/tests/test_walks.py",)
    assert [name.split(":")[1] for name in found.deepest] == ["inner"]
