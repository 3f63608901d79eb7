"""The rooms, their sub-packages, and the direction in which they may import one another."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
STANDARD = set(sys.stdlib_module_names)

# What each room may import apart from the standard library and itself.
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
# (file, package): imports that one file may make in addition to those of its room.
EXCEPTIONS = {
    ("training/block.py", "lava"),
    ("training/block.py", "lava_procs"),  # import_lava alone, which mends Lava
    ("training/tasks/events.py", "h5py"),  # the files of SHD and SSC
    ("training/kernels/gpu.py", "triton"),  # which torch brings along on machines with a GPU
    ("training/tasks/bundled_digits.py", "sklearn"),
    # Only to ask for one thread: a fork has no others, and export multiplies with torch.
    ("lava_procs/runner/session.py", "torch"),
}
# The order inside a room: a sub-package or module imports only what stands on a line above its own.
ORDER = {
    "training": (
        "support",
        "dynamics decays",
        "kernels",
        "functional",
        "neurons",
        "network",
        "slayer",
        "block modules tasks",
        "checkpoint",
        "old_checkpoint baselines trainer",
    ),
    "export": (
        "loihi2 checks",
        "steps",
        "model",
        "netx graph",
        "twin",
        "proof",
        "convert",
        "qat fit",
        "exporter",
    ),
    "lava_procs": (
        "mends clock probes netx_kind errors watchdog",
        "import_lava sampled",
        "leaky neuron_processes",
        "processes.shifted_dense",
        "synapse_choice",
        "processes one_process",
        "runner",
        "loihi",
        "run_arguments",
        "running",
    ),
    "hw_tests": (
        "dequantised independent_reader oracle trace_difference plain_steps worked",
        "backends networks",
        "recorded golden",
        "ladder",
    ),
    "celif": (
        "siblings console outputs",
        "exits inputs interchange",
        "verification",
        "comparison sweeping plots",
        "views",
        "card demo doctor",
        "experiments",
        "commands",
        "config_file",
        "cli",
    ),
}
LINES_MAX = 300
"""Lines of a file, tests included."""
FOLDER_LIMIT = 12
"""Modules in one folder; ``celif/commands`` has one for each command."""


def sources(room: str) -> list[Path]:
    return [
        path
        for path in sorted((ROOT / room).rglob("*.py"))
        if "tests" not in path.relative_to(ROOT).parts and path.name != "conftest.py"
    ]


def imports(tree: ast.AST) -> Iterator[tuple[ast.AST, str]]:
    """Every import below ``tree`` with the package that it names."""
    for node, module in imported_modules(tree):
        yield node, module.partition(".")[0]


def imported_modules(tree: ast.AST) -> Iterator[tuple[ast.AST, str]]:
    """Every import below ``tree`` with the module that it names, lazy and typing ones included."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"relative import of {node.module}: Lava cannot load those"
            for alias in node.names:
                member = f"{node.module}.{alias.name}"
                yield node, member if is_module(member) else str(node.module)


def is_module(name: str) -> bool:
    path = ROOT / name.replace(".", "/")
    return path.with_suffix(".py").exists() or (path / "__init__.py").exists()


def module_name(path: Path) -> str:
    name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
    return name.removesuffix(".__init__")


def place(module: str) -> tuple[str, str]:
    """Room and unit of a module: what ORDER lists; the room's face has no unit."""
    room, *rest = module.split(".")
    nested = ".".join(rest[:2])
    if any(nested in line.split() for line in ORDER.get(room, ())):
        return room, nested
    return room, rest[0] if rest else ""


def against_the_order(module: str, imported: str) -> bool:
    """Whether a module of a room imports one that stands on its own line of ORDER or below it."""
    (room, own), (other_room, other) = place(module), place(imported)
    if room != other_room or own == other or not own:
        return False  # another room's business, the same sub-package, or the room's face
    levels = [line.split() for line in ORDER[room]]
    level = {name: number for number, line in enumerate(levels) for name in line}
    # Importing the room's face from inside the room could import anything.
    return not other or level[other] >= level[own]


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


@pytest.mark.parametrize("room", ORDER)
def test_sub_packages_import_in_one_direction(room):
    wrong = [
        f"{module_name(path)} imports {imported}"
        for path in sources(room)
        for _, imported in imported_modules(ast.parse(path.read_text()))
        if against_the_order(module_name(path), imported)
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("room", ORDER)
def test_order_names_every_sub_package(room):
    listed = " ".join(ORDER[room]).split()
    found = {place(module_name(path))[1] for path in sources(room)} - {""}
    assert sorted(listed) == sorted(found)


def test_order_refuses_a_module_in_the_wrong_place():
    assert against_the_order("export.model.layer", "export.convert.round")
    assert against_the_order("export.model.layer", "export")
    assert against_the_order("training.kernels.fused", "training.network.network")
    assert not against_the_order("export.convert.round", "export.model.layer")
    assert not against_the_order("export.model.layer", "training.slayer.mantissa")


def test_modules_import_one_another_without_a_cycle():
    graph: dict[str, set[str]] = {}
    for room in (*ORDER, "benchmarks"):
        for path in sources(room):
            module = module_name(path)
            if module in ORDER:
                continue  # a room's face imports all of it
            found = {name for _, name in imported_modules(ast.parse(path.read_text()))}
            graph[module] = {name for name in found if name != module and name not in ORDER}
    assert cycle(graph) is None


def cycle(graph: dict[str, set[str]]) -> list[str] | None:
    """A closed path of the graph, or None."""
    done: set[str] = set()

    def walk(node: str, path: list[str]) -> list[str] | None:
        if node in path:
            return [*path[path.index(node) :], node]
        if node in done:
            return None
        for other in sorted(graph.get(node, ())):
            if found := walk(other, [*path, node]):
                return found
        done.add(node)
        return None

    return next((found for node in sorted(graph) if (found := walk(node, []))), None)


def test_a_cycle_is_found():
    assert cycle({"a": {"b"}, "b": {"c"}, "c": {"a"}}) == ["a", "b", "c", "a"]
    assert cycle({"a": {"b", "c"}, "b": {"c"}, "c": set()}) is None


def test_no_folder_is_a_drawer():
    for room in (*ORDER, "benchmarks"):
        counts: dict[Path, int] = {}
        for path in sources(room):
            if path.name != "__init__.py":
                counts[path.parent] = counts.get(path.parent, 0) + 1
        counts.pop(ROOT / "celif" / "commands", None)
        full = {str(f.relative_to(ROOT)): n for f, n in counts.items() if n > FOLDER_LIMIT}
        assert not full


def test_no_file_is_longer_than_a_reader_keeps_in_mind():
    for room in (*ORDER, "benchmarks"):
        for path in sorted((ROOT / room).rglob("*.py")):
            lines = len(path.read_text(encoding="utf-8").splitlines())
            assert lines <= LINES_MAX, f"{path.relative_to(ROOT)} has {lines} lines; split it"


def test_every_sub_package_says_what_it_is():
    for room in (*ORDER, "benchmarks"):
        for path in sources(room):
            if path.name == "__init__.py" and path.parent.parent.name != "processes":
                assert ast.get_docstring(ast.parse(path.read_text())), path.relative_to(ROOT)


def test_every_room_is_under_the_rule():
    found = {path.parent.name for path in ROOT.glob("*/__init__.py")}
    assert found <= set(ALLOWED) | set(FORBIDDEN)
