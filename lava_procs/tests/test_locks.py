"""The locks: complete, hashed, and with Lava for every Python that celif is tested with."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]


def pinned(name: str) -> list[str]:
    """The requirements of a lock, each with its hashes."""
    lines = (ROOT / name).read_text().splitlines()
    text = "\n".join(line for line in lines if not line.lstrip().startswith("#"))
    return re.split(r"\n(?=\S)", text.strip())


def parsed(block: str) -> Requirement:
    return Requirement(block.splitlines()[0].rstrip(" \\"))


@pytest.mark.parametrize("lock", ["requirements.lock", "requirements-bench.lock"])
def test_every_pin_has_hashes(lock):
    blocks = pinned(lock)
    assert len(blocks) >= 5
    for block in blocks:
        assert "--hash=sha256:" in block, parsed(block).name


@pytest.mark.parametrize("python", ["3.10", "3.11", "3.12", "3.13"])
def test_lock_serves_every_python_with_all_dependencies_and_lava(python):
    there: dict[str, Requirement] = {}
    for requirement in map(parsed, pinned("requirements.lock")):
        environment = {
            "python_version": python, "python_full_version": f"{python}.4",
            "sys_platform": "linux", "platform_system": "Linux", "platform_machine": "x86_64",
            "os_name": "posix", "platform_python_implementation": "CPython",
        }  # fmt: skip
        if requirement.marker is None or requirement.marker.evaluate(environment):
            assert requirement.name not in there, requirement.name  # one version each
            there[requirement.name] = requirement
    project = (ROOT / "pyproject.toml").read_text()
    listed = re.search(r"\ndependencies = \[\n(.*?)\n\]", project, re.DOTALL)
    assert listed
    wanted = [Requirement(text) for text in re.findall(r'"([^"]+)"', listed[1])]
    assert {"numpy", "torch", "h5py"} <= {requirement.name for requirement in wanted}
    for requirement in [*wanted, Requirement("lava-nc==0.10.0"), Requirement("lava-dl==0.6.0")]:
        [version] = [pin.version for pin in there[requirement.name].specifier]
        assert requirement.specifier.contains(version), requirement.name
