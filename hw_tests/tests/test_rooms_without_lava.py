"""Training and export, all but the blocks for lava-dl, work where Lava is not installed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]

# Blocks Lava before anything can import it, then imports all of two rooms but the block.
WITHOUT_LAVA = """
import importlib, pkgutil, sys
sys.modules["lava"] = None
count = 0
for room in ("training", "export"):
    package = importlib.import_module(room)
    for module in pkgutil.walk_packages(package.__path__, room + "."):
        if ".tests" not in module.name and module.name not in (
            "training.block", "training.kernels.gpu"
        ):
            importlib.import_module(module.name)
            count += 1
try:
    import training.block
except ImportError as error:
    print("block:", error.name)
print("lava modules:", sum(name.startswith("lava.") for name in sys.modules))
print(count)
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
    assert int(lines[2]) > 80
