"""Install locked requirements into the environment of the Python that runs this: LOCK ...

Every package is checked against the hashes in the lock. One is treated apart: on Linux without an
NVIDIA driver, a CPU build of the locked torch is taken where pip's index offers one, which saves
four of six gigabytes. Its hash is not in the lock, because which index has it differs by place.
"""

from __future__ import annotations

import platform
import re
import shutil
import subprocess
import sys
import tempfile
from importlib import metadata
from pathlib import Path

from pip._vendor.packaging.requirements import Requirement

_GPU = re.compile(r"(torch|triton|nvidia-[a-z0-9-]+|cuda-[a-z0-9-]+)==")
"""torch, and the packages that only its CUDA builds need."""


def requirements(text: str) -> list[str]:
    """Return the lock's requirements that apply here, each with its hashes."""
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    blocks = re.split(r"\n(?=\S)", "\n".join(lines).strip())
    return [block for block in blocks if _applies(block)]


def _applies(block: str) -> bool:
    marker = Requirement(block.splitlines()[0].rstrip(" \\")).marker
    return marker is None or marker.evaluate()


def pip(*arguments: str, quiet: bool = False) -> bool:
    """Run ``pip install`` without dependencies, which the lock lists; return whether it worked."""
    # Lava's wheels ask for Python 3.10, which lava_procs.mends makes unnecessary.
    common = ("install", "--quiet", "--no-deps", "--ignore-requires-python")
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", *common, *arguments]
    return subprocess.run(command, check=False, capture_output=quiet).returncode == 0


def wants_cpu_torch() -> bool:
    """Whether this is a machine on which a CUDA build of torch is no use."""
    driver = shutil.which("nvidia-smi") or Path("/proc/driver/nvidia/version").exists()
    return platform.system() == "Linux" and not driver


def without_gpu(wanted: list[str]) -> list[str]:
    """Install a CPU build of torch if there is one, and leave out what it makes unnecessary."""
    [version] = [match[1] for block in wanted if (match := re.match(r"torch==(\S+)", block))]
    try:
        here = metadata.version("torch")
    except metadata.PackageNotFoundError:
        here = ""
    if here == version or (
        here != f"{version}+cpu" and not pip(f"torch=={version}+cpu", quiet=True)
    ):
        return wanted  # the CUDA build is there already, or there is no other
    return [block for block in wanted if not _GPU.match(block)]


def main() -> None:
    """Install every lock that was named."""
    for lock in sys.argv[1:]:
        wanted = requirements(Path(lock).read_text())
        if wants_cpu_torch() and any(block.startswith("torch==") for block in wanted):
            wanted = without_gpu(wanted)
        with tempfile.TemporaryDirectory() as folder:
            chosen = Path(folder) / Path(lock).name
            chosen.write_text("\n".join(wanted) + "\n")
            if not pip("--require-hashes", "--requirement", str(chosen)):
                sys.exit(f"install_lock: {lock} could not be installed; pip says why above")


main()
