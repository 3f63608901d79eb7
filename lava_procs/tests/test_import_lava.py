"""Importing Lava after others have used multiprocessing."""

import multiprocessing
import sys

import pytest

from lava_procs import import_lava


@pytest.fixture
def lava_not_imported(monkeypatch):
    monkeypatch.delitem(sys.modules, import_lava._SETTER)
    yield
    multiprocessing.set_start_method("fork", force=True)


@pytest.mark.usefixtures("lava_not_imported")
def test_start_method_that_lava_wants_may_be_set_already():
    multiprocessing.set_start_method("fork", force=True)
    import_lava._free_start_method()
    multiprocessing.set_start_method("fork")  # as Lava does, which raises if one is set


@pytest.mark.usefixtures("lava_not_imported")
def test_other_start_method_is_refused():
    multiprocessing.set_start_method("spawn", force=True)
    with pytest.raises(ImportError, match=r"to be 'fork', .* found 'spawn'"):
        import_lava._free_start_method()
