"""The import hook: it mends what needs it, once, and leaves the rest alone."""

from __future__ import annotations

import importlib
import inspect
import sys

import pytest

from lava_procs import mends
from lava_procs.mends import hook

SOURCE = "value = 1\n\n\ndef answer():\n    return value\n"


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package ``lava.mended_here`` that only these tests know."""
    home = tmp_path / "lava"
    home.mkdir()
    (home / "mended_here.py").write_text(SOURCE)
    import lava

    monkeypatch.setattr(lava, "__path__", [*lava.__path__, str(home)])
    yield "lava.mended_here"
    sys.modules.pop("lava.mended_here", None)


def double(module, execute):
    execute()
    module.value = module.value * 2


def add_one(module, execute):
    execute()
    module.value = module.value + 1


def mend(name, needed, apply):
    return hook.Mend(apply.__name__, (name,), "test", lambda: needed, apply)


def imported(name, table, monkeypatch):
    monkeypatch.setattr(sys, "meta_path", [hook.MendingFinder(table), *sys.meta_path])
    return importlib.import_module(name)


def test_mends_of_one_module_nest_in_their_order(package, monkeypatch):
    table = [mend(package, True, double), mend(package, True, add_one)]
    assert imported(package, table, monkeypatch).answer() == (1 + 1) * 2


def test_mend_that_is_not_needed_is_not_applied(package, monkeypatch):
    assert imported(package, [mend(package, False, double)], monkeypatch).answer() == 1


def test_mended_module_has_its_own_loader_source_and_file(package, monkeypatch):
    module = imported(package, [mend(package, True, double)], monkeypatch)
    assert module.answer() == 2
    assert inspect.getsource(module) == SOURCE
    assert not isinstance(module.__loader__, hook.MendingLoader)
    assert module.__spec__.loader is module.__loader__


def test_module_imported_before_is_mended_too(package, monkeypatch):
    module = importlib.import_module(package)
    finders = [f for f in sys.meta_path if not isinstance(f, hook.MendingFinder)]
    monkeypatch.setattr(sys, "meta_path", finders)
    hook.install([mend(package, True, double)])
    assert module.answer() == 2
    hook.install([mend(package, True, double)])  # a second time does nothing
    assert module.answer() == 2


def test_finder_leaves_other_packages_and_missing_modules_alone():
    finder = hook.MendingFinder(mends.MENDS)
    assert finder.find_spec("json") is None
    assert finder.find_spec("lava.magma") is None
    ours = mend("lava.not_there", True, double)
    assert hook.MendingFinder([ours]).find_spec("lava.not_there", []) is None


def test_every_mend_says_where_and_why_and_has_a_name_of_its_own():
    assert len({each.name for each in mends.MENDS}) == len(mends.MENDS)
    for each in mends.MENDS:
        assert each.reason.endswith(".")
        for name in each.modules:
            assert importlib.util.find_spec(name) is not None, name
        assert isinstance(each.needed(), bool)
