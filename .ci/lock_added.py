"""Print the requirements that one lock has more than another: lock_added.py FEWER MORE."""

from __future__ import annotations

import re
import sys
from pathlib import Path


def pins(path: str) -> dict[str, str]:
    """Return each requirement's lines, hashes and all but comments, by its first line."""
    lines = [line for line in Path(path).read_text().splitlines() if not re.match(r"\s*#", line)]
    blocks = re.split(r"\n(?=\S)", "\n".join(lines).strip())
    return {block.splitlines()[0]: block for block in blocks}


def main() -> None:
    """Refuse a second lock that moves what the first has pinned."""
    fewer, more = (pins(path) for path in sys.argv[1:3])
    added = [block for first, block in more.items() if first not in fewer]
    names = {first.partition("==")[0] for first in fewer}
    moved = sorted({block.partition("==")[0] for block in added} & names)
    if moved:
        sys.exit(f"lock: the bench extra asks for another version or marker of: {' '.join(moved)}")
    print("# Installed on top of requirements.lock by `make bench`; written by `make lock`.")
    print("\n".join(added))


main()
