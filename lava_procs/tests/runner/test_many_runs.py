"""Many runs in a row, good and bad ones: the machine is as it was."""

import json
import subprocess
import sys

import pytest

from lava_procs.tests.runner import many_runs

MEGABYTES = 10
"""What a process may grow by: some 1.5 were seen, and networks that stay are more than 100."""


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """What a process of its own held before and after many runs, by runtime."""
    folder = tmp_path_factory.mktemp("many")
    command = [sys.executable, "-m", "lava_procs.tests.runner.many_runs", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("runtime", ["inline", "lava"])
def test_many_runs_leave_memory_threads_and_files_as_they_were(told, runtime):
    before, after = told[runtime]["before"], told[runtime]["after"]
    assert after.pop("bytes") - before.pop("bytes") < MEGABYTES * 1e6
    # Some caches of Python and Lava fill late: up to six were seen, and one more a run is a leak.
    assert after.pop("objects") - before.pop("objects") < many_runs.RUNS[runtime] / 2
    assert after == before
    assert {after[what] for what in ("processes", "temporary files", "networks")} == {0}


def test_as_many_runs_were_made_as_are_promised(told):
    assert many_runs.RUNS == {"inline": 200, "lava": 50}
    # Lava's own runtime has its networks in processes of their own.
    assert told["inline"]["made"] == many_runs.RUNS["inline"] + many_runs.BAD_ONE_IN
