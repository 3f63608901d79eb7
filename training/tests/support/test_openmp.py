"""OpenMP's wait policy is set before torch is imported; where that fails, the record says so."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

# Notes the policy at the moment in which torch is imported, then imports one of our packages.
WATCH = """
import os, sys

class Watch:
    def find_spec(self, name, path=None, target=None):
        if name == "torch" and not seen:
            seen.append(os.environ.get("OMP_WAIT_POLICY"))

seen = []
sys.meta_path.insert(0, Watch())
{code}
print(*seen)
"""
TRAINER = """
import warnings
warnings.simplefilter("error")
{first}
from training import trainer
from training.support import machine
from training.tasks import synthetic
task = synthetic.adding(4)
recipe = trainer.Recipe(epochs=1)
try:
    trainer.Trainer(trainer.start(task, (3,), recipe), task, recipe, {out!r})
    print("quiet")
except UserWarning as warning:
    print("warned:", warning)
print(machine.describe()["omp_wait_policy"])
"""


def run(code: str, policy: str | None = None) -> list[str]:
    environment = {n: v for n, v in os.environ.items() if n != "OMP_WAIT_POLICY"}
    if policy is not None:
        environment["OMP_WAIT_POLICY"] = policy
    command = [sys.executable, "-W", "error::UserWarning", "-c", code]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.parametrize(
    "code",
    [
        "from training import Network",
        "from training.kernels import fused",
        "from export import simulate",
        "import hw_tests.backends",
        "from celif import verify",
        "from celif.cli import main; from training import trainer",
    ],
)
def test_policy_is_set_before_torch_is_imported(code):
    assert run(WATCH.format(code=code)) == ["passive"]


def test_policy_of_the_user_stays():
    assert run(WATCH.format(code="from training import Network"), "active") == ["active"]


def test_importing_the_room_imports_no_torch():
    assert run("import sys, training; print('torch' in sys.modules)") == ["False"]


def test_trainer_records_the_policy_that_is_in_force(tmp_path):
    lines = run(TRAINER.format(first="", out=str(tmp_path)))
    assert lines == ["quiet", "passive"]


def test_torch_before_us_is_warned_about_when_training_starts_and_recorded(tmp_path):
    warned, recorded = run(TRAINER.format(first="import torch", out=str(tmp_path)))
    assert warned.startswith("warned: torch was imported before celif")
    assert recorded == "passive, but set after torch had been imported"
