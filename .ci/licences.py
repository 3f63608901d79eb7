"""``make licences``: list the installed distributions with their versions and licences."""

from __future__ import annotations

import sys
from importlib import metadata


def licence(dist: metadata.Distribution) -> str:
    """Return the licence that a distribution states: an expression, a classifier or a name."""
    about = dist.metadata
    stated = about.get("License-Expression")
    if stated:
        return str(stated)
    names = [c.rpartition(" :: ")[2] for c in about.get_all("Classifier", []) if "License ::" in c]
    names = [name for name in names if name != "OSI Approved"]
    text = str(about.get("License") or "").strip()
    return ", ".join(names) or text.splitlines()[0][:60] if names or text else "not stated"


def main() -> int:
    """Print a line per distribution; return 1 if one states no licence."""
    found = {d.metadata["Name"]: (d.version, licence(d)) for d in metadata.distributions()}
    for name in sorted(found, key=str.lower):
        version, words = found[name]
        sys.stdout.write(f"{name:28} {version:18} {words}\n")
    silent = [name for name, (_, words) in found.items() if words == "not stated"]
    sys.stderr.write(f"{len(found)} distributions, {len(silent)} of them state no licence\n")
    return 1 if silent else 0


if __name__ == "__main__":
    sys.exit(main())
