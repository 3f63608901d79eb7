"""A run that is killed at any moment and resumed ends as if it had not been killed."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import torch

from training import checkpoint
from training.tests.kernels.bursts import KILLED, bursts, train
from training.trainer.loop import LAST

ROOT = Path(__file__).parents[3]


def start(out: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-m", "training.tests.kernels.bursts", str(out)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    )


def test_killed_training_ends_with_the_weights_of_an_undisturbed_one(tmp_path):
    undisturbed = train(bursts(), tmp_path / "whole", KILLED)
    assert len(undisturbed.history) == 4
    moments = np.random.default_rng()  # another moment each time; a failure shows it
    steps, pause = int(moments.integers(1, 100)), float(moments.uniform(0, 0.01))
    killed = start(tmp_path / "killed")
    assert killed.stdout is not None
    for _ in range(steps):
        killed.stdout.readline()
    time.sleep(pause)
    killed.send_signal(signal.SIGKILL)
    killed.communicate()
    moment = f"killed {pause:.4f} s after step {steps}"
    assert killed.returncode == -signal.SIGKILL, f"{moment}: it had ended before"
    resumed = start(tmp_path / "killed")
    told = resumed.communicate()[0].splitlines()
    assert (resumed.returncode, told[-1]) == (0, "4 28"), moment
    assert len(told) <= 4 * 29 - steps + 2, f"{moment}: it should have continued, not started again"
    ours, theirs = (checkpoint.read(tmp_path / n / LAST) for n in ("whole", "killed"))
    for part in ("weights", "raw"):
        for name, value in ours[part].items():
            assert torch.equal(value, theirs[part][name]), (name, moment)
    assert not list((tmp_path / "killed").glob(".*")), "half-written files should be cleared away"
