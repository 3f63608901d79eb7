"""An export to a disk that fills up ends in an error that names the file, and keeps the old one."""

from __future__ import annotations

import subprocess
import sys

from export import read_netx, write_netx
from hw_tests.networks.random_nets import random_network

EXPORT = """
import resource, signal, sys
import numpy as np
from export import write_netx
from hw_tests.networks.random_nets import random_network

net = random_network(np.random.default_rng(1), (40, 40), 60)
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), resource.RLIM_INFINITY))
try:
    write_netx(net, sys.argv[1])
except OSError as error:
    print(error)
"""


def test_file_that_cannot_be_written_whole_leaves_the_former_one(tmp_path, rng):
    path = tmp_path / "net.net"
    write_netx(random_network(rng, (3,), 4), path)
    before = path.read_bytes()
    for size in (0, 5_000, 20_000):
        command = [sys.executable, "-c", EXPORT, str(path), str(size)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert f"{path}: could not be written (File too large); what was there" in done.stdout
        assert done.stderr == ""
        assert path.read_bytes() == before
        assert list(tmp_path.iterdir()) == [path]
    assert read_netx(path).steps == 4
