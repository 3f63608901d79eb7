"""Ctrl-C in the middle of a run, as a shell sends it."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import psutil

import celif
from export import write_netx
from hw_tests.networks.random_nets import random_network


def test_interrupted_run_ends_with_130_and_leaves_nothing(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    write_netx(random_network(rng, (4,), 100), tmp_path / "net.net")
    many = rng.integers(0, 16, (20_000, 2, 100), np.uint8)  # minutes of steps
    np.save(tmp_path / "x.npy", many)
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    home = Path(celif.__file__).parent.parent
    # A shell's background jobs, and what they start, ignore Ctrl-C unless told otherwise.
    code = (
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler);"
        "from celif.cli import main; main()"
    )
    command = [sys.executable, "-c", code, "run", "net.net", "--input", "x.npy"]
    command += ["--samples", str(len(many))]
    process = psutil.Popen(
        command,
        cwd=tmp_path,
        env={**os.environ, "TMPDIR": str(temporary), "PYTHONPATH": str(home)},
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        # The run has begun when it has made its folder.
        deadline = time.monotonic() + 120
        while not list(temporary.glob("celif-*")) and time.monotonic() < deadline:
            assert process.poll() is None, process.stderr.read()
            time.sleep(0.1)
        assert list(temporary.glob("celif-*")) != []
        time.sleep(1)
        below = process.children(recursive=True)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
    finally:
        if process.poll() is None:
            process.kill()
    assert process.returncode == 130
    note, *rest = said.strip().splitlines()
    assert "takes uint8 samples as graded spikes" in note
    assert rest == ["celif: interrupted; every process of the run has ended"]
    assert not [process for process in below if process.is_running()]
    assert list(temporary.glob("celif-*")) == []
