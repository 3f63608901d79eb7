"""The rooms and their arrows: who may import whom, as DESIGN's table says."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
STANDARD = set(sys.stdlib_module_names)

# What each room may import besides the standard library and itself.
ALLOWED = {
    "training": {"torch", "numpy", "numba", "safetensors"},
    "export": {"torch", "numpy", "numba", "h5py", "training"},
    # Its float model runs training's step, so it sees that room through export's. scipy has the
    # matrices of Lava's own Sparse; typing_extensions is for type checkers alone.
    "lava_procs": {
        "numpy",
        "h5py",
        "lava",
        "greenlet",
        "export",
        "training",
        "typing_extensions",
        "scipy",
    },
}
# The other rooms may import anything but these.
FORBIDDEN = {
    "hw_tests": {"celif", "benchmarks"},
    "celif": {"benchmarks"},
    "benchmarks": set(),
}
# (file, package): what one file may import more than its room.
EXCEPTIONS = {
    ("training/block.py", "lava"),
    ("training/block.py", "lava_procs"),  # import_lava alone, which mends Lava
    ("training/kernels/gpu.py", "triton"),  # which torch brings along on machines with a GPU
    ("training/tasks/bundled_digits.py", "sklearn"),
    ("training/tasks/events.py", "h5py"),  # the files of SHD and SSC
}


def sources(room: str) -> list[Path]:
    return [
        path
        for path in sorted((ROOT / room).rglob("*.py"))
        if "tests" not in path.parts and path.name != "conftest.py"
    ]


def imports(tree: ast.AST) -> Iterator[tuple[ast.AST, str]]:
    """Every import below ``tree`` with the package that it names."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node, alias.name.partition(".")[0]) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"relative import of {node.module}: Lava cannot load those"
            yield node, str(node.module).partition(".")[0]


@pytest.mark.parametrize("room", FORBIDDEN)
def test_room_does_not_import_what_uses_it(room):
    for path in sources(room):
        found = {package for _, package in imports(ast.parse(path.read_text()))}
        assert not found & FORBIDDEN[room], path


@pytest.mark.parametrize("room", ALLOWED)
def test_room_imports_only_what_it_may(room):
    files = sources(room)
    assert files
    for path in files:
        name = path.relative_to(ROOT).as_posix()
        tree = ast.parse(path.read_text())
        against = set()
        if name == "training/block.py":
            # The one call against the arrows, and only inside that function.
            method = next(
                node
                for node in ast.walk(tree)
                if isinstance(node, ast.FunctionDef) and node.name == "export_hdf5"
            )
            against = {node for node, package in imports(method) if package == "export"}
            assert len(against) == 1
        for node, package in imports(tree):
            if node in against or package in STANDARD or package == room:
                continue
            assert package in ALLOWED[room] or (name, package) in EXCEPTIONS, f"{name}: {package}"


def test_every_room_is_under_the_rule():
    found = {path.parent.name for path in ROOT.glob("*/__init__.py")}
    assert found <= set(ALLOWED) | set(FORBIDDEN)


# Blocks Lava before anything can import it, then imports all of two rooms but the block.
WITHOUT_LAVA = """
import importlib, pkgutil, sys
sys.modules["lava"] = None
for room in ("training", "export"):
    package = importlib.import_module(room)
    for module in pkgutil.iter_modules(package.__path__, room + "."):
        if module.name not in (
            "training.block", "training.kernels.gpu", "training.tests", "export.tests"
        ):
            importlib.import_module(module.name)
try:
    import training.block
except ImportError as error:
    print("block:", error.name)
print("lava modules:", sum(name.startswith("lava.") for name in sys.modules))
"""


def test_training_and_export_work_without_lava(tmp_path):
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", WITHOUT_LAVA],
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT), "HOME": str(Path.home()), "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].startswith("block: lava")
    assert lines[1] == "lava modules: 0"
