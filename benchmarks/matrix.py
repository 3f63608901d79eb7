"""``make matrix``: the same bits on every Python, numpy and torch.

``python -m benchmarks.matrix digests FILE`` exports and runs networks of every kind and writes a
digest of each result; ``python -m benchmarks.matrix compare FILE ...`` compares such files, fails
if any two digests differ, and prints a page for docs/.
"""

from __future__ import annotations

import hashlib
import json
import platform
import sys
import tempfile
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PACKAGES = ("torch", "numpy", "numba", "h5py", "scipy", "lava-nc", "lava-dl")
OWN_RUNTIME = ("shifted", "four-layers", "images")
"""Networks that also run in Lava's own runtime, which takes a second for each."""


def digests() -> Iterator[tuple[str, str]]:
    """Yield the name and the digest of every export and of every trace."""
    import numpy as np

    from export import to_netx, write_netx
    from export.twin.simulate import simulate
    from hw_tests.networks.cases import CASES, FLOAT_CASES
    from hw_tests.networks.kinds import KINDS
    from lava_procs import run
    from training import checkpoint

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "net.net"
        for model in sorted((ROOT / "models").glob("*.safetensors")):
            rng = np.random.default_rng(0)
            calibration = rng.random((8, 1, 784)).astype(np.float32)
            to_netx(checkpoint.load(model), path, calibration)
            yield f"export of {model.stem}", _of_file(path)
        floats = {case.name for case in FLOAT_CASES}
        cases: tuple[Any, ...] = (*CASES, *KINDS)
        for case in cases:
            net, x = case.build()
            write_netx(net, path)
            yield f"file of {case.name}", _of_file(path)
            yield f"twin, {case.name}", _of_trace(simulate(net, x, trace=True))
            yield f"Lava fixed, {case.name}", _of_trace(run(net, x))
            if case.name in floats:
                yield f"Lava float, {case.name}", _of_trace(run(net, x, "float"))
            if case.name in OWN_RUNTIME:
                own = run(net, x, runtime="lava", timeout=600, heartbeat=300)
                yield f"Lava's own runtime, {case.name}", _of_trace(own)


def _of_file(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _of_trace(trace: Any) -> str:
    import numpy as np

    found = hashlib.sha256()
    for arrays in ([trace.logits], trace.spikes, trace.v, trace.theta):
        for array in arrays or []:
            if array is None:
                continue
            # The bits of float traces, the values of integer ones, however wide they are kept.
            floating = np.issubdtype(array.dtype, np.floating)
            values = array.astype(np.float64 if floating else np.int64)
            found.update(f"{values.shape}".encode() + np.ascontiguousarray(values).tobytes())
    return found.hexdigest()


def environment() -> dict[str, str]:
    """Return the versions that a digest was made with."""
    return {
        "Python": platform.python_version(),
        **{name: metadata.version(name) for name in PACKAGES},
    }


def write(path: str) -> None:
    """Write the environment and every digest to a file."""
    from training.support import machine

    about, found = machine.describe(()), dict(digests())
    document = {
        "environment": environment(),
        "commit": about["commit"],
        "date": about["date"][:10],
        "digests": found,
    }
    Path(path).write_text(json.dumps(document, indent=1) + "\n")


def compare(paths: list[str]) -> int:
    """Print a table of the environments and what differs; return 1 if anything does."""
    documents = [json.loads(Path(path).read_text()) for path in paths]
    names = list(documents[0]["digests"])
    different = [
        name
        for name in dict.fromkeys(name for each in documents for name in each["digests"])
        if len({each["digests"].get(name) for each in documents}) > 1
    ]
    print("# The same bits on every Python\n")
    print("Written by `make matrix`, which exports and runs the networks of the ladder's suite and")
    print(
        "the trained ones in `models/` on every Python that it finds, and compares digests of the"
    )
    print("files and of the traces: spikes, V, Θ and logits at every step.\n")
    made = dict.fromkeys(f"Commit {each['commit']}, {each['date']}" for each in documents)
    print("; ".join(made) + ".\n")
    print("| " + " | ".join(documents[0]["environment"]) + " |")
    print("|" + "---|" * len(documents[0]["environment"]))
    for each in documents:
        print("| " + " | ".join(each["environment"].values()) + " |")
    kinds: dict[str, int] = {}
    for name in names:
        kind = name.partition(",")[0].partition(" of ")[0]
        kinds[kind] = kinds.get(kind, 0) + 1
    counted = ", ".join(f"{kind}: {count}" for kind, count in kinds.items())
    equal = len(names) - len(different)
    print(f"\n{equal} of {len(names)} results are the same everywhere ({counted}).")
    for name in different:
        print(f"- differs: {name}")
    return 1 if different or len(documents) < 2 else 0


if __name__ == "__main__":
    command, *rest = sys.argv[1:]
    if command == "digests":
        write(rest[0])
    else:
        sys.exit(compare(rest))
